// What a failed login costs while imported accounts have bcrypt hashes: one of each kind for everybody, so that neither they nor
// names that nobody has can be told by time (requirements A11). The work is the same, not the time: a floor would give way
// as soon as somebody makes the thread of the old hashes wait.
import { isOutdatedHash, verifyPassword } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import { findOutdatedPrefix } from "#server/store/users.ts";

/** Does the part of the work that verifying against `stored` did not do; "" = no such user, no password login. */
export type EvenOut = (password: string, stored: string) => Promise<void>;

export function createEvenWork(db: Db): EvenOut {
  // Once there is none there will be none: new hashes are of the newer kind, and an import fills empty databases.
  let isDone = false;
  return async (password, stored) => {
    const prefix = isDone ? undefined : await findOutdatedPrefix(db);
    isDone = prefix === undefined;
    if (prefix === undefined) return;
    await verifyPassword(password, isOutdatedHash(stored) ? "" : prefix.padEnd(BCRYPT_CHARS, "."));
  };
}

/** Of a whole hash; one of dots costs what its prefix says and belongs to no password. */
const BCRYPT_CHARS = 60;
