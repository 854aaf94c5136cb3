// A small table that is whole: a few rows, no pages, no choice of columns.
import { Table, type TableColumnsType, type TableColumnType } from "antd";
import type { ReactNode } from "react";
import { NARROW, useMedia } from "#console/base/media.ts";
import { useNamedScroll } from "./row-table.tsx";
import "./sheet.css";

export interface SheetProps<Row> {
  readonly label: string;
  /** Below it the table scrolls. */
  readonly width: number;
  readonly rowKey: keyof Row | ((row: Row) => string);
  readonly rows: readonly Row[];
  readonly columns: readonly TableColumnType<Row>[];
  /** What the rows are looked up for: a column behind the first two, and on a telephone a line in the first one, which needs no scrolling. */
  readonly why?: { readonly title: string; readonly width?: number; text(row: Row): string };
}

/** With a line below what the first column shows. */
function withLine<Row extends object>(
  column: TableColumnType<Row>,
  text: (row: Row) => string,
): TableColumnType<Row> {
  const { render } = column;
  return {
    ...column,
    render: (value: unknown, row, index) => (
      <div className="tg-sheet-first">
        {render?.(value, row, index) as ReactNode}
        <div className="tg-sheet-why">{text(row)}</div>
      </div>
    ),
  };
}

function columnsWith<Row extends object>(
  { columns, why }: Pick<SheetProps<Row>, "columns" | "why">,
  isNarrow: boolean,
): TableColumnsType<Row> {
  const [first, second, ...others] = columns;
  if (why === undefined || first === undefined || second === undefined) return [...columns];
  if (isNarrow) return [withLine(first, why.text), second, ...others];
  const { title, width } = why;
  const told = { title, key: "why", render: (_: unknown, row: Row) => why.text(row) };
  return [first, second, { ...told, ...(width !== undefined && { width }) }, ...others];
}

/** A few rows that need no pages; wider than `width` it scrolls by itself. */
export function Sheet<Row extends object>({ label, width, rowKey, rows, ...shown }: SheetProps<Row>) {
  const box = useNamedScroll(label);
  const isNarrow = useMedia(NARROW);
  return (
    <div ref={box}>
      <Table<Row>
        size="small"
        pagination={false}
        scroll={{ x: isNarrow && shown.why !== undefined ? "max-content" : width }}
        rowKey={rowKey}
        dataSource={[...rows]}
        columns={columnsWith(shown, isNarrow)}
      />
    </div>
  );
}
