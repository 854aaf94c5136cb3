// Knows whether the super administrator still has the default password, without hashing on every question.

import { Role } from "#contract/user.ts";
import type { Coord } from "#server/coord/coord.ts";
import { verifyPassword } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import { findRootPassword } from "#server/store/users.ts";
import { isSuper } from "./may.ts";
import { DEFAULT_PASSWORD } from "./password.ts";

/**
 * With the default password a super administrator can log in from the server's own machine only: a loopback address can be reached
 * from elsewhere too, through a proxy or a page that was rebound to it (requirements A10, W2.2).
 * Called for a login whose password was right.
 */
export function isShippedFromAfar(login: { password: string; role: number; isLocal: boolean }): boolean {
  return login.password === DEFAULT_PASSWORD && isSuper(login) && !login.isLocal;
}

export interface DefaultPassword {
  /** As of the last check. A field, since every request reads it. */
  readonly isInUse: boolean;
  /** Verifies again when the stored hash has changed since the last check. */
  check(): Promise<void>;
  close(): void;
}

/** It checks again whenever a user changes. */
export function createDefaultPassword(deps: { db: Db; coord: Coord }): DefaultPassword {
  let checkedHash = "";
  async function look(): Promise<void> {
    const hash = (await findRootPassword(deps.db, Role.root)) ?? "";
    if (hash === checkedHash) return;
    state.isInUse = await verifyPassword(DEFAULT_PASSWORD, hash);
    checkedHash = hash;
  }
  let checking = Promise.resolve();
  /** One after the other, so that the last answer of the database counts. */
  function check(): Promise<void> {
    checking = checking.catch(() => undefined).then(look);
    return checking;
  }
  // A failed query keeps the last answer; the next change or start checks again.
  const close = deps.coord.subscribe("users", () => void check().catch(() => undefined));
  const state = { isInUse: false, check, close };
  return state;
}
