// Which tokens an actor may act on: his own, those he holds of a team, and as its owner or manager those of its other members.
import { mayInTeam, type TeamRight } from "#contract/team-words.ts";
import { UserStatus } from "#contract/user.ts";
import type { Actor } from "#server/accounts/actors.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import type { Db } from "#server/store/db.ts";
import { findMembership, holdTeam, type Membership } from "#server/store/teams.ts";
import { findToken, type TokenRow } from "#server/store/tokens.ts";

/** What may be done in a team that an administrator has stopped. */
const IN_STOPPED: readonly TeamRight[] = ["see", "calls", "acts", "wallet"];

/** A call about one team. */
interface TeamCall {
  readonly actor: Actor;
  readonly params: { readonly id: number };
}

/** A team as the actor is a member of it. Throws: when he is none, as if there were no such team; denied when his role may not. */
export async function enterTeam(
  ctx: Pick<Context, "db">,
  { actor, params }: TeamCall,
  { right }: { readonly right: TeamRight },
): Promise<Membership> {
  const team = await findMembership(ctx.db, actor.id, { team: params.id });
  if (!team) throw faults.notFound("找不到该团队");
  if (!mayInTeam(team.role, right))
    throw faults.denied("您在该团队中的角色不能执行该操作", `team ${team.id}: ${right}`);
  if (team.status !== UserStatus.enabled && !IN_STOPPED.includes(right))
    throw faults.refused("该团队已被管理员停用");
  return team;
}

/** The account that a call is about: one's own (team 0), or the wallet of a team in which one has this right. */
export async function accountOf(
  ctx: Pick<Context, "db">,
  actor: Actor,
  { team, right }: { readonly team: number; readonly right: TeamRight },
): Promise<{ readonly userId: number; readonly username: string }> {
  if (team === 0) return { userId: actor.id, username: actor.username };
  const { wallet_id, name } = await enterTeam(ctx, { actor, params: { id: team } }, { right });
  return { userId: wallet_id, username: `${name} (#${team})` };
}

/**
 * The same inside a transaction, until whose end no other call changes the team: an actor who was removed, or handed the team over, since
 * he entered may act in it no more.
 */
export async function holdEntered(tx: Db, call: TeamCall, endpoint: { readonly right: TeamRight }) {
  await holdTeam(tx, call.params.id);
  return enterTeam({ db: tx }, call, endpoint);
}

/** A token, with the team that pays for it. */
export interface Reached {
  readonly row: TokenRow;
  readonly team: Membership | undefined;
}

/** A token the actor may change. Throws: when he may not, as if there were no such token. */
export async function reachToken(ctx: Context, actor: Actor, id: number): Promise<Reached> {
  const row = await findToken(ctx.db, id);
  const team = row && row.wallet_id !== 0 ? await teamOf(ctx, actor, row) : undefined;
  const isOwn = row?.user_id === actor.id && row.wallet_id === 0;
  if (row === undefined || !(isOwn || team !== undefined)) throw faults.notFound("找不到该令牌");
  return { row, team };
}

/** The teams in whose own lists acts on a token stand. */
export function teamsOf({ team }: Pick<Reached, "team">): readonly number[] {
  return team === undefined ? [] : [team.id];
}

async function teamOf(ctx: Context, actor: Actor, row: TokenRow): Promise<Membership | undefined> {
  const team = await findMembership(ctx.db, actor.id, { wallet: row.wallet_id });
  if (!team) return undefined;
  const isHolder = row.user_id === actor.id && mayInTeam(team.role, "token");
  return isHolder || mayInTeam(team.role, "tokens") ? team : undefined;
}
