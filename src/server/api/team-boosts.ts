// Handlers: what a team, its members and its projects may spend, raised for a while (requirements L14).
import { teamApi } from "#contract/team.ts";
import type { teamBoostApi } from "#contract/team-boost.ts";
import type { Handlers } from "./call.ts";
import { boostOwned } from "./limit-boosts.ts";
import { lower } from "./team-people.ts";
import { getProject } from "./team-projects.ts";
import { enterTeam } from "./token-reach.ts";

export const boosts: Handlers<{ team: typeof teamBoostApi }>["team"] = {
  async boostLimit(ctx, call) {
    const { id: teamId, wallet_id: id } = await enterTeam(ctx, call, teamApi.boostLimit);
    return boostOwned(ctx, call, { subject: "team", id, teams: [teamId] }, { topic: "users", id });
  },

  async boostCap(ctx, call) {
    const team = await enterTeam(ctx, call, teamApi.boostCap);
    const { seat_id, user_id } = await lower(ctx.db, team, call.body.user_id);
    return boostOwned(
      ctx,
      call,
      { subject: "seat", id: seat_id, teams: [team.id] },
      { topic: "users", id: user_id },
    );
  },

  async boostProject(ctx, call) {
    const team = await enterTeam(ctx, call, teamApi.boostProject);
    const { id } = await getProject(ctx.db, team.id, call.body.project_id);
    return boostOwned(
      ctx,
      call,
      { subject: "project", id, teams: [team.id] },
      { topic: "users", id: team.wallet_id },
    );
  },
};
