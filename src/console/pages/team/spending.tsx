// What a member or a project of a team spends: in the last thirty days, and at most.
import { useQuotaDisplay } from "#console/base/status.ts";
import type { CellProps, Column } from "#console/ui/row-view.ts";
import { QuotaText } from "#console/ui/value-text.tsx";
import type { TeamMember } from "#contract/team.ts";
import { capText } from "./words.ts";

type Spender = Pick<TeamMember, "spent" | "requests">;

function Spent({ row }: CellProps<Spender>) {
  return row.spent === null ? <span className="tg-muted">—</span> : <QuotaText quota={row.spent} />;
}

export const SPENDING = [
  { key: "spent", title: "近 30 天消费", width: 120, cell: Spent, isNumber: true },
  {
    key: "requests",
    title: "调用次数",
    width: 100,
    isNumber: true,
    render: ({ requests }) => (requests === null ? <span className="tg-muted">—</span> : requests),
  },
] as const satisfies readonly Column<Spender>[];

export function Caps({ row }: CellProps<Pick<TeamMember, "limits">>) {
  const display = useQuotaDisplay();
  if (row.limits.length === 0) return <span className="tg-muted">不限</span>;
  return (
    <>
      {row.limits.map((limit) => (
        <div key={limit.id} className="tg-number">
          {capText(limit, display)}
        </div>
      ))}
    </>
  );
}
