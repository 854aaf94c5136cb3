// Rows on wide screens: antd's table with a sticky head, fixed first and action columns and a scroll area the keyboard reaches.
import { Button, Space, Table, type TableColumnType, type TableProps } from "antd";
import type { SorterResult } from "antd/es/table/interface";
import {
  type ComponentProps,
  createContext,
  type KeyboardEvent,
  type ReactNode,
  useContext,
  useEffect,
  useRef,
} from "react";
import { cellOf } from "./cell.tsx";
import { ConfirmButton } from "./confirm-button.tsx";
import type { Column, RowAction, RowView } from "./row-view.ts";
import type { TableState } from "./table-state.ts";

/** The titles of all columns, from the start to the end. */
const ColumnTitles = createContext<readonly string[]>([]);

/** For antd's `components.body.wrapper`; what it shows is antd's. */
function NamedBody(props: ComponentProps<"tbody">) {
  const titles = useContext(ColumnTitles);
  return (
    <>
      <thead className="tg-named-head">
        <tr>
          {titles.map((title) => (
            <th key={title} scope="col">
              <span className="tg-hidden">{title}</span>
            </th>
          ))}
        </tr>
      </thead>
      <tbody {...props} />
    </>
  );
}

export interface RowTableProps<Row extends { readonly id: number }> extends RowView<Row> {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly isLoading: boolean;
  readonly state: TableState;
}

/** The same object always, or every row would be made anew. */
const PARTS = { body: { wrapper: NamedBody } };

/** Rows that stand for the first load. */
const BONES = Array.from({ length: 8 }, (_, index) => ({ id: -1 - index }));

function Bone({ width }: { readonly width: number }) {
  return <span className="tg-bone" style={{ width: `${width}%` }} />;
}

function ActionButton({ action }: { readonly action: RowAction }) {
  const button = {
    type: "link",
    size: "small",
    danger: action.isDanger === true,
    disabled: action.isDisabled === true,
  } as const;
  if (action.question === undefined) {
    return (
      <Button {...button} onClick={action.onClick}>
        {action.label}
      </Button>
    );
  }
  return (
    <ConfirmButton
      {...button}
      question={action.question}
      confirmText={action.confirmText ?? action.label}
      onConfirm={action.onClick}
    >
      {action.label}
    </ConfirmButton>
  );
}

/** A column without a width gets what the others leave. */
function widthOf({ width, isGrowing }: Pick<Column<never>, "width" | "isGrowing">) {
  return isGrowing === true ? {} : { width };
}

function columnOf<Row>(column: Column<Row>, state: TableState): TableColumnType<Row> {
  const { order, desc } = state.input;
  return {
    key: column.key,
    title: column.title,
    render: (_value: unknown, row: Row) => cellOf(column, row),
    sorter: column.isSortable === true,
    sortOrder: order === column.key ? (desc ? "descend" : "ascend") : null,
    ...widthOf(column),
    ...(column.isNumber === true ? { align: "right" } : {}),
    ...(column.isFixed === true ? { fixed: "start" } : {}),
  };
}

function actionsWidthOf<Row>(view: RowView<Row>): number {
  return view.actionsWidth ?? 200;
}

const CHOICE_WIDTH = 40;

/** antd's form of the choice of rows; nothing where rows cannot be chosen. */
function choiceOf<Row extends { readonly id: number }>(props: RowTableProps<Row>): TableProps<Row> {
  const { selection } = props;
  if (selection === undefined) return {};
  return {
    rowSelection: {
      fixed: true,
      columnWidth: CHOICE_WIDTH,
      selectedRowKeys: [...selection.ids],
      onChange: (_keys, rows) => selection.choose(rows.map((row) => row.id)),
      getTitleCheckboxProps: () => ({ "aria-label": "选择本页全部" }),
      getCheckboxProps: (row) => ({ "aria-label": `选择第 ${row.id} 号` }),
    },
  };
}

