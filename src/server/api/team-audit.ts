// Handlers: the acts on a team, for those who answer for it (requirements O11).
import { type TeamAct, teamAuditApi, WALLET_ACTS } from "#contract/team-audit.ts";
import { mayInTeam } from "#contract/team-words.ts";
import { type AuditRow, countAudit, listAudit } from "#server/store/audit.ts";
import { listMembers } from "#server/store/teams.ts";
import type { Handlers } from "./call.ts";
import { madeOf, totalBeside } from "./list-query.ts";
import { sortedPage } from "./page.ts";
import { enterTeam } from "./token-reach.ts";

export const acts: Handlers<{ team: typeof teamAuditApi }>["team"] = {
  async acts(ctx, call) {
    const { query } = call;
    const team = await enterTeam(ctx, call, teamAuditApi.acts);
    const filter = {
      teamId: team.id,
      actions: mayInTeam(team.role, "people") ? undefined : WALLET_ACTS,
      actorName: query.username,
      action: query.action,
      ...madeOf(query),
    };
    const rows = await listAudit(ctx.db, filter, sortedPage({ ...query, order: "" }));
    const members = await listMembers(ctx.db, team.id);
    const inside = new Set(members.map(({ user_id }) => user_id));
    const data = rows.map((row) => present(row, inside));
    return { data, ...(await totalBeside(query, () => countAudit(ctx.db, filter))) };
  },
};

function present(row: AuditRow, inside: ReadonlySet<number>): TeamAct {
  const { id, created_at, actor_id, actor_name, action, target, detail } = row;
  return { id, created_at, actor_id, actor_name, action, target, detail, is_outside: !inside.has(actor_id) };
}
