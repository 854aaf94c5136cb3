// Invitation codes: five characters, made when first asked for (requirements W3.3, W20.8).
import { newAffCode } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import { isTaken } from "#server/store/fault.ts";
import { setAffCode } from "#server/store/partners.ts";
import { getUser } from "#server/store/users.ts";

/** 28 million codes: with a million users a code is free nine times in ten. */
const TRIES = 20;

/**
 * The invitation code of a user, which is the gift code too; makes one when there is none. Not inside a transaction: a
 * code that is taken would end it on PostgreSQL. Throws: when no free code was found.
 */
export async function ensureAffCode(db: Db, userId: number): Promise<string> {
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const { aff_code } = await getUser(db, userId);
    if (aff_code !== "") return aff_code;
    try {
      await setAffCode(db, userId, newAffCode());
    } catch (error) {
      if (!isTaken(error)) throw error;
    }
  }
  throw new Error(`no free invitation code in ${TRIES} tries`);
}
