// Entries of the ledger that are no calls: what is credited to a user, with the entry that says why. Pure, part of rules.ts.
import { type Bought, changed, givenQuota } from "./bought.ts";
import type { UserBook } from "./rows.ts";
import type { Desk } from "./rules-booking.ts";

export interface EntryParts {
  readonly kind: string;
  readonly operationId: string;
  readonly actorId: number;
  readonly amount?: bigint;
  readonly yuanMicro?: bigint;
  /** What was to be taken and was not there. */
  readonly shortfall?: bigint;
  readonly redemptionId?: number;
  readonly detail?: string;
}

/** Adds quota and its entry; `bought` = what is known of it, and of the money that comes or goes with it. Absent: it is given, or goes without any. */
export function credit(
  desk: Desk,
  user: UserBook,
  parts: EntryParts & { readonly amount: bigint; readonly bought?: Bought },
): void {
  const { amount, bought = givenQuota(amount) } = parts;
  user.quota += amount;
  noteBought(desk, user, bought);
  entry(desk, user, parts);
}

/** Notes what quota or money that came into a wallet, or left it, changes of what is left in it. */
export function noteBought(desk: Desk, user: UserBook, change: Bought): void {
  user.bought = changed(user.bought, change);
  desk.changes.users.add(user);
}

/** Writes an entry without touching a balance. */
export function entry(desk: Desk, user: UserBook, parts: EntryParts): void {
  const { kind, operationId, actorId, amount = 0n, yuanMicro = 0n, redemptionId = 0, detail = "" } = parts;
  const written = {
    createdAt: desk.nowSec,
    kind,
    userId: user.id,
    tokenId: 0,
    channelId: 0,
    amount,
    tokenAmount: 0n,
    requestId: operationId,
    shortfall: parts.shortfall ?? 0n,
    actorId,
    detail,
    redemptionId,
    yuanMicro,
  };
  desk.changes.partnerLedger.push(written);
  desk.booked.set(operationId, written);
}
