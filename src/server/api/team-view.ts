// Teams as their members see them: what is in the wallet is shown to roles that may see it.
import type { Team } from "#contract/team.ts";
import { mayInTeam } from "#contract/team-words.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { countMembers, findMembership, type Membership } from "#server/store/teams.ts";

/** The team as its member sees it now. */
export async function presentOwn(ctx: Context, userId: number, teamId: number): Promise<Team> {
  const found = await findMembership(ctx.db, userId, { team: teamId });
  if (!found) throw faults.notFound("找不到该团队");
  return presentOne(ctx, found);
}

export async function presentOne(ctx: Context, row: Membership): Promise<Team> {
  const members = await countMembers(ctx.db, [row.id]);
  return present(row, members.get(row.id) ?? 0);
}

export async function presentAll(ctx: Context, rows: readonly Membership[]): Promise<Team[]> {
  const members = await countMembers(
    ctx.db,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => present(row, members.get(row.id) ?? 0));
}

/** What is in the wallet is shown to roles that may see it. */
function present(row: Membership, members: number): Team {
  const { id, name, role, group, status, created_at, closed_at, heir_id } = row;
  const wallet = mayInTeam(role, "wallet")
    ? { quota: row.quota, used_quota: row.used_quota, request_count: row.request_count }
    : { quota: null, used_quota: null, request_count: null };
  const plain = { id, name, role, group, status, created_at, closed_at, heir_id, members };
  return { ...plain, ...wallet, owner_id: 0, owner_name: "" };
}
