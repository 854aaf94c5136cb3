// What can be done with one of several rules or operations among the others, and how one more is added.
import {
  ArrowDownOutlined,
  ArrowUpOutlined,
  CopyOutlined,
  DeleteOutlined,
  PlusOutlined,
} from "@ant-design/icons";
import { Button } from "antd";
import type { ReactNode } from "react";
import "./row-buttons.css";

export interface RowButtonsProps {
  /** What the row is called, such as 第 1 条. */
  readonly title: string;
  readonly at: number;
  readonly count: number;
  readonly onMove: (to: number) => void;
  /** Absent = it is not offered. */
  readonly onCopy?: () => void;
  /** undefined = it has to stay. */
  readonly onRemove: (() => void) | undefined;
}

export function RowButtons({ title, at, count, onMove, onCopy, onRemove }: RowButtonsProps) {
  const button = (label: string, icon: ReactNode, onClick: (() => void) | undefined) => (
    <Button type="text" icon={icon} aria-label={label} disabled={onClick === undefined} onClick={onClick} />
  );
  const up = at > 0 ? () => onMove(at - 1) : undefined;
  const down = at < count - 1 ? () => onMove(at + 1) : undefined;
  return (
    <span className="tg-rule-buttons">
      {button(`${title}上移`, <ArrowUpOutlined aria-hidden="true" />, up)}
      {button(`${title}下移`, <ArrowDownOutlined aria-hidden="true" />, down)}
      {onCopy === undefined ? null : button(`复制${title}`, <CopyOutlined aria-hidden="true" />, onCopy)}
      {button(`删除${title}`, <DeleteOutlined aria-hidden="true" />, onRemove)}
    </span>
  );
}

export interface AddRowProps {
  readonly text: string;
  /** Of several lists on the page: which one it is added to. */
  readonly label: string;
  readonly onAdd: () => void;
}

/** Behind the last row. */
export function AddRow({ text, label, onAdd }: AddRowProps) {
  return (
    <Button
      type="dashed"
      size="small"
      icon={<PlusOutlined aria-hidden="true" />}
      aria-label={label}
      onClick={onAdd}
    >
      {text}
    </Button>
  );
}
