// What a login provider's rules give to an account: a group, teams, a set of permissions. A provider takes back what it gave and nothing
// else, also when its identity is unbound (requirements I46, I66).
import { Role } from "#contract/user.ts";
import { faults } from "#server/errors.ts";
import type { Db } from "#server/store/db.ts";
import type { IdentityRow } from "#server/store/sign-on.ts";
import { findStaffSet } from "#server/store/staff.ts";
import { listSeatsBy } from "#server/store/teams.ts";
import { changeSeenUser, revokeAccess } from "#server/store/user-acts.ts";
import { type UserRow, updateUserProfile } from "#server/store/users.ts";
import { type Claims, groupOf, staffSetOf, teamsOf } from "./claims.ts";
import type { Provider } from "./login-providers.ts";
import { isStaff, isSuper } from "./may.ts";
import { type SeatChange, seatBy } from "./seats.ts";

/** What became of an administrator's rights; for the audit log. */
export interface StaffChange {
  readonly kind: "promote" | "staff_set" | "demote";
  readonly role: number;
  readonly staff_set_id: number;
}

/** Written in the transaction of the change. */
export interface GrantNotes {
  readonly onSeat: (tx: Db, user: UserRow, change: SeatChange) => Promise<void>;
  readonly onStaff: (tx: Db, user: UserRow, change: StaffChange) => Promise<void>;
}

type Given = Pick<IdentityRow, "provider_id" | "granted_group" | "granted_set">;

/** Undefined = the rules say nothing; "" and 0 = they give none. */
interface Told {
  readonly group: string | undefined;
  readonly staffSet: number | undefined;
  readonly teams: ReturnType<typeof teamsOf>;
  /** All teams that there are rules of: one whose rules were deleted is taken back. */
  readonly ruled: ReadonlySet<number>;
}

const NOTHING: Told = { group: "", staffSet: 0, teams: new Map(), ruled: new Set() };

interface Grant {
  readonly user: UserRow;
  readonly given: Given;
  readonly told: Told;
  readonly now: number;
}

/** The account after it, and what the identity gives from now on. */
export interface Granted {
  readonly user: UserRow;
  readonly isChanged: boolean;
  readonly given: Pick<IdentityRow, "granted_group" | "granted_set">;
}

/** What a provider's rules say of a person; a group that has no price is not there. */
export function toldBy(
  { settings }: Pick<Provider, "settings">,
  sources: readonly Claims[],
  groups: Readonly<Record<string, unknown>>,
): Told {
  const { rules, grants_staff } = settings;
  const group = groupOf(rules, sources);
  return {
    group: group === undefined || group === "" || Object.hasOwn(groups, group) ? group : undefined,
    // Without the operator's consent the rules make no administrator, and those they made are none any more.
    staffSet: grants_staff ? staffSetOf(rules, sources) : 0,
    teams: teamsOf(rules, sources),
    ruled: new Set(rules.map(({ team_id }) => team_id)),
  };
}

/** Makes an account what the rules say. Throws: AppError when another call changes it at the same time. */
export async function grant(tx: Db, grant: Grant, notes: GrantNotes): Promise<Granted> {
  const { user, given, told } = grant;
  const group = groupAfter(user, given, told.group);
  if (group !== user.group) await updateUserProfile(tx, user.id, { group });
  const staff = await grantStaff(tx, grant, notes);
  const seats = await grantSeats(tx, grant);
  for (const seat of seats) await notes.onSeat(tx, user, seat);
  return {
    user: { ...user, ...staff.rights, group },
    isChanged: group !== user.group || staff.isChanged || seats.length > 0,
    given: { granted_group: told.group ?? given.granted_group, granted_set: staff.given },
  };
}

/** Takes back all that a provider gave. Returns whether it was anything. Throws: as `grant`. */
export async function takeBack(
  tx: Db,
  { user, given, now }: Omit<Grant, "told">,
  notes: GrantNotes,
): Promise<boolean> {
  return (await grant(tx, { user, given, now, told: NOTHING }, notes)).isChanged;
}

async function grantSeats(tx: Db, { user, given, told, now }: Grant): Promise<readonly SeatChange[]> {
  const { provider_id } = given;
  const teams = new Map(told.teams);
  for (const teamId of await listSeatsBy(tx, user.id, provider_id))
    if (!told.ruled.has(teamId)) teams.set(teamId, null);
  return seatBy(tx, { id: provider_id }, { userId: user.id, told: teams, now });
}

function groupAfter(user: UserRow, { granted_group }: Given, told: string | undefined): string {
  if (told === undefined) return user.group;
  if (told !== "") return told;
  return granted_group !== "" && granted_group === user.group ? "default" : user.group;
}

interface Staffed {
  readonly rights: Pick<UserRow, "role" | "staff_set_id">;
  readonly isChanged: boolean;
  /** 0 = the provider gives none. */
  readonly given: number;
}

async function grantStaff(tx: Db, { user, given, told }: Grant, notes: GrantNotes): Promise<Staffed> {
  const { role, staff_set_id } = user;
  const before = isGivenStaff(user, given) ? staff_set_id : 0;
  const kept = { rights: { role, staff_set_id }, isChanged: false, given: before };
  // Administrators whom people made are theirs to change.
  if (isStaff(user) && before === 0) return kept;
  const set = told.staffSet ?? before;
  // A set that was deleted meanwhile gives nothing, and does not take away either.
  if (set === before || (set !== 0 && (await findStaffSet(tx, set)) === undefined)) return kept;
  const rights = { role: set === 0 ? Role.user : Role.admin, staff_set_id: set };
  if (!(await changeSeenUser(tx, user, rights))) throw faults.refused("该用户刚被修改，请刷新后重试");
  // As with every change of rights (requirements A06).
  await revokeAccess(tx, user.id);
  await notes.onStaff(tx, user, { kind: kindOf(before, set), ...rights });
  return { rights, isChanged: true, given: set };
}

function isGivenStaff(user: UserRow, { granted_set }: Given): boolean {
  return granted_set !== 0 && isStaff(user) && !isSuper(user) && user.staff_set_id === granted_set;
}

function kindOf(before: number, after: number): StaffChange["kind"] {
  if (after === 0) return "demote";
  return before === 0 ? "promote" : "staff_set";
}
