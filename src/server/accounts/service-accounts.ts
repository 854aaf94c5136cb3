// Service accounts at a call: token → its maker's account with the permissions of its list that the maker has now (requirements Z18).
import { isPermission } from "#contract/permission.ts";
import { isInRanges } from "#server/address.ts";
import type { Clock } from "#server/clock.ts";
import { faults } from "#server/errors.ts";
import { randomHex, type Secrets } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import { isPassing } from "#server/store/fault.ts";
import { findLiveServiceAccount, touchServiceAccount } from "#server/store/service-accounts.ts";
import { type Rights, serviceRights } from "./may.ts";

/** Who made one, as the account is now. */
interface Maker extends Rights {
  readonly id: number;
  readonly username: string;
  readonly status: number;
  readonly group: string;
}

/** Scanners know tokens by it, and it is looked for in this table alone. */
const PREFIX = "tgs_";
/** How old the note of its last use may be. Unit: seconds. */
const TOUCH_SEC = 60;

export function newServiceToken(): string {
  return PREFIX + randomHex(48);
}

/** Whether a text is meant as the token of a service account. */
export function isServiceToken(text: string): boolean {
  return text.startsWith(PREFIX);
}

/**
 * Who calls with this token: its maker, with less rights. Undefined = there is none, or none any more.
 * Throws: 403 for an address that it may not be used from.
 */
export async function serviceActor(
  { db, clock, secrets }: { db: Db; clock: Clock; secrets: Secrets },
  { token, address }: { token: string; address: string },
  makerOf: (id: number) => Promise<Maker | undefined>,
) {
  const now = clock.seconds();
  const row = await findLiveServiceAccount(db, secrets.hash(token), now);
  const maker = row && (await makerOf(row.created_by));
  if (!row || !maker) return undefined;
  const networks = row.subnet.split(",").flatMap((part) => part.trim() || []);
  if (networks.length > 0 && !isInRanges(address, networks)) throw faults.addressRefused(`service ${row.id}`);
  if (Math.abs(now - row.last_used_at) >= TOUCH_SEC) await touch(db, row.id, { now, address });
  const { id, username, status, group } = maker;
  const names = row.permissions.split(",").filter(isPermission);
  return { id, username, status, group, staffSet: "", service: row.name, ...serviceRights(maker, names) };
}

/** A database that can be read but not written for the moment serves what only reads. */
async function touch(db: Db, id: number, { now, address }: { now: number; address: string }): Promise<void> {
  try {
    await touchServiceAccount(db, id, { last_used_at: now, last_address: address });
  } catch (error) {
    if (!isPassing(error)) throw error;
  }
}
