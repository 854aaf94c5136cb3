// The acts on a team (操作记录), by members and by administrators from outside: what of the audit log its owner and managers read
// (requirements O11).
import { z } from "zod";
import { AuditEntry } from "./audit.ts";
import type { AuditAction } from "./audit-actions.ts";
import { endpoint } from "./endpoint.ts";
import { IdParams, InBlocks, ListBeside, ListQuery, MadeBetween, query } from "./wire.ts";

/** What who keeps the team's money reads of them. */
export const WALLET_ACTS: readonly AuditAction[] = [
  "team.adjust",
  "team.deposit",
  "team.topup",
  "team.withdraw",
  "team.amount_refused",
  "payment.decide",
  "payment.manual",
  "payment.manual.judge",
  "payment.refund",
  "payment.refund.settle",
];

/** Acts on something else than a team or a token that stand in a list of theirs too. */
const BESIDE: readonly string[] = ["limit.boost", "user.delete", "user.deleteSelf"] satisfies AuditAction[];

/** Whether an act may stand in the list of a team. */
export function isTeamAct(action: string): boolean {
  const all: readonly string[] = [...BESIDE, ...WALLET_ACTS];
  return all.includes(action) || /^(team|token)\./.test(action);
}

/** Where members called from is theirs, and the log's chain is the operator's. */
export const TeamAct = AuditEntry.omit({ address: true, request_id: true, hash: true }).extend({
  /** The actor is no member of the team now: an administrator, or one who has left. */
  is_outside: z.boolean(),
});
export type TeamAct = z.output<typeof TeamAct>;

export const teamAuditApi = {
  acts: endpoint({
    method: "GET",
    path: "/api/team/:id/audit",
    level: "user",
    right: "acts",
    summary:
      "团队的操作记录，含管理员从外部的操作，新的在前；可按操作者、操作与时间（秒，含两端，0 为不限）筛选，财务只见资金操作；export 时成批返回，用于导出",
    params: IdParams,
    query: ListQuery.omit({ order: true, desc: true }).extend({
      /** The actor's name at the time. */
      username: query.text,
      /** A whole action, or its head up to a dot. */
      action: query.text,
      ...MadeBetween,
      ...InBlocks,
    }),
    data: z.array(TeamAct),
    beside: ListBeside,
  }),
};
