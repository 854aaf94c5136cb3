// What stands in place of rows: nothing there yet, nothing found, or a failure with a retry.
import { InboxOutlined, ReloadOutlined, SearchOutlined, WarningOutlined } from "@ant-design/icons";
import { Button } from "antd";
import type { ReactNode } from "react";
import { faultText } from "#console/base/faults.ts";
// What stands in place of rows looks the same outside a table.
import "./resource-table.css";

export interface EmptyStateProps {
  readonly text: string;
  readonly action?: ReactNode;
  readonly keyword: string;
  readonly onClear: () => void;
}

export function EmptyState({ text, action, keyword, onClear }: EmptyStateProps) {
  if (keyword !== "") {
    return (
      <div className="tg-blank">
        <SearchOutlined aria-hidden="true" />
        <p>没有找到与“{keyword}”匹配的内容</p>
        <Button onClick={onClear}>清除搜索</Button>
      </div>
    );
  }
  return (
    <div className="tg-blank">
      <InboxOutlined aria-hidden="true" />
      <p>{text}</p>
      {action}
    </div>
  );
}

export function ErrorState({ error, onRetry }: { readonly error: Error; readonly onRetry: () => void }) {
  return (
    <div className="tg-blank tg-blank-error" role="alert">
      <WarningOutlined aria-hidden="true" />
      <p>{faultText(error)}</p>
      <Button icon={<ReloadOutlined />} onClick={onRetry}>
        重试
      </Button>
    </div>
  );
}
