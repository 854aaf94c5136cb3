// Handlers: the members of a team, their caps, invitations, and who owns it (requirements O04, O07).
import { teamApi } from "#contract/team.ts";
import { mayInTeam, outranksInTeam, type TeamRole } from "#contract/team-words.ts";
import { UserStatus } from "#contract/user.ts";
import { DAY_SEC } from "#server/clock.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { randomId } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import { lockRows } from "#server/store/row-locks.ts";
import {
  findInvitation,
  type InvitationRow,
  insertInvitation,
  listInvitations,
  revokeInvitation,
  takeInvitation,
} from "#server/store/team-invitations.ts";
import {
  changeRole,
  countOwned,
  findMember,
  findTeam,
  holdTeam,
  insertMember,
  listMembers,
  type MemberRow,
  type Membership,
  removeMember,
  sumMembers,
  type TeamRow,
  updateTeam,
} from "#server/store/teams.ts";
import { audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { limitsOf } from "./limit-view.ts";
import { replaceLimits } from "./limits.ts";
import { presentOwn } from "./team-view.ts";
import { enterTeam, holdEntered } from "./token-reach.ts";
import { spanOf } from "./usage.ts";

/** Open teams that one user may own. */
const MOST_OWNED = 20;

type Verb =
  | "members"
  | "setRole"
  | "setCaps"
  | "removeMember"
  | "invitations"
  | "invite"
  | "revoke"
  | "look"
  | "accept"
  | "offer"
  | "takeOver";

export const people: Pick<Handlers<{ team: typeof teamApi }>["team"], Verb> = {
  async members(ctx, call) {
    const team = await enterTeam(ctx, call, teamApi.members);
    const rows = await listMembers(ctx.db, team.id);
    const sums = await sumMembers(ctx.db, team.wallet_id, spanOf(ctx, team.wallet_id, call.query));
    const caps = await limitsOf(ctx, { subject: "seat", ids: rows.map(({ seat_id }) => seat_id) }, 0);
    return rows.map((row) => {
      const isSelf = row.user_id === call.actor.id;
      const isPriced = isSelf || mayInTeam(team.role, "calls");
      // Who sees what it costs sees what it may cost.
      const isCapped = isPriced || mayInTeam(team.role, "people");
      const { quota: spent = 0, requests = 0 } = sums.get(row.user_id) ?? {};
      return {
        ...withoutSeat(row),
        spent: isPriced ? spent : null,
        requests: isPriced ? requests : null,
        limits: isCapped ? caps.filter(({ subject_id }) => subject_id === row.seat_id) : [],
      };
    });
  },

  async setRole(ctx, call) {
    const team = await enterTeam(ctx, call, teamApi.setRole);
    const { user_id: userId, role } = call.body;
    const member = await lower(ctx.db, team, userId);
    if (!outranksInTeam(team.role, role))
      throw faults.denied("只能给予低于自己的角色", `team ${team.id}: role`);
    await ctx.db.transaction().execute(async (tx) => {
      await holdEntered(tx, call, teamApi.setRole);
      if (!(await changeRole(tx, team.id, { userId, from: member.role, to: role }))) throw changedMeanwhile();
      const detail = { user: member.username, from: member.role, to: role };
      await audit(ctx, tx, call, { action: "team.role", target: team.id, detail });
    });
    await ctx.coord.publish("users", String(userId));
    return null;
  },

  async setCaps(ctx, call) {
    const team = await enterTeam(ctx, call, teamApi.setCaps);
    const { user_id: userId, limits } = call.body;
    const seatId = await ctx.db.transaction().execute(async (tx) => {
      const { seat_id: id, username: user } = await lower(
        tx,
        await holdEntered(tx, call, teamApi.setCaps),
        userId,
      );
      const { before, limits: changed } = await replaceLimits(ctx, tx, { subject: "seat", id }, limits);
      const detail = { user, limits: changed };
      await audit(ctx, tx, call, { action: "team.cap", target: team.id, detail, before });
      return id;
    });
    await ctx.coord.publish("users", String(userId));
    return limitsOf(ctx, { subject: "seat", ids: [seatId] }, 0);
  },

  async removeMember(ctx, call) {
    const team = await enterTeam(ctx, call, teamApi.removeMember);
    const { user_id: userId, heir_id: heirId } = call.query;
    const member =
      userId === call.actor.id ? await self(ctx.db, team, userId) : await mayRemove(ctx.db, team, userId);
    const now = ctx.clock.seconds();
    await ctx.db.transaction().execute(async (tx) => {
      await holdEntered(tx, call, teamApi.removeMember);
      if (heirId !== 0) await mayInherit(tx, team, { heirId, userId });
      const tokens = await removeMember(tx, team, { userId, role: member.role, heir: heirId, now });
      if (tokens === undefined) throw changedMeanwhile();
      const { username: user, role } = member;
      const detail = { user, role, tokens: tokens.length, heir: heirId };
      await audit(ctx, tx, call, { action: "team.leave", target: team.id, detail });
    });
    await ctx.coord.publish("users", String(userId));
    return null;
  },

  async invitations(ctx, call) {
    const { id } = await enterTeam(ctx, call, teamApi.invitations);
    const rows = await listInvitations(ctx.db, id, ctx.clock.seconds());
    return rows.map((row) => presentInvitation(row, ""));
  },

  async invite(ctx, call) {
    const team = await enterTeam(ctx, call, teamApi.invite);
    const { role, max_uses, days } = call.body;
    if (!outranksInTeam(team.role, role))
      throw faults.denied("只能邀请低于自己的角色", `team ${team.id}: role`);
    const now = ctx.clock.seconds();
    const code = randomId(24);
    const row = {
      team_id: team.id,
      role,
      max_uses,
      used: 0,
      created_by: call.actor.id,
      created_at: now,
      expires_at: now + days * DAY_SEC,
      revoked_at: 0,
    };
    const id = await ctx.db.transaction().execute(async (tx) => {
      const made = await insertInvitation(tx, { ...row, code_hash: ctx.secrets.hash(code) });
      const detail = { invitation: made, role, max_uses, days };
      await audit(ctx, tx, call, { action: "team.invite", target: team.id, detail });
      return made;
    });
    return presentInvitation({ ...row, id }, code);
  },

  async revoke(ctx, call) {
    const { id } = await enterTeam(ctx, call, teamApi.revoke);
    const invitation = call.query.invitation_id;
    await ctx.db.transaction().execute(async (tx) => {
      if (!(await revokeInvitation(tx, id, invitation, ctx.clock.seconds())))
        throw faults.notFound("找不到该邀请");
      await audit(ctx, tx, call, { action: "team.revoke", target: id, detail: { invitation } });
    });
    return null;
  },

  async look(ctx, call) {
    const { invitation, team, inviter } = await openInvitation(ctx, ctx.db, call.body.code);
    return {
      team_name: team.name,
      role: invitation.role,
      inviter: inviter.display_name || inviter.username,
      expires_at: invitation.expires_at,
    };
  },

  async accept(ctx, call) {
    const { actor } = call;
    const id = await ctx.db.transaction().execute(async (tx) => {
      const { invitation, team } = await openInvitation(ctx, tx, call.body.code);
      await hold(tx, team);
      const now = ctx.clock.seconds();
      if (await findMember(tx, team.id, actor.id)) throw faults.refused("您已是该团队的成员");
      if (!(await takeInvitation(tx, invitation.id, now))) throw unusable();
      const { role } = invitation;
      await insertMember(tx, { teamId: team.id, userId: actor.id, role, now });
      const detail = { invitation: invitation.id, role };
      await audit(ctx, tx, call, { action: "team.join", target: team.id, detail });
      return team.id;
    });
    return presentOwn(ctx, actor.id, id);
  },

  async offer(ctx, call) {
    const team = await enterTeam(ctx, call, teamApi.offer);
    const heir = call.body.user_id;
    const member = heir === 0 ? undefined : await findMember(ctx.db, team.id, heir);
    if (heir !== 0 && (member === undefined || heir === call.actor.id))
      throw faults.refused("只能转让给该团队的成员");
    if (member !== undefined && member.status !== UserStatus.enabled)
      throw faults.refused("该成员已被停用，不能转让给他");
    await ctx.db.transaction().execute(async (tx) => {
      await holdEntered(tx, call, teamApi.offer);
      await updateTeam(tx, team.id, { heir_id: heir });
      const before = { user: team.heir_id };
      await audit(ctx, tx, call, { action: "team.offer", target: team.id, detail: { user: heir }, before });
    });
    return null;
  },

  async takeOver(ctx, call) {
    const { id } = await enterTeam(ctx, call, teamApi.takeOver);
    const { actor } = call;
    await ctx.db.transaction().execute(async (tx) => {
      const { heir, owner } = await succeed(tx, id, actor.id);
      const detail = { owner: heir.username, role: "owner" };
      const before = { owner: owner.username, role: heir.role };
      await audit(ctx, tx, call, { action: "team.take_over", target: id, detail, before });
    });
    return presentOwn(ctx, actor.id, id);
  },
};

/** Keeps the number of teams a user owns until the transaction ends. Throws: when he may not own another one. */
export async function mayOwnMore(tx: Db, userId: number): Promise<void> {
  await lockRows(tx, "users", [userId]);
  if ((await countOwned(tx, userId)) >= MOST_OWNED) throw faults.refused(`最多拥有 ${MOST_OWNED} 个团队`);
}

/** Makes the one it was offered to the owner, and the owner a manager. Returns both as they were. Throws: when it is not offered to him. */
async function succeed(
  tx: Db,
  teamId: number,
  userId: number,
): Promise<Readonly<Record<"heir" | "owner", MemberRow>>> {
  const isOpen = await holdTeam(tx, teamId);
  await mayOwnMore(tx, userId);
  const team = await findTeam(tx, teamId);
  const members = await listMembers(tx, teamId);
  const heir = members.find((row) => row.user_id === userId);
  const owner = members.find((row) => row.role === "owner");
  if (!isOpen || team?.heir_id !== userId || !heir || !owner) throw faults.refused("该团队没有转让给您");
  await changeRole(tx, teamId, { userId: owner.user_id, from: "owner", to: "manager" });
  await changeRole(tx, teamId, { userId, from: heir.role, to: "owner" });
  await updateTeam(tx, teamId, { heir_id: 0 });
  return { heir, owner };
}

function withoutSeat({ status, seat_id: _, ...row }: MemberRow) {
  return { ...row, is_enabled: status === UserStatus.enabled };
}

/** Other calls that change the same team wait. Throws: when it was closed meanwhile. */
async function hold(tx: Db, { id }: Pick<TeamRow, "id">): Promise<void> {
  if (!(await holdTeam(tx, id))) throw faults.notFound("找不到该团队");
}

async function self(db: Db, team: Membership, userId: number): Promise<MemberRow> {
  if (team.role === "owner") throw faults.refused("所有者须先转让或解散团队");
  return getMember(db, team, userId);
}

async function getMember(db: Db, team: Membership, userId: number): Promise<MemberRow> {
  const member = await findMember(db, team.id, userId);
  if (!member) throw faults.notFound("找不到该成员");
  return member;
}

/** A member below the actor. Throws: when there is none, or he stands as high. */
export async function lower(db: Db, team: Membership, userId: number): Promise<MemberRow> {
  const member = await getMember(db, team, userId);
  if (!outranksInTeam(team.role, member.role))
    throw faults.denied("不能修改同级或更高角色的成员", `team ${team.id}: member ${userId}`);
  return member;
}

async function mayRemove(db: Db, team: Membership, userId: number): Promise<MemberRow> {
  if (!mayInTeam(team.role, "people"))
    throw faults.denied("您在该团队中的角色不能执行该操作", `team ${team.id}: people`);
  return lower(db, team, userId);
}

/** Throws: when the one who is to take the tokens does not answer for those of others. */
async function mayInherit(
  tx: Db,
  team: Membership,
  { heirId, userId }: { heirId: number; userId: number },
): Promise<void> {
  const heir = heirId === userId ? undefined : await findMember(tx, team.id, heirId);
  if (!heir || !mayInTeam(heir.role, "tokens")) throw faults.refused("令牌只能交给所有者或管理者");
}

/** An invitation that can be used, whose maker still may invite to its role. Throws: when it cannot. */
async function openInvitation(ctx: Context, db: Db, code: string) {
  const invitation = await findInvitation(db, ctx.secrets.hash(code), ctx.clock.seconds());
  const team = invitation && (await findTeam(db, invitation.team_id));
  const inviter = invitation && (await findMember(db, invitation.team_id, invitation.created_by));
  if (!invitation || !team || team.closed_at !== 0 || !inviter || !mayGive(inviter.role, invitation.role))
    throw unusable();
  return { invitation, team, inviter };
}

function mayGive(own: TeamRole, role: TeamRole): boolean {
  return mayInTeam(own, "people") && outranksInTeam(own, role);
}

function unusable() {
  return faults.refused("邀请无效、已用完或已过期");
}

function changedMeanwhile() {
  return faults.refused("该成员刚被修改，请刷新后重试");
}

function presentInvitation(
  {
    id,
    role,
    max_uses,
    used,
    created_at,
    expires_at,
  }: Omit<InvitationRow, "team_id" | "created_by" | "revoked_at">,
  code: string,
) {
  return { id, role, max_uses, used, created_at, expires_at, code };
}
