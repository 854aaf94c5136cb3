// The bar that appears over the page while rows are chosen: how many, what can be done, and a button that ends the choice.
import { CloseOutlined } from "@ant-design/icons";
import { Button } from "antd";
import type { ReactNode } from "react";
import "./bulk-bar.css";

export interface BulkBarProps {
  readonly count: number;
  readonly onClear: () => void;
  readonly children: ReactNode;
}

export function BulkBar({ count, onClear, children }: BulkBarProps) {
  return (
    <div className="tg-bulk" role="toolbar" aria-label="批量操作">
      <span role="status">已选择 {count} 项</span>
      <div className="tg-bulk-buttons">{children}</div>
      <Button
        type="text"
        icon={<CloseOutlined aria-hidden="true" />}
        aria-label="取消选择"
        title="取消选择"
        onClick={onClear}
      />
    </div>
  );
}
