// Handlers: teams as administrators see and manage them, from outside.
import type { Team, teamAdminApi } from "#contract/team.ts";
import type { Actor } from "#server/accounts/actors.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { randomHex } from "#server/secrets.ts";
import {
  countMembers,
  countTeams,
  findTeam,
  holdTeam,
  insertMember,
  insertTeam,
  listTeams,
  type TeamRow,
  updateWallet,
} from "#server/store/teams.ts";
import { findUserByName, type UserRow } from "#server/store/users.ts";
import { audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { raiseOf, tellRaise } from "./raises.ts";
import { subject } from "./user-admin.ts";
import { noteRefused } from "./user-amounts.ts";

export const teamAdmin: Handlers<{ teamAdmin: typeof teamAdminApi }>["teamAdmin"] = {
  async all(ctx, { query }) {
    const filter = { keyword: query.keyword };
    const rows = await listTeams(ctx.db, { ...filter, page: query.p, size: query.size });
    const members = await countMembers(
      ctx.db,
      rows.map(({ id }) => id),
    );
    const data = rows.map((row) => present(row, members.get(row.id) ?? 0, row));
    return { data, total: await countTeams(ctx.db, filter) };
  },

  async make(ctx, call) {
    const { actor, body } = call;
    const owner = await person(ctx, actor, body.owner);
    const people = new Map<number, { user: UserRow; role: (typeof body.members)[number]["role"] }>();
    for (const { username, role } of body.members) {
      const user = await person(ctx, actor, username);
      if (user.id === owner.id || people.has(user.id)) throw faults.refused(`“${username}”重复出现`);
      people.set(user.id, { user, role });
    }
    const now = ctx.clock.seconds();
    const id = await ctx.db.transaction().execute(async (tx) => {
      const { name } = body;
      const group = owner.group || "default";
      const made = await insertTeam(tx, { name, group, ownerId: owner.id, now, tail: randomHex(32) });
      for (const { user, role } of people.values())
        await insertMember(tx, { teamId: made, userId: user.id, role, now });
      const detail = { name, owner: owner.username, members: body.members };
      await audit(ctx, tx, call, { action: "team.make", target: made, detail });
      return made;
    });
    return presentOne(ctx, id);
  },

  async manage(ctx, call) {
    const { id, group, status } = call.body;
    const team = await getTeam(ctx, id);
    const isKnown =
      group === undefined || group === "default" || Object.hasOwn(ctx.options.get("GroupRatio"), group);
    if (!isKnown) throw faults.refused("没有这个分组");
    const change = { ...(group !== undefined && { group }), ...(status !== undefined && { status }) };
    if (group !== undefined || status !== undefined)
      await ctx.db.transaction().execute(async (tx) => {
        // A team that is closed stays so.
        if (!(await holdTeam(tx, id))) throw faults.refused("该团队已解散");
        await updateWallet(tx, team.wallet_id, change);
        await audit(ctx, tx, call, { action: "team.manage", target: id, detail: change, before: team });
      });
    await ctx.coord.publish("users", String(team.wallet_id));
    return presentOne(ctx, id);
  },

  async adjust(ctx, call) {
    const { id, amount, reason } = call.body;
    const team = await getTeam(ctx, id);
    if (team.closed_at !== 0) throw faults.refused("该团队已解散");
    const delta = BigInt(amount);
    const raise = await raiseOf(ctx, { action: "team.adjust", target: id, delta });
    const detail = { ...raise, amount, reason };
    await ctx.db
      .transaction()
      .execute((tx) => audit(ctx, tx, call, { action: "team.adjust", target: id, detail }));
    tellRaise(ctx, call, { ...raise, name: team.name });
    const { outcome } = await ctx.ledger.adjust({
      userId: team.wallet_id,
      kind: "adjust",
      quota: { delta },
      actorId: call.actor.id,
      reason,
      operationId: `team-adjust/${call.idempotencyKey ?? call.requestId}`,
    });
    await noteRefused(ctx, call, { of: "team", id }, { what: "quota", outcome });
    if (outcome === "below_zero") throw faults.refused("钱包余额不足");
    if (outcome === "too_large") throw faults.refused("额度超出范围");
    // It may have ended a debt that calls wait for.
    await ctx.coord.publish("users", String(team.wallet_id));
    return presentOne(ctx, id);
  },
};

/** A user the actor may act on: himself, or one below. Throws: when there is none. */
async function person(ctx: Context, actor: Actor, username: string): Promise<UserRow> {
  const user = await findUserByName(ctx.db, username);
  if (!user) throw faults.notFound(`找不到用户“${username}”`);
  return user.id === actor.id ? user : subject(actor, user);
}

async function getTeam(ctx: Context, id: number): Promise<TeamRow> {
  const team = await findTeam(ctx.db, id);
  if (!team) throw faults.notFound("找不到该团队");
  return team;
}

async function presentOne(ctx: Context, id: number): Promise<Team> {
  const team = await getTeam(ctx, id);
  const members = await countMembers(ctx.db, [id]);
  return present(team, members.get(id) ?? 0, { owner_id: 0, owner_name: "" });
}

function present(row: TeamRow, members: number, owner: Pick<Team, "owner_id" | "owner_name">): Team {
  const { owner_id, owner_name } = owner;
  return { ...row, role: "", members, owner_id, owner_name };
}
