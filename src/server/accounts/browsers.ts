// The browsers an account is used from, each known by a random cookie whose hash alone is stored. One that its owner trusts skips the
// second factor of a login, and nothing else (requirements I33).
import { AHEAD_SEC, DAY_SEC } from "#server/clock.ts";
import { randomId } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import { deleteUnseenDevices, isTrustedDevice, meetDevice } from "#server/store/devices.ts";
import type { Tools } from "#server/tools.ts";

/** How long a browser is trusted. */
const TRUST_SEC = 30 * DAY_SEC;
/** How long the cookie lives; browsers keep none longer. */
const KNOWN_SEC = 400 * DAY_SEC;

type BrowserTools = Pick<Tools, "db" | "clock" | "secrets">;

/** What a browser is to an account: its owner is not told of the first one. */
export type DeviceMeeting = "first" | "new" | "known";

/** The browser with this cookie, or a new one. */
export function countDevice({ clock, secrets }: BrowserTools, cookie: string | undefined) {
  const id = cookie ?? randomId();
  const hash = hashOf(secrets, id);
  const now = clock.seconds();
  return {
    id,
    hash,
    maxAgeSec: KNOWN_SEC,
    /** Notes that an account signs in here, in its transaction. */
    async meet(tx: Db, userId: number, trustUntil: number | undefined): Promise<DeviceMeeting> {
      await deleteUnseenDevices(tx, userId, now - KNOWN_SEC);
      return meetDevice(tx, { deviceHash: hash, userId }, { now, trustUntil });
    },
  };
}

/** Until when a browser that is trusted now will be. Unit: seconds. */
export function trustEnd(now: number): number {
  return now + TRUST_SEC;
}

/** Whether a login from this browser needs no second factor. */
export async function isTrustedBrowser(
  { db, clock, secrets }: BrowserTools,
  cookie: string | undefined,
  userId: number,
): Promise<boolean> {
  if (cookie === undefined) return false;
  const now = clock.seconds();
  const latest = now + TRUST_SEC + AHEAD_SEC;
  return isTrustedDevice(db, { deviceHash: hashOf(secrets, cookie), userId }, { now, latest });
}

function hashOf(secrets: BrowserTools["secrets"], id: string): string {
  return secrets.hash(`device ${id}`);
}
