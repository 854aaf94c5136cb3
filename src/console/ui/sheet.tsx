// A small table that is whole: a few rows, no pages, no choice of columns.
import { Table, type TableColumnsType } from "antd";
import { useNamedScroll } from "./row-table.tsx";

export interface SheetProps<Row> {
  readonly label: string;
  /** Below it the table scrolls. */
  readonly width: number;
  readonly rowKey: keyof Row | ((row: Row) => string);
  readonly rows: readonly Row[];
  readonly columns: TableColumnsType<Row>;
}

/** A few rows that need no pages; wider than `width` it scrolls by itself. */
export function Sheet<Row extends object>({ label, width, rowKey, rows, columns }: SheetProps<Row>) {
  const box = useNamedScroll(label);
  return (
    <div ref={box}>
      <Table<Row>
        size="small"
        pagination={false}
        scroll={{ x: width }}
        rowKey={rowKey}
        dataSource={[...rows]}
        columns={columns}
      />
    </div>
  );
}
