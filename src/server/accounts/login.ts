// Password login: one answer for every failure, slowed down per account and per address (requirements A11, L03).
import { plainName } from "#contract/name.ts";
import { UserStatus } from "#contract/user.ts";
import type { Events } from "#server/events.ts";
import type { Limits } from "#server/limits/limits.ts";
import { LIMITS } from "#server/limits/table.ts";
import { hashPassword, isOutdatedHash, type Secrets, verifyPassword } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import {
  findOutdatedPrefix,
  findPasswordByUserId,
  findUserByLogin,
  replacePassword,
  type UserRow,
} from "#server/store/users.ts";

/** Does the part of the work that verifying against `stored` did not do; "" = no such user, no password login. */
type EvenOut = (password: string, stored: string) => Promise<void>;

function createEvenWork(db: Db): EvenOut {
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

export interface Logins {
  /**
   * Verifies a name or e-mail address with its password; unknown, wrong and banned get the same answer.
   * Throws: 429 when there were too many failures.
   */
  verify(login: { username: string; password: string; address: string }): Promise<Verified>;
  /**
   * Whether a password is the stored one, for a user who is signed in; a wrong one counts as at a login (requirements A09).
   * Throws: 429 when there were too many failures.
   */
  confirm(asked: { userId: number; password: string; stored: string; address: string }): Promise<boolean>;
}

/** The user and the hash that matched, or why the login failed; `known` is the account that it was for. */
export type Verified =
  | { readonly isIn: true; readonly user: UserRow; readonly hash: string }
  | {
      readonly isIn: false;
      readonly reason: "unknown" | "password" | "disabled";
      readonly known: UserRow | undefined;
    };

export function createLogins(deps: {
  db: Db;
  secrets: Secrets;
  limits: Pick<Limits, "guess">;
  events: Events;
}): Logins {
  const { db, secrets, events } = deps;
  const evenOut = createEvenWork(db);

  /** The limits of an account and of an address, and the event when one has no room. */
  function limitsOf(account: string, address: string) {
    const limits = [
      { limit: LIMITS.loginAccount, subject: account },
      { limit: LIMITS.loginAddress, subject: address },
    ];
    return { limits, onRefused: () => events.loginFailed({ reason: "limited", address }) };
  }

  /** An account has one budget, whichever of its names is typed. A hash keeps text that is no name, perhaps a password, out of tables. */
  function accountOf(user: UserRow | undefined, typed: string): string {
    if (user) return String(user.id);
    // Normalised as names are looked up, so that shared budgets tell nothing about accounts.
    return secrets.hash(typed.includes("@") ? typed.toLowerCase() : plainName(typed));
  }

  async function judge(user: UserRow | undefined, password: string): Promise<Verified> {
    const stored = (user && (await findPasswordByUserId(db, user.id))) ?? "";
    const isRight = await verifyPassword(password, stored);
    if (user && isRight && user.status === UserStatus.enabled) {
      const hash = await renewed(user.id, stored, password);
      // It was changed meanwhile: perhaps by another login of the same user, to another hash of the same password.
      return hash === undefined ? judge(user, password) : { isIn: true, user, hash };
    }
    await evenOut(password, stored);
    const reason = user ? (isRight ? "disabled" : "password") : "unknown";
    return { isIn: false, reason, known: user };
  }

  /** The hash that a right password is stored as from now on; undefined when it was changed meanwhile. */
  async function renewed(userId: number, stored: string, password: string): Promise<string | undefined> {
    if (!isOutdatedHash(stored)) return stored;
    const after = await hashPassword(password);
    return (await replacePassword(db, userId, { before: stored, after })) ? after : undefined;
  }

  return {
    async verify({ username, password, address }) {
      const user = await findUserByLogin(db, username);
      const verified = await deps.limits.guess({
        ...limitsOf(accountOf(user, username), address),
        evaluate: () => judge(user, password),
        isWrong: ({ isIn }) => !isIn,
      });
      if (!verified.isIn) events.loginFailed({ reason: verified.reason, address });
      return verified;
    },
    confirm: ({ userId, password, stored, address }) =>
      deps.limits.guess({
        ...limitsOf(String(userId), address),
        evaluate: () => verifyPassword(password, stored),
        isWrong: (isRight) => !isRight,
      }),
  };
}
