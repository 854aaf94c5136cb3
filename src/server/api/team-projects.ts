// Handlers: the projects of a team, what limits each and what it costs (requirements O09).
import { teamApi } from "#contract/team.ts";
import { mayInTeam } from "#contract/team-words.ts";
import type { Actor } from "#server/accounts/actors.ts";
import { faults } from "#server/errors.ts";
import type { Db } from "#server/store/db.ts";
import { isTaken } from "#server/store/fault.ts";
import {
  closeProject,
  countProjectTokens,
  findProject,
  insertProject,
  listProjects,
  type ProjectRow,
  renameProject,
  sumProjects,
} from "#server/store/team-projects.ts";
import { holdTeam } from "#server/store/teams.ts";
import { audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { limitsOf, withoutUse } from "./limit-view.ts";
import { replaceLimits } from "./limits.ts";
import { enterTeam, holdEntered } from "./token-reach.ts";
import { spanOf } from "./usage.ts";

/** Open ones of a team. */
const MOST = 200;

type Verb = "projects" | "makeProject" | "renameProject" | "closeProject" | "setProjectLimits";

export const projects: Pick<Handlers<{ team: typeof teamApi }>["team"], Verb> = {
  async projects(ctx, call) {
    const team = await enterTeam(ctx, call, teamApi.projects);
    const rows = await listProjects(ctx.db, team.id);
    const ids = rows.map(({ id }) => id);
    const isPriced = mayInTeam(team.role, "calls");
    const [tokens, caps, sums] = await Promise.all([
      countProjectTokens(ctx.db, ids),
      limitsOf(ctx, { subject: "project", ids }, 0),
      isPriced ? sumProjects(ctx.db, team.id, spanOf(ctx, team.wallet_id, call.query)) : [],
    ]);
    const spent = new Map(sums.map((sum) => [sum.project_id, sum]));
    const limits = isPriced ? caps : caps.map((one) => withoutUse(one, ctx.clock.seconds()));
    return rows.map(({ id, name, created_at }) => ({
      ...{ id, name, created_at, tokens: tokens.get(id) ?? 0 },
      spent: isPriced ? (spent.get(id)?.quota ?? 0) : null,
      requests: isPriced ? (spent.get(id)?.requests ?? 0) : null,
      limits: limits.filter(({ subject_id }) => subject_id === id),
    }));
  },

  async makeProject(ctx, call) {
    const team = await enterTeam(ctx, call, teamApi.makeProject);
    const { name } = call.body;
    const row = { team_id: team.id, name, created_at: ctx.clock.seconds(), closed_at: 0 };
    const id = await naming(() =>
      ctx.db.transaction().execute(async (tx) => {
        await hold(tx, team.id);
        if ((await listProjects(tx, team.id)).length >= MOST) throw faults.refused(`最多 ${MOST} 个项目`);
        const made = await insertProject(tx, row);
        await audit(ctx, tx, call, { action: "team.project", target: team.id, detail: { made, name } });
        return made;
      }),
    );
    const { created_at } = row;
    return { id, name, created_at, tokens: 0, spent: null, requests: null, limits: [] };
  },

  async renameProject(ctx, call) {
    const team = await enterTeam(ctx, call, teamApi.renameProject);
    const { project_id, name } = call.body;
    await naming(() =>
      ctx.db.transaction().execute(async (tx) => {
        const { id, name: before } = await getProject(tx, team.id, project_id);
        await renameProject(tx, id, name);
        await audit(ctx, tx, call, {
          ...{
            action: "team.project",
            target: team.id,
            detail: { renamed: id, name },
            before: { name: before },
          },
        });
      }),
    );
    return null;
  },

  async closeProject(ctx, call) {
    const team = await enterTeam(ctx, call, teamApi.closeProject);
    await ctx.db.transaction().execute(async (tx) => {
      // A call that gives a token to it meanwhile waits, and finds it closed.
      await hold(tx, team.id);
      const { id, name } = await getProject(tx, team.id, call.query.project_id);
      if ((await countProjectTokens(tx, [id])).size > 0)
        throw faults.refused("还有令牌属于该项目，请先移走或删除它们");
      await closeProject(tx, id, ctx.clock.seconds());
      await audit(ctx, tx, call, { action: "team.project", target: team.id, detail: { closed: id, name } });
    });
    return null;
  },

  async setProjectLimits(ctx, call) {
    const team = await enterTeam(ctx, call, teamApi.setProjectLimits);
    const { limits } = call.body;
    const id = await ctx.db.transaction().execute(async (tx) => {
      await holdEntered(tx, call, teamApi.setProjectLimits);
      const project = await getProject(tx, team.id, call.body.project_id);
      const change = await replaceLimits(ctx, tx, { subject: "project", id: project.id }, limits);
      const { before, limits: changed } = change;
      const detail = { project: project.name, limits: changed };
      await audit(ctx, tx, call, { action: "team.cap", target: team.id, detail, before });
      return project.id;
    });
    // All tokens of the team are looked up anew, whichever project they belong to.
    await ctx.coord.publish("users", String(team.wallet_id));
    return limitsOf(ctx, { subject: "project", ids: [id] }, 0);
  },
};

/** Keeps the team as it is until the transaction ends. Throws: when it was closed meanwhile. */
async function hold(tx: Db, teamId: number): Promise<void> {
  if (!(await holdTeam(tx, teamId))) throw faults.notFound("找不到该团队");
}

export async function getProject(tx: Db, teamId: number, id: number): Promise<ProjectRow> {
  const row = await findProject(tx, teamId, id);
  if (!row) throw faults.notFound("找不到该项目");
  return row;
}

/** Throws: AppError when there is a project of this name. */
async function naming<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw isTaken(error) ? faults.refused("团队里已有同名的项目") : error;
  }
}

/**
 * Keeps the team that pays for a token, and the token's project, as they are until the transaction ends: no member is removed meanwhile whose
 * new token would stay. Project 0 = none. Throws: when the actor has no tokens of it any more, or the project is not of the team.
 */
export async function holdPayer(
  tx: Db,
  { actor }: { readonly actor: Actor },
  { teamId, projectId }: { teamId: number | undefined; projectId: number },
): Promise<void> {
  if (teamId !== undefined) await holdEntered(tx, { actor, params: { id: teamId } }, { right: "token" });
  else if (projectId !== 0) throw faults.refused("只有团队令牌可以属于项目");
  if (teamId !== undefined && projectId !== 0) await getProject(tx, teamId, projectId);
}
