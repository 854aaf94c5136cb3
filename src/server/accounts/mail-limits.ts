// How often letters may be caused by people who are not known (reliability L05). Counted before anything is looked up, so that
// the answer says nothing about the address.

import { faults } from "#server/errors.ts";
import { mailboxOf } from "#server/store/mailbox.ts";
import type { Tools } from "#server/tools.ts";
import { limitKey } from "./address.ts";

const HOUR_MS = 3_600_000;
/** The console's own countdown (D21). */
const AGAIN_MS = 30_000;
/** Two at once, then one every 5½ minutes: at most 12 letters to an address in any hour. */
const ADDRESS_MS = 660_000;
const PER_ADDRESS = 2;
/** Seven at once, then one every 20 minutes: at most 10 in any hour from one network. */
const NETWORK_MS = 8_400_000;
const PER_NETWORK = 7;
/** The same for everybody together: at most 1,000 in any hour. */
const PER_SERVER = 500;

/** Counts a letter to the mailbox of `email` that somebody at `address` asks for. Throws: 429. */
export async function limitMail(
  { coord, secrets, events }: Pick<Tools, "coord" | "secrets" | "events">,
  email: string,
  address: string,
): Promise<void> {
  const refuse = (retryAfterMs: number) => {
    events.rateLimited({ limit: "mail", address });
    throw faults.tooMany(retryAfterMs);
  };
  const recipient = secrets.hash(`mail ${mailboxOf(email)}`);
  const network = await coord.count(`mail:network:${limitKey(address)}`, NETWORK_MS, PER_NETWORK);
  if (!network.allowed) refuse(network.retryAfterMs);
  if (!(await coord.remember(`mail:again:${recipient}`, AGAIN_MS))) refuse(AGAIN_MS);
  const letters = await coord.count(`mail:address:${recipient}`, ADDRESS_MS, PER_ADDRESS);
  if (!letters.allowed) refuse(letters.retryAfterMs);
  const all = await coord.count("mail:server", HOUR_MS, PER_SERVER);
  if (!all.allowed) refuse(all.retryAfterMs);
}
