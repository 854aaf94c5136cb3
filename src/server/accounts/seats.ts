// Teams by what a login provider says of a person (requirements I46): it puts in and takes out, and touches no membership that people gave.
import type { TeamRole } from "#contract/team-words.ts";
import { faults } from "#server/errors.ts";
import type { Db } from "#server/store/db.ts";
import {
  changeRole,
  findMember,
  findTeam,
  holdTeam,
  insertMember,
  removeMember,
} from "#server/store/teams.ts";
import type { Provider } from "./login-providers.ts";

/** What became of a membership; for the audit log. */
export interface SeatChange {
  readonly teamId: number;
  readonly kind: "join" | "role" | "leave";
  /** The new one, or the last. */
  readonly role: TeamRole;
  /** The one before the new one; absent = there was none, or none is new. */
  readonly was?: TeamRole;
  /** Those that ended with it. */
  readonly tokens: number;
}

/** Makes the memberships of a user what the rules of a provider say, in a transaction. `told`: team → role, null = out of it. */
export async function seatBy(
  tx: Db,
  { id: providerId }: Pick<Provider, "id">,
  { userId, told, now }: { userId: number; told: ReadonlyMap<number, TeamRole | null>; now: number },
): Promise<SeatChange[]> {
  const changes: SeatChange[] = [];
  // In one order, so that two logins never wait for each other.
  for (const [teamId, role] of [...told].toSorted(([a], [b]) => a - b)) {
    if (!(await holdTeam(tx, teamId))) continue;
    const seat = { teamId, userId, providerId, now };
    const kind = role === null ? await unseat(tx, seat) : await reseat(tx, { ...seat, role });
    if (kind !== undefined) changes.push(kind);
  }
  return changes;
}

interface Seat {
  readonly teamId: number;
  readonly userId: number;
  readonly providerId: number;
  readonly now: number;
}

async function reseat(tx: Db, seat: Seat & { readonly role: TeamRole }): Promise<SeatChange | undefined> {
  const { teamId, userId, providerId, role } = seat;
  const member = await findMember(tx, teamId, userId);
  if (member === undefined) {
    await insertMember(tx, seat);
    return { teamId, kind: "join", role, tokens: 0 };
  }
  if (member.provider_id !== providerId || member.role === role) return undefined;
  await changeRole(tx, teamId, { userId, from: member.role, to: role, providerId });
  return { teamId, kind: "role", role, was: member.role, tokens: 0 };
}

/** His tokens of the team end with it, as when he is removed by hand and no manager takes them. */
async function unseat(tx: Db, { teamId, userId, providerId, now }: Seat): Promise<SeatChange | undefined> {
  const member = await findMember(tx, teamId, userId);
  const team = await findTeam(tx, teamId);
  if (member?.provider_id !== providerId || team === undefined) return undefined;
  const { role } = member;
  const tokens = await removeMember(tx, team, { userId, role, heir: 0, now });
  return { teamId, kind: "leave", role, tokens: tokens?.length ?? 0 };
}

/** Throws: AppError when a rule or a domain leads to a team that is not there, or closed. */
export async function checkTeams(db: Db, ids: readonly number[]): Promise<void> {
  for (const id of new Set(ids.filter((one) => one !== 0))) {
    const team = await findTeam(db, id);
    if (team?.closed_at !== 0) throw faults.refused(`没有这个团队：${id}`);
  }
}
