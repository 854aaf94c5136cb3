// Changing, disabling and deleting an account, by its owner or an administrator. The last super administrator is protected, and sessions and access token end where the change
// calls for it.
import { UserStatus } from "#contract/user.ts";
import type { Clock } from "#server/clock.ts";
import { faults } from "#server/errors.ts";
import { randomHex } from "#server/secrets.ts";
import { isNoChange } from "#server/store/change.ts";
import type { Db, Store } from "#server/store/db.ts";
import { isTaken } from "#server/store/fault.ts";
import { countOwned, holdTeam, teamsOfUser } from "#server/store/teams.ts";
import {
  changeSeenUser,
  countOtherSupers,
  deleteUser,
  revokeAccess,
  type Seen,
} from "#server/store/user-acts.ts";
import type { UserChange } from "#server/store/users.ts";
import { isSuper } from "./may.ts";

interface Parts {
  readonly store: Store;
  readonly clock: Clock;
}

/**
 * Changes an account inside the caller's transaction. A new password, another role or being disabled ends its sessions
 * and its access token (requirements A06). Throws: AppError when the name is taken, the row is no longer as seen, or the
 * last super administrator would lose the role.
 */
export async function changeAccount(
  parts: Parts,
  tx: Db,
  { seen, change, keepSession }: { seen: Seen; change: UserChange; keepSession?: string | undefined },
): Promise<void> {
  const isDisabled = change.status !== undefined && change.status !== UserStatus.enabled;
  const isMoved = change.role !== undefined && change.role !== seen.role;
  if (isDisabled || isMoved) await keepOneSuper(parts, tx, seen);
  // A user who becomes an administrator again gets a set again, or none.
  const moved = isMoved ? { ...change, staff_set_id: 0 } : change;
  if (!(await tryChange(tx, seen, moved))) throw changedMeanwhile();
  if (isDisabled || isMoved || change.password !== undefined) await revokeAccess(tx, seen.id, keepSession);
}

async function tryChange(tx: Db, seen: Seen, change: UserChange): Promise<boolean> {
  if (isNoChange(change)) return true;
  try {
    return await changeSeenUser(tx, seen, change);
  } catch (error) {
    throw isTaken(error) ? faults.refused("用户名已被使用") : error;
  }
}

/** Deletes an account inside the caller's transaction. Returns the teams it was a member of. Throws: as `changeAccount`. */
export async function removeAccount(parts: Parts, tx: Db, seen: Seen): Promise<readonly number[]> {
  await keepOneSuper(parts, tx, seen);
  const teams = await teamsOfUser(tx, seen.id);
  // None is handed over to him meanwhile; in one order, as everywhere.
  for (const id of teams) await holdTeam(tx, id);
  if ((await countOwned(tx, seen.id)) > 0) throw faults.refused("该账户还拥有团队，请先转让或解散团队");
  const gone = { name: `deleted_${randomHex(32)}`, now: parts.clock.seconds() };
  if (!(await deleteUser(tx, seen, gone))) throw changedMeanwhile();
  return teams;
}

async function keepOneSuper({ store }: Parts, tx: Db, seen: Seen): Promise<void> {
  if (!isSuper(seen) || seen.status !== UserStatus.enabled) return;
  if ((await countOtherSupers(tx, store.dialect, seen.id)) === 0)
    throw faults.refused("至少要保留一个可用的超级管理员");
}

function changedMeanwhile() {
  return faults.refused("该用户刚被修改，请刷新后重试");
}
