// The work of a failed login while imported accounts have bcrypt hashes: one hash of each kind for every account, so that neither
// imported accounts nor unknown names can be told by time (requirements A11). The work is the same, not the time: a fixed minimum
// would no longer hide the difference once an attacker keeps the thread of the old hashes busy.
import { isOutdatedHash, verifyPassword } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import { findOutdatedPrefix } from "#server/store/users.ts";

/** Does the part of the work that verifying against `stored` did not do; "" = no such user, no password login. */
export type EvenOut = (password: string, stored: string) => Promise<void>;

export function createEvenWork(db: Db): EvenOut {
  // Once there is no bcrypt hash there will be none: new hashes are of the newer kind, and an import fills empty databases.
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
