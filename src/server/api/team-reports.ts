// Handlers: the calls of a team and what they cost; who may not see those of others sees his own (requirements O04).
import { teamApi } from "#contract/team.ts";
import { mayInTeam } from "#contract/team-words.ts";
import type { Context } from "#server/context.ts";
import type { LogFilter } from "#server/store/log-filter.ts";
import { statLogs } from "#server/store/log-stats.ts";
import { countLogs, listLogs } from "#server/store/logs.ts";
import { sumProjects } from "#server/store/team-projects.ts";
import { type Membership, sumMembers } from "#server/store/teams.ts";
import { nameUsers } from "#server/store/usage.ts";
import type { Call, Handlers } from "./call.ts";
import { filterOf, withoutChannel } from "./logs.ts";
import { enterTeam } from "./token-reach.ts";
import { reportOf, spanOf } from "./usage.ts";

export const reports: Pick<Handlers<{ team: typeof teamApi }>["team"], "logs" | "logStat" | "usage"> = {
  async logs(ctx, call) {
    const { query, language } = call;
    const filter = await filterFor(ctx, call, await enterTeam(ctx, call, teamApi.logs));
    const rows = await listLogs(ctx.db, filter, { page: query.p, size: query.size });
    const names = await nameUsers(
      ctx.db,
      rows.map(({ member_id }) => member_id),
    );
    const data = rows.map((row) => ({
      ...withoutChannel(row, language),
      member_id: row.member_id,
      member_name: names.get(row.member_id) ?? "",
    }));
    return { data, total: await countLogs(ctx.db, filter) };
  },

  async logStat(ctx, call) {
    const filter = await filterFor(ctx, call, await enterTeam(ctx, call, teamApi.logStat));
    const { quota, tokens, requests } = await statLogs(ctx.db, filter);
    return { quota, token: tokens, request: requests };
  },

  async usage(ctx, call) {
    const team = await enterTeam(ctx, call, teamApi.usage);
    const span = spanOf(ctx, team.wallet_id, call.query);
    const [report, sums, projects] = await Promise.all([
      reportOf(ctx, span, call.query),
      sumMembers(ctx.db, team.wallet_id, span),
      sumProjects(ctx.db, team.id, span),
    ]);
    const names = await nameUsers(ctx.db, [...sums.keys()]);
    const members = [...sums]
      .map(([user_id, spent]) => ({ user_id, username: names.get(user_id) ?? "", ...spent }))
      .sort((one, other) => other.quota - one.quota || one.user_id - other.user_id);
    projects.sort((one, other) => other.quota - one.quota || one.project_id - other.project_id);
    return { ...report, members, projects };
  },
};

/** Which calls of a team its member is shown. Throws: as `filterOf`. */
function filterFor(
  ctx: Context,
  { actor, query }: Pick<Call<typeof teamApi.logStat>, "actor" | "query">,
  team: Membership,
): Promise<LogFilter> {
  const memberId = mayInTeam(team.role, "calls") ? query.user_id : actor.id;
  return filterOf(ctx, query, { userId: team.wallet_id, memberId, projectId: query.project_id });
}
