// What the members and the projects of a team are listed with alike: what each spent in the last thirty days, and what it may at most.
import { formatTime } from "#console/base/format.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { isRaised } from "#console/ui/limit-words.ts";
import type { CellProps, Column } from "#console/ui/row-view.ts";
import { QuotaText } from "#console/ui/value-text.tsx";
import type { Limit } from "#contract/limit.ts";
import type { QuotaDisplay } from "#contract/quota.ts";
import type { TeamProject } from "#contract/team-project.ts";
import { capText } from "./words.ts";

interface Spender extends Pick<TeamProject, "spent" | "requests" | "limits"> {
  /** Absent = to all who see the row. */
  readonly isCapShown?: boolean;
}

const NONE = <span className="tg-muted">—</span>;

function Spent({ row }: CellProps<Spender>) {
  return row.spent === null ? NONE : <QuotaText quota={row.spent} />;
}

function Caps({ row }: CellProps<Spender>) {
  const display = useQuotaDisplay();
  if (row.isCapShown === false) return NONE;
  if (row.limits.length === 0) return <span className="tg-muted">不限</span>;
  return <CapLines limits={row.limits} display={display} />;
}

/** One line for each, and under one that is raised until when it is. */
export function CapLines({
  limits,
  display,
}: {
  readonly limits: readonly Limit[];
  readonly display: QuotaDisplay;
}) {
  const nowSec = Date.now() / 1_000;
  return limits.map((limit) => (
    <div key={limit.id}>
      <span className="tg-number">{capText(limit, display, nowSec)}</span>
      {isRaised(limit, nowSec) ? (
        <div className="tg-muted">临时提高，{formatTime(limit.boost_until)} 止</div>
      ) : null}
    </div>
  ));
}

export function spendColumns<Row extends Spender>(): readonly Column<Row>[] {
  return [
    { key: "spent", title: "近 30 天消费", width: 120, cell: Spent, isNumber: true },
    {
      key: "requests",
      title: "调用次数",
      width: 100,
      isNumber: true,
      render: ({ requests }) => requests ?? NONE,
    },
    { key: "limits", title: "上限（已用 / 上限）", width: 220, cell: Caps },
  ];
}
