// Password login: one answer for every failure, slowed down per account and per address (reliability A11, L03).
import { UserStatus } from "#contract/user.ts";
import type { Clock } from "#server/clock.ts";
import type { Coord } from "#server/coord/coord.ts";
import { faults } from "#server/errors.ts";
import type { Events } from "#server/events.ts";
import { hashPassword, isOutdatedHash, type Secrets, verifyPassword } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import { findPasswordByUserId, findUserByLogin, replacePassword, type UserRow } from "#server/store/users.ts";
import { limitKey } from "./address.ts";
import { createEvenWork } from "./even-work.ts";

// The budget refills evenly while it is used, and the failure that finds it empty is evaluated too: 4 in 20 minutes come
// to at most 9 failures in any 15 minutes per account, 20 to at most 49 per address (reliability L03: 10 and 50).
const WINDOW_MS = 20 * 60_000;
const FAILURES_PER_ACCOUNT = 4;
const FAILURES_PER_ADDRESS = 20;
const LOCKS = 10_000;

export interface Logins {
  /**
   * Verifies a name or e-mail address with its password; whoever does not get in is told one sentence for unknown, wrong and
   * banned. Throws: 429 when there were too many failures.
   */
  verify(login: { username: string; password: string; address: string }): Promise<Verified>;
  /** Throws: 429 while the account or the address is over its limit. */
  refuseLocked(account: string, address: string): void;
  /** Counts a wrong password given elsewhere, e.g. when changing it. */
  countFailure(account: string, address: string): Promise<void>;
}

/** Who came in by which hash, or why not; `known` is the account that somebody tried to come in as. */
export type Verified =
  | { readonly isIn: true; readonly user: UserRow; readonly hash: string }
  | {
      readonly isIn: false;
      readonly reason: "unknown" | "password" | "disabled";
      readonly known: UserRow | undefined;
    };

/** Builds the verifier. Failures are counted through coord; who is over the limit is remembered here until it passes. */
export function createLogins(deps: {
  db: Db;
  clock: Clock;
  secrets: Secrets;
  coord: Coord;
  events: Events;
}): Logins {
  const { db, clock, coord, events } = deps;
  const evenOut = createEvenWork(db);
  const lockedUntilMs = new Map<string, number>();

  function refuseLocked(account: string, address: string): void {
    for (const key of keysOf(account, address)) {
      const leftMs = (lockedUntilMs.get(key) ?? 0) - clock.now();
      if (leftMs <= 0) {
        lockedUntilMs.delete(key);
        continue;
      }
      events.loginFailed({ reason: "limited", address });
      throw faults.tooMany(leftMs);
    }
  }

  async function count(key: string, limit: number): Promise<void> {
    const counted = await coord.count(key, WINDOW_MS, limit);
    if (counted.allowed) return;
    if (lockedUntilMs.size >= LOCKS) lockedUntilMs.clear();
    lockedUntilMs.set(key, clock.now() + counted.retryAfterMs);
  }

  /** The hash keeps what was typed, perhaps a password in the wrong field, out of shared tables. */
  const keysOf = (account: string, address: string) =>
    [
      `login:account:${deps.secrets.hash(account.toLowerCase())}`,
      `login:address:${limitKey(address)}`,
    ] as const;

  async function countFailure(account: string, address: string): Promise<void> {
    const [accountKey, addressKey] = keysOf(account, address);
    await count(accountKey, FAILURES_PER_ACCOUNT);
    await count(addressKey, FAILURES_PER_ADDRESS);
  }

  /** The hash that a right password is kept as from now on; undefined when it was changed meanwhile. */
  async function renewed(userId: number, stored: string, password: string): Promise<string | undefined> {
    if (!isOutdatedHash(stored)) return stored;
    const after = await hashPassword(password);
    return (await replacePassword(db, userId, { before: stored, after })) ? after : undefined;
  }

  const logins: Logins = {
    refuseLocked,
    countFailure,
    async verify({ username, password, address }) {
      refuseLocked(username, address);
      const user = await findUserByLogin(db, username);
      const stored = user ? await findPasswordByUserId(db, user.id) : "";
      const isRight = await verifyPassword(password, stored ?? "");
      if (user && stored && isRight && user.status === UserStatus.enabled) {
        const hash = await renewed(user.id, stored, password);
        // Somebody changed it meanwhile: perhaps another login of the same owner, to another hash of the same password.
        return hash === undefined
          ? logins.verify({ username, password, address })
          : { isIn: true, user, hash };
      }
      await evenOut(password, stored ?? "");
      await countFailure(username, address);
      const reason = user ? (isRight ? "disabled" : "password") : "unknown";
      events.loginFailed({ reason, address });
      return { isIn: false, reason, known: user };
    },
  };
  return logins;
}
