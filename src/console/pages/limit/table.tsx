// A list of limits: whose, what, how much of it is used and set aside, what is left and when it begins anew.

import type { ComponentProps, ReactNode } from "react";
import { wide } from "#console/base/language.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { ClippedText } from "#console/ui/cell.tsx";
import { allowedNow, amountText } from "#console/ui/limit-words.ts";
import { ResourceTable } from "#console/ui/resource-table.tsx";
import type { CellProps, Column, RowAction } from "#console/ui/row-view.ts";
import { StatusTag } from "#console/ui/status-tag.tsx";
import type { Limit } from "#contract/limit.ts";
import { isWindowKind } from "#contract/limit-words.ts";
import { minuteIn, recoveryText, stateOf, subjectText, whatText } from "./words.ts";

const nowSec = () => Date.now() / 1_000;

function State({ row }: CellProps<Limit>) {
  return <StatusTag {...stateOf(row, nowSec())} />;
}

function Whose({ row }: CellProps<Limit>) {
  return <ClippedText text={subjectText(row)} />;
}

function Amount({ row, value }: { readonly row: Limit; readonly value: number | null | undefined }) {
  const display = useQuotaDisplay();
  if (value === null || value === undefined || !Number.isFinite(value))
    return <span className="tg-muted">—</span>;
  return <span className="tg-number">{amountText(row.kind, value, display)}</span>;
}

/** With what running calls have set aside of it. */
function Used({ row }: CellProps<Limit>) {
  return (
    <>
      <Amount row={row} value={row.used} />
      {row.reserved > 0 ? (
        <div className="tg-muted">
          含预占 <Amount row={row} value={row.reserved} />
        </div>
      ) : null}
    </>
  );
}

function leftOf(row: Limit): number | undefined {
  if (row.used === null || row.used === undefined) return undefined;
  return Math.max(0, allowedNow(row, nowSec()) - row.used);
}

const columns: readonly Column<Limit>[] = [
  { key: "subject", title: "对象", cell: Whose, isFixed: true, isInHead: true, width: wide(160, 168) },
  { key: "what", title: "限制", width: wide(180, 162), render: whatText },
  { key: "state", title: "状态", cell: State, isInHead: true, width: 110 },
  { key: "model_pattern", title: "模型", shows: "text", none: "所有模型", width: 110 },
  {
    key: "amount",
    title: "限额",
    isNumber: true,
    width: 100,
    render: (row) => <Amount row={row} value={allowedNow(row, nowSec())} />,
  },
  { key: "used", title: "已用", isNumber: true, width: 104, cell: Used },
  {
    key: "left",
    title: "剩余",
    isNumber: true,
    width: 100,
    render: (row) => <Amount row={row} value={leftOf(row)} />,
  },
  {
    key: "resets_at",
    title: "重置时间",
    width: wide(150, 158),
    render: (row) => <Reset row={row} />,
  },
];

/** In the zone it is counted by: midnight there is what the user waits for. */
function Reset({ row }: CellProps<Limit>) {
  const { resets_at, time_zone, kind } = row;
  if (!isWindowKind(kind)) return <span className="tg-muted">{recoveryText(kind)}</span>;
  if (resets_at <= 0)
    return <span className="tg-muted">{row.time_window === "total" ? "不重置" : "首次调用后计时"}</span>;
  return (
    <time className="tg-number" dateTime={new Date(resets_at * 1_000).toISOString()} title={time_zone}>
      {minuteIn(time_zone, resets_at)}
    </time>
  );
}

export interface LimitTableProps {
  readonly name: string;
  readonly label: string;
  readonly load: ComponentProps<typeof ResourceTable<Limit>>["load"];
  readonly actions?: (row: Limit) => readonly RowAction[];
  readonly actionsWidth?: number;
  readonly empty: { readonly text: string; readonly action?: ReactNode };
}

export function LimitTable(props: LimitTableProps) {
  return (
    <ResourceTable<Limit>
      {...props}
      columns={columns}
      cardTitle={(row) => <Whose row={row} />}
      cardState={(row) => <State row={row} />}
      cardFacts={["what", "model_pattern", "amount", "used", "left", "resets_at"]}
    />
  );
}
