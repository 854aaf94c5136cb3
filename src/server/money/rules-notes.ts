// Entries of the user's log that are no calls: top-ups, gifts, changes by hand (requirements W10.7). Pure, part of rules.ts.
import type { QuotaDisplay } from "#contract/quota.ts";
import { NO_CALL } from "#server/store/no-call.ts";
import type { LogNote } from "./partner-operations.ts";
import type { UserBook } from "./rows.ts";
import type { Desk } from "./rules-booking.ts";
import { LogType } from "./states.ts";

/** Quota as the log writes it: `＄0.200000 额度`, or `100000 点额度` without currency. */
export function amountText(amount: bigint, { inCurrency, quotaPerUnit }: QuotaDisplay): string {
  return inCurrency ? `＄${(Number(amount) / quotaPerUnit).toFixed(6)} 额度` : `${amount} 点额度`;
}

/** Writes an entry for a user; `quota` is what it brought, 0 when it is about something else. */
export function note(
  { changes, nowSec }: Desk,
  user: UserBook,
  { type, content, quota }: { type: number; content: string; quota: bigint },
): void {
  changes.logs.push({
    ...NO_CALL,
    user_id: user.id,
    created_at: nowSec,
    type,
    content,
    username: user.username,
    quota: Number(quota),
  });
}

/** Tells a user of a balance that changed, in the words of the note. */
export function noteChange(
  desk: Desk,
  user: UserBook,
  change: { log: LogNote; before: bigint; after: bigint; text(amount: bigint): string; quota: bigint },
): void {
  const { log, before, after, text, quota } = change;
  const content = log.content
    .replaceAll("{amount}", text(after < before ? before - after : after - before))
    .replaceAll("{before}", text(before))
    .replaceAll("{after}", text(after));
  // A correction is no top-up: only those carry their amount.
  note(desk, user, { type: log.type, content, quota: log.type === LogType.topup ? quota : 0n });
}
