// Rows on a phone: one card each, with title, state, key facts and a menu of actions.
import { EllipsisOutlined, RightOutlined } from "@ant-design/icons";
import { App, Button, Checkbox, type MenuProps } from "antd";
import { ButtonMenu } from "./button-menu.tsx";
import { cellOf } from "./cell.tsx";
import type { RowAction, RowView, Selection } from "./row-view.ts";

export interface CardListProps<Row extends { readonly id: number }> extends RowView<Row> {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly isLoading: boolean;
}

function ActionMenu({ actions }: { readonly actions: readonly RowAction[] }) {
  const { modal } = App.useApp();
  if (actions.length === 0) return null;
  const start = (action: RowAction) => {
    if (action.question === undefined) {
      action.onClick();
      return;
    }
    void modal.confirm({
      title: action.question,
      okText: action.confirmText ?? action.label,
      okButtonProps: { danger: action.isDanger === true },
      cancelText: "取消",
      onOk: action.onClick,
    });
  };
  const items: NonNullable<MenuProps["items"]> = actions.map((action) => ({
    key: action.key,
    label: action.label,
    icon: action.icon,
    danger: action.isDanger === true,
    disabled: action.isDisabled === true,
    onClick: () => start(action),
  }));
  return (
    <ButtonMenu menu={{ items }}>
      <Button type="text" icon={<EllipsisOutlined aria-hidden="true" />} aria-label="操作" />
    </ButtonMenu>
  );
}

function Choice({ id, selection }: { readonly id: number; readonly selection: Selection }) {
  const { ids, choose } = selection;
  return (
    <Checkbox
      aria-label={`选择第 ${id} 号`}
      checked={ids.includes(id)}
      onChange={({ target }) => choose(target.checked ? [...ids, id] : ids.filter((other) => other !== id))}
    />
  );
}

function Card<Row extends { readonly id: number }>({
  row,
  view,
}: {
  readonly row: Row;
  readonly view: CardListProps<Row>;
}) {
  const facts = view.columns.filter(
    (column) => view.cardFacts.includes(column.key) && column.isInHead !== true,
  );
  return (
    <li className="tg-row-card">
      <div className="tg-row-card-head">
        {view.selection === undefined ? null : <Choice id={row.id} selection={view.selection} />}
        <div className="tg-row-card-title">{view.cardTitle(row)}</div>
        {view.cardState?.(row)}
        {view.onOpen === undefined ? null : (
          <Button
            type="text"
            icon={<RightOutlined aria-hidden="true" />}
            aria-label="查看详情"
            onClick={() => view.onOpen?.(row)}
          />
        )}
        {view.actions === undefined ? null : <ActionMenu actions={view.actions(row)} />}
      </div>
      <dl className="tg-row-card-facts">
        {facts.map((column) => (
          <div
            key={column.key}
            {...("shows" in column && column.shows === "time" ? { className: "tg-row-card-time" } : {})}
          >
            <dt>{column.title}</dt>
            <dd>{cellOf(column, row)}</dd>
          </div>
        ))}
      </dl>
      {view.lead === undefined ? null : <div className="tg-row-card-foot">{view.lead(row)}</div>}
    </li>
  );
}

function BoneCard() {
  return (
    <li className="tg-row-card" aria-hidden="true">
      <span className="tg-bone" style={{ width: "45%" }} />
      <span className="tg-bone" style={{ width: "85%", marginTop: 14 }} />
      <span className="tg-bone" style={{ width: "65%", marginTop: 10 }} />
    </li>
  );
}

export function CardList<Row extends { readonly id: number }>(props: CardListProps<Row>) {
  return (
    <ul className="tg-row-cards" aria-label={props.label}>
      {props.isLoading
        ? [1, 2, 3, 4].map((index) => <BoneCard key={index} />)
        : props.rows.map((row) => <Card key={row.id} row={row} view={props} />)}
    </ul>
  );
}
