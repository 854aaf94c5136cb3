// Handlers: the members of a team, their caps, invitations, and who owns it (requirements O04, O07).
import { teamApi } from "#contract/team.ts";
import { mayInTeam, outranksInTeam, type TeamRole } from "#contract/team-words.ts";
import { UserStatus } from "#contract/user.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { randomId } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
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
  findMember,
  findTeam,
  holdTeam,
  insertMember,
  listMembers,
  type MemberRow,
  type Membership,
  passTokens,
  removeMember,
  sumMembers,
  type TeamRow,
  updateTeam,
} from "#server/store/teams.ts";
import { audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { limitsOf, replaceLimits } from "./limits.ts";
import { presentOwn } from "./team-view.ts";
import { enterTeam } from "./token-reach.ts";
import { spanOf } from "./usage.ts";

const DAY_SEC = 86_400;

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
      const isCapped = isSelf || mayInTeam(team.role, "people");
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
    const member = await lower(ctx, team, userId);
    if (!outranksInTeam(team.role, role))
      throw faults.denied("只能给予低于自己的角色", `team ${team.id}: role`);
    await ctx.db.transaction().execute(async (tx) => {
      await hold(tx, team);
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
    const member = await lower(ctx, team, userId);
    await ctx.db.transaction().execute(async (tx) => {
      await hold(tx, team);
      await replaceLimits(ctx, tx, { subject: "seat", id: member.seat_id }, limits);
      const detail = { user: member.username, limits };
      await audit(ctx, tx, call, { action: "team.cap", target: team.id, detail });
    });
    await ctx.coord.publish("users", String(userId));
    return limitsOf(ctx, { subject: "seat", ids: [member.seat_id] }, 0);
  },

  async removeMember(ctx, call) {
    const team = await enterTeam(ctx, call, teamApi.removeMember);
    const { user_id: userId, heir_id: heirId } = call.query;
    const member =
      userId === call.actor.id ? await self(ctx, team, userId) : await mayRemove(ctx, team, userId);
    if (heirId !== 0) await mayInherit(ctx, team, { heirId, userId });
    const now = ctx.clock.seconds();
    await ctx.db.transaction().execute(async (tx) => {
      await hold(tx, team);
      const isGone = await removeMember(tx, team.id, { userId, role: member.role, now });
      if (!isGone) throw changedMeanwhile();
      if (team.heir_id === userId) await updateTeam(tx, team.id, { heir_id: 0 });
      const tokens = await passTokens(tx, { walletId: team.wallet_id, userId, heir: heirId, now });
      const detail = { user: member.username, tokens: tokens.length, heir: heirId };
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
    const isMember = heir !== 0 && heir !== call.actor.id && (await findMember(ctx.db, team.id, heir));
    if (heir !== 0 && !isMember) throw faults.refused("只能转让给该团队的成员");
    await ctx.db.transaction().execute(async (tx) => {
      await hold(tx, team);
      await updateTeam(tx, team.id, { heir_id: heir });
      await audit(ctx, tx, call, { action: "team.offer", target: team.id, detail: { user: heir } });
    });
    return null;
  },

  async takeOver(ctx, call) {
    const { id } = await enterTeam(ctx, call, teamApi.takeOver);
    const { actor } = call;
    await ctx.db.transaction().execute(async (tx) => {
      await succeed(tx, id, actor.id);
      await audit(ctx, tx, call, { action: "team.take_over", target: id });
    });
    return presentOwn(ctx, actor.id, id);
  },
};

/** Makes the one it was offered to the owner, and the owner a manager. Throws: when it is not offered to him. */
async function succeed(tx: Db, teamId: number, userId: number): Promise<void> {
  const isOpen = await holdTeam(tx, teamId);
  const team = await findTeam(tx, teamId);
  const members = await listMembers(tx, teamId);
  const heir = members.find((row) => row.user_id === userId);
  const owner = members.find((row) => row.role === "owner");
  if (!isOpen || team?.heir_id !== userId || !heir || !owner) throw faults.refused("该团队没有转让给您");
  await changeRole(tx, teamId, { userId: owner.user_id, from: "owner", to: "manager" });
  await changeRole(tx, teamId, { userId, from: heir.role, to: "owner" });
  await updateTeam(tx, teamId, { heir_id: 0 });
}

function withoutSeat({ status, seat_id: _, ...row }: MemberRow) {
  return { ...row, is_enabled: status === UserStatus.enabled };
}

/** Other calls that change the same team wait. Throws: when it was closed meanwhile. */
async function hold(tx: Db, { id }: Pick<TeamRow, "id">): Promise<void> {
  if (!(await holdTeam(tx, id))) throw faults.notFound("找不到该团队");
}

async function self(ctx: Context, team: Membership, userId: number): Promise<MemberRow> {
  if (team.role === "owner") throw faults.refused("所有者须先转让或解散团队");
  return getMember(ctx, team, userId);
}

async function getMember(ctx: Context, team: Membership, userId: number): Promise<MemberRow> {
  const member = await findMember(ctx.db, team.id, userId);
  if (!member) throw faults.notFound("找不到该成员");
  return member;
}

/** A member below the actor. Throws: when there is none, or he stands as high. */
async function lower(ctx: Context, team: Membership, userId: number): Promise<MemberRow> {
  const member = await getMember(ctx, team, userId);
  if (!outranksInTeam(team.role, member.role))
    throw faults.denied("不能修改同级或更高角色的成员", `team ${team.id}: member ${userId}`);
  return member;
}

async function mayRemove(ctx: Context, team: Membership, userId: number): Promise<MemberRow> {
  if (!mayInTeam(team.role, "people"))
    throw faults.denied("您在该团队中的角色不能执行该操作", `team ${team.id}: people`);
  return lower(ctx, team, userId);
}

/** Throws: when the one who is to take the tokens does not answer for those of others. */
async function mayInherit(
  ctx: Context,
  team: Membership,
  { heirId, userId }: { heirId: number; userId: number },
): Promise<void> {
  const heir = heirId === userId ? undefined : await findMember(ctx.db, team.id, heirId);
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
