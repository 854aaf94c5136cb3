// The old billing API of OpenAI for clients that still use it (requirements W8.6, T20.9): a token's or its user's quota in
// dollars or in units. A key that is used up or expired is answered too, of itself alone (requirements L11). Reads only.

import { TokenStatus } from "#contract/token.ts";
import type { Context } from "#server/context.ts";
import { LIMITS } from "#server/limits/table.ts";
import type { Caller } from "#server/relay/admission/admit.ts";
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import type { BillingPart } from "#server/relay/http/routes.ts";
import { findToken } from "#server/store/tokens.ts";
import { getUser } from "#server/store/users.ts";

export type BillingParts = Pick<Context, "db" | "options" | "limits" | "config" | "clock">;

/** The family's number for an unlimited token. */
const UNLIMITED = 100_000_000;

interface Account {
  readonly granted: number;
  readonly used: number;
  readonly isUnlimited: boolean;
  /** Seconds; 0 = never. */
  readonly accessUntil: number;
}

/** Answers one of the two calls. Throws: LocalError 429 over the budget of management calls, 401 when the token is gone. */
export async function answerBilling(ctx: BillingParts, part: BillingPart, caller: Caller, address: string) {
  await limit(ctx, address);
  const token = await findToken(ctx.db, caller.tokenId);
  if (!token) throw new LocalError(localErrors.keyInvalid());
  // What is in a team's wallet is not told to each of its members, and a key that opens nothing any more tells nothing of the account.
  const isOfTeam = caller.payerId !== caller.userId;
  const isOwn = isOfTeam || ctx.options.get("DisplayTokenStatEnabled") || isSpent(token, ctx.clock.seconds());
  const account = isOwn ? ofToken(token) : await ofUser(ctx, caller);
  const unit = ctx.options.get("DisplayInCurrencyEnabled") ? ctx.options.get("QuotaPerUnit") : 1;
  if (part === "usage") return { object: "list", total_usage: (account.used / unit) * 100 };
  const amount = account.isUnlimited ? UNLIMITED : account.granted / unit;
  return {
    object: "billing_subscription",
    has_payment_method: true,
    soft_limit_usd: amount,
    hard_limit_usd: amount,
    system_hard_limit_usd: amount,
    access_until: account.accessUntil,
  };
}

type Token = NonNullable<Awaited<ReturnType<typeof findToken>>>;

/** Expired or used up. */
function isSpent({ status, expired_time, unlimited_quota, remain_quota }: Token, nowSec: number): boolean {
  const isEnded = expired_time !== -1 && expired_time < nowSec;
  return status !== TokenStatus.enabled || isEnded || (unlimited_quota === 0 && remain_quota <= 0);
}

function ofToken({ remain_quota, used_quota, unlimited_quota, expired_time }: Token): Account {
  return {
    granted: remain_quota + used_quota,
    used: used_quota,
    isUnlimited: unlimited_quota === 1,
    accessUntil: Math.max(expired_time, 0),
  };
}

async function ofUser({ db }: BillingParts, caller: Caller): Promise<Account> {
  const user = await getUser(db, caller.userId);
  return { granted: user.quota + user.used_quota, used: user.used_quota, isUnlimited: false, accessUntil: 0 };
}

/** These paths share the limit of the management API. */
async function limit({ limits, config }: BillingParts, address: string): Promise<void> {
  const { limit: burst, windowMs } = config.rateLimits.api;
  if (burst === 0) return;
  const { allowed, retryAfterMs } = await limits.check(
    { limit: { ...LIMITS.api, burst, windowMs }, subject: address },
    address,
  );
  if (!allowed) throw new LocalError(localErrors.tooMany(retryAfterMs));
}
