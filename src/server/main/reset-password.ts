// The command `tollgate reset-password`: the way back for an account that no letter can help, a super administrator's above all
// (requirements A22). An operator who can run it has the database and its key, so it proves nothing more.
import { UserStatus } from "#contract/user.ts";
import { isProtected } from "#server/accounts/factors.ts";
import { openDataKey, readMasterKey } from "#server/accounts/master-key.ts";
import { type Clock, systemClock } from "#server/clock.ts";
import type { Config } from "#server/config.ts";
import { hashPassword, randomPassword } from "#server/secrets.ts";
import { appendAudit } from "#server/store/audit.ts";
import { type Db, openStore } from "#server/store/db.ts";
import { countFactors, deleteFactors } from "#server/store/factors.ts";
import { changeSeenUser, listSupers, revokeAccess } from "#server/store/user-acts.ts";
import { findUserByLogin, type UserRow } from "#server/store/users.ts";
import { CommandError } from "./command-error.ts";

export interface PasswordReset {
  readonly username: string;
  readonly password: string;
  /** Such an account cannot log in all the same. */
  readonly isDisabled: boolean;
  /** It has second factors, and they were left: the password alone is half a login. */
  readonly isProtected: boolean;
}

/**
 * Gives an account a new random password and ends its sessions and its access token, as a reset by mail does; the audit log gets an entry.
 * With `isFactorless` its second factors go too: the last rung for an owner who has lost them (requirements I34).
 * Throws: CommandError when there is no such account, MasterKeyError, StoreError.
 */
export async function resetPassword(
  config: Config,
  nameOrEmail: string,
  { clock = systemClock, isFactorless = false }: { clock?: Clock; isFactorless?: boolean } = {},
): Promise<PasswordReset> {
  const masterKey = await readMasterKey(config);
  if (masterKey.isNew)
    throw new CommandError(`there is no master key at ${masterKey.file}: is this the server's DATA_DIR?`);
  const store = await openStore({ ...config, beforeMigration: (db) => openDataKey(db, masterKey) });
  try {
    const user = await findUserByLogin(store.db, nameOrEmail);
    if (user === undefined) throw new CommandError(await whoElse(store.db, nameOrEmail));
    const password = randomPassword();
    const hash = await hashPassword(password);
    await store.db.transaction().execute(async (tx) => {
      if (isFactorless) await deleteFactors(tx, user.id);
      await change(tx, user, { hash, nowSec: clock.seconds(), isFactorless });
    });
    return {
      username: user.username,
      password,
      isDisabled: user.status !== UserStatus.enabled,
      isProtected: isProtected(await countFactors(store.db, user.id)),
    };
  } finally {
    await store.close();
  }
}

async function change(
  tx: Db,
  user: UserRow,
  { hash, nowSec, isFactorless }: { hash: string; nowSec: number; isFactorless: boolean },
): Promise<void> {
  if (!(await changeSeenUser(tx, user, { password: hash })))
    throw new CommandError(`${user.username} was changed at this very moment: try again`);
  await revokeAccess(tx, user.id);
  await appendAudit(tx, {
    created_at: nowSec,
    actor_id: 0,
    actor_name: "",
    action: "auth.reset_password",
    target: String(user.id),
    detail: JSON.stringify({
      by: "tollgate reset-password",
      ...(isFactorless ? { factors: "removed" } : {}),
    }),
    address: "",
    request_id: "",
  });
}

async function whoElse(db: Db, name: string): Promise<string> {
  const supers = await listSupers(db);
  return `there is no user ${name}; super administrators: ${supers.map(({ username }) => username).join(", ") || "none"}`;
}