function actionColumn<Row>(view: RowView<Row>): TableColumnType<Row>[] {
  const { lead, actions } = view;
  if (actions === undefined) return [];
  const render = (_value: unknown, row: Row): ReactNode => (
    <Space size={2} className="tg-actions">
      {lead?.(row)}
      {actions(row).map((action) => (
        <ActionButton key={action.key} action={action} />
      ))}
    </Space>
  );
  return [{ key: "actions", title: "操作", fixed: "end", width: actionsWidthOf(view), render }];
}

/** The same columns for rows that are not there yet, so that nothing jumps when they come. */
function boneColumns<Row>(view: RowView<Row>): TableColumnType<{ id: number }>[] {
  const bones = view.columns.map(
    (column, index): TableColumnType<{ id: number }> => ({
      key: column.key,
      title: column.title,
      ...widthOf(column),
      render: () => <Bone width={index % 3 === 0 ? 80 : 55} />,
      ...(column.isNumber === true ? { align: "right" } : {}),
    }),
  );
  if (view.selection !== undefined) bones.unshift({ key: "choice", width: CHOICE_WIDTH });
  if (view.actions === undefined) return bones;
  return [...bones, { key: "actions", title: "操作", width: actionsWidthOf(view) }];
}

/** What the columns are called as they stand, choice and actions among them. */
function titlesOf<Row>(view: RowView<Row>): readonly string[] {
  return [
    ...(view.selection === undefined ? [] : ["选择"]),
    ...view.columns.map(({ title }) => title),
    ...(view.actions === undefined ? [] : ["操作"]),
  ];
}

/** A row that opens: by click, and by Enter where the keyboard is. */
function openable(open: () => void) {
  return {
    className: "tg-openable",
    tabIndex: 0,
    onClick: open,
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key === "Enter" && event.target === event.currentTarget) open();
    },
  };
}

/**
 * Gives antd's scroll areas a tab stop and a name, and takes the row that only measures widths, with its second checkbox for all
 * rows, out of the keyboard's way; antd offers no property for either.
 */
export function useNamedScroll(label: string) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    for (const area of box.current?.querySelectorAll(".ant-table-content, .ant-table-body") ?? []) {
      area.setAttribute("tabindex", "0");
      area.setAttribute("role", "group");
      area.setAttribute("aria-label", `${label}，可横向滚动`);
    }
    for (const row of box.current?.querySelectorAll(".ant-table-measure-row") ?? [])
      row.setAttribute("inert", "");
  });
  return box;
}

export function RowTable<Row extends { readonly id: number }>(props: RowTableProps<Row>) {
  const { rows, columns, state, isLoading, onOpen } = props;
  const box = useNamedScroll(props.label);
  const least = columns.reduce(
    (sum, column) => sum + column.width,
    (props.actions === undefined ? 0 : actionsWidthOf(props)) +
      (props.selection === undefined ? 0 : CHOICE_WIDTH),
  );
  const look = {
    size: "middle",
    pagination: false,
    tableLayout: "fixed",
    sticky: { offsetHeader: 56 },
    scroll: { x: least },
  } as const;
  const sort = (sorter: SorterResult<Row> | SorterResult<Row>[]) => {
    const one = Array.isArray(sorter) ? sorter[0] : sorter;
    const isSorted = one?.order !== undefined && one.order !== null && one.columnKey !== undefined;
    state.setSort(isSorted ? { order: String(one.columnKey), desc: one.order === "descend" } : undefined);
  };
  if (isLoading) {
    return (
      <div ref={box}>
        <ColumnTitles value={titlesOf(props)}>
          <Table
            {...look}
            components={PARTS}
            rowKey="id"
            className="tg-bones"
            columns={boneColumns(props)}
            dataSource={BONES}
          />
        </ColumnTitles>
      </div>
    );
  }
  return (
    <div ref={box}>
      <ColumnTitles value={titlesOf(props)}>
        <Table<Row>
          {...look}
          {...choiceOf(props)}
          components={PARTS}
          rowKey="id"
          columns={[...columns.map((column) => columnOf(column, state)), ...actionColumn(props)]}
          dataSource={rows}
          showSorterTooltip={false}
          onChange={(_page, _filters, sorter) => sort(sorter)}
          {...(onOpen === undefined ? {} : { onRow: (row: Row) => openable(() => onOpen(row)) })}
        />
      </ColumnTitles>
    </div>
  );
}
