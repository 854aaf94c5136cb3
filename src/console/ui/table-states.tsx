// What stands in place of rows: nothing there yet, nothing found, or a failure with a retry.
import { InboxOutlined, ReloadOutlined, SearchOutlined, WarningOutlined } from "@ant-design/icons";
import { Button, Skeleton } from "antd";
import type { ReactNode } from "react";
import { faultText } from "#console/base/faults.ts";
import type { TableState } from "./table-state.ts";
import "./resource-table.css";

export interface FormStateProps {
  readonly error: Error | null;
  readonly onRetry: () => void;
}

export function FormState({ error, onRetry }: FormStateProps) {
  return (
    <div className="tg-card tg-section">
      {error === null ? (
        <Skeleton active paragraph={{ rows: 6 }} />
      ) : (
        <ErrorState error={error} onRetry={onRetry} />
      )}
    </div>
  );
}

export interface EmptyStateProps {
  readonly text: string;
  readonly action?: ReactNode;
  readonly state: TableState;
}

export function EmptyState({ text, action, state }: EmptyStateProps) {
  const { keyword, p } = state.input;
  // A server that tells no total offers one page more than there may be (requirements W1.5).
  if (p > 0) {
    return (
      <div className="tg-blank">
        <InboxOutlined aria-hidden="true" />
        <p>没有更多内容了</p>
        <Button onClick={() => state.setPage(0)}>回到第一页</Button>
      </div>
    );
  }
  if (keyword !== "") {
    return (
      <div className="tg-blank">
        <SearchOutlined aria-hidden="true" />
        <p>没有找到与“{keyword}”匹配的内容</p>
        <Button onClick={() => state.setKeyword("")}>清除搜索</Button>
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
      <Button icon={<ReloadOutlined aria-hidden="true" />} onClick={onRetry}>
        重试
      </Button>
    </div>
  );
}
