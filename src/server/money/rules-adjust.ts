// Changes of a balance by hand: of what an account has, or of what a token may spend. Pure, part of rules.ts.
import { givenQuota } from "./bought.ts";
import type { Adjusted, Adjustment } from "./operations.ts";
import type { LogNote } from "./partner-operations.ts";
import type { TokenBook, UserBook } from "./rows.ts";
import { balanceFault, type Desk, exhaustToken, reviveToken } from "./rules-booking.ts";
import { noteBought } from "./rules-entries.ts";
import { amountText, noteChange } from "./rules-notes.ts";
import { payDebt } from "./rules-partner.ts";

/**
 * Changes a balance, with an entry that names the actor and the reason (requirements M22). What an administrator adds pays debt first, like
 * all that comes in (requirements Y36); `after` is told without that.
 */
export function adjust(desk: Desk, adjustment: Adjustment, operationId: string): Adjusted {
  if (desk.booked.has(operationId)) return { outcome: "repeated" };
  const user = desk.users.get(adjustment.userId);
  const tokenId = adjustment.kind === "token-adjust" ? (adjustment.tokenId ?? 0) : 0;
  const token = desk.tokens.get(tokenId);
  if (!user || (adjustment.kind === "token-adjust" && token?.payerId !== user.id))
    return { outcome: "not_found" };
  const before = token ? token.remainQuota : user.quota;
  const after = "target" in adjustment.quota ? adjustment.quota.target : before + adjustment.quota.delta;
  const fault = balanceFault(before, after);
  if (fault) return { outcome: fault };
  const change = after - before;
  const { kind, actorId, reason: detail, log } = adjustment;
  const [amount, tokenAmount] = token ? [0n, change] : [change, 0n];
  const entry = { createdAt: desk.nowSec, kind, userId: user.id, tokenId, channelId: 0, amount, tokenAmount };
  const written = { ...entry, requestId: operationId, shortfall: 0n, actorId, detail };
  desk.changes.ledger.push(written);
  desk.booked.set(operationId, written);
  if (token) setToken(desk, token, after);
  else {
    user.quota = after;
    noteBought(desk, user, givenQuota(change));
  }
  tell(desk, user, { log, before, after });
  if (!token && change > 0n) payDebt(desk, user, { operationId, display: log?.display });
  return { outcome: "done", before, after };
}

function setToken(desk: Desk, token: TokenBook, after: bigint): void {
  token.remainQuota = after;
  reviveToken(token);
  exhaustToken(token);
  desk.changes.tokens.add(token);
}

/** Lets the user know of an adjustment, when the order says so. */
function tell(
  desk: Desk,
  user: UserBook,
  { log, before, after }: { log: LogNote | undefined; before: bigint; after: bigint },
): void {
  if (!log) return;
  const text = (amount: bigint) => amountText(amount, log.display);
  noteChange(desk, user, { log, before, after, text, quota: after - before });
}
