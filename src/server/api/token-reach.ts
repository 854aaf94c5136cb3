// Which tokens an actor may act on: his own, those he holds of a team, and as its owner or manager those of its other members.
import { mayInTeam, type TeamRight } from "#contract/team-words.ts";
import { UserStatus } from "#contract/user.ts";
import type { Actor } from "#server/accounts/actors.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { findMembership, type Membership } from "#server/store/teams.ts";
import { findToken, type TokenRow } from "#server/store/tokens.ts";

/** What may be done in a team that an administrator has stopped. */
const IN_STOPPED: readonly TeamRight[] = ["see", "calls", "wallet"];

/** A team as the actor is a member of it. Throws: when he is none, as if there were no such team; denied when his role may not. */
export async function enterTeam(
  ctx: Context,
  { actor, params }: { readonly actor: Actor; readonly params: { readonly id: number } },
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

async function teamOf(ctx: Context, actor: Actor, row: TokenRow): Promise<Membership | undefined> {
  const team = await findMembership(ctx.db, actor.id, { wallet: row.wallet_id });
  if (!team) return undefined;
  const isHolder = row.user_id === actor.id && mayInTeam(team.role, "token");
  return isHolder || mayInTeam(team.role, "tokens") ? team : undefined;
}
