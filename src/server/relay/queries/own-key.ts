// What a key may read of itself: balance and the limits that bind it (requirements L11). Never tells of other tokens or of the owner.
import type { CalendarWindow } from "#contract/limit-words.ts";
import type { Context } from "#server/context.ts";
import { LIMITS } from "#server/limits/table.ts";
import { type Calendar, calendarSpan } from "#server/money/windows.ts";
import type { Caller } from "#server/relay/admission/admit.ts";
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import type { OwnPart } from "#server/relay/http/routes.ts";
import { statLogs } from "#server/store/log-stats.ts";
import { entriesOfToken } from "#server/store/log-tags.ts";
import { findToken } from "#server/store/tokens.ts";
import { othersOf, readsOf, windowsOf } from "./own-limits.ts";

type OwnParts = Pick<Context, "db" | "options" | "limits" | "clock">;
type Token = NonNullable<Awaited<ReturnType<typeof findToken>>>;

/** Answers one of the three calls. Throws: LocalError 429 after 30 in a minute, 401 when the token is gone. */
export async function answerOwn(ctx: OwnParts, part: OwnPart, caller: Caller, address: string) {
  const counting = { limit: LIMITS.ownKey, subject: String(caller.tokenId) };
  const { allowed, retryAfterMs } = await ctx.limits.check(counting, address);
  if (!allowed) throw new LocalError(localErrors.tooMany(retryAfterMs));
  const token = await findToken(ctx.db, caller.tokenId);
  if (!token) throw new LocalError(localErrors.keyInvalid());
  // Ours, in each form.
  const reads = await readsOf(ctx, caller);
  const more = { windows: await windowsOf(ctx, caller, reads), limits: await othersOf(ctx, caller, reads) };
  if (part === "token") return ofToken(token, more);
  return part === "key" ? ofKey(ctx, token, more) : ofUsage(ctx, token, more);
}

/** New API's form (QuantumNous/new-api, GET /api/usage/token): quota units. */
function ofToken(token: Token, more: object) {
  const { name, remain_quota, used_quota, unlimited_quota, models, expired_time } = token;
  const names = models.split(",").filter((model) => model.trim() !== "");
  return {
    code: true,
    message: "ok",
    data: {
      object: "token_usage",
      name,
      total_granted: remain_quota + used_quota,
      total_used: used_quota,
      total_available: remain_quota,
      unlimited_quota: unlimited_quota === 1,
      model_limits: Object.fromEntries(names.map((model) => [model.trim(), true])),
      model_limits_enabled: names.length > 0,
      expires_at: Math.max(0, expired_time),
      ...more,
    },
  };
}

/** OpenRouter's form: dollars; null = without a limit. */
async function ofKey(ctx: OwnParts, token: Token, more: object) {
  const unit = ctx.options.get("QuotaPerUnit");
  const isUnlimited = token.unlimited_quota === 1;
  const entries = await entriesOfToken(ctx.db, token);
  const usedIn = async (window: CalendarWindow) => {
    const { start } = calendarSpan(window, calendarOf(ctx), ctx.clock.seconds());
    return (await statLogs(ctx.db, { ...entries, start })).quota / unit;
  };
  const [usage_daily, usage_weekly, usage_monthly] = await Promise.all(
    (["day", "week", "month"] as const).map(usedIn),
  );
  return {
    data: {
      label: token.name,
      limit: isUnlimited ? null : (token.remain_quota + token.used_quota) / unit,
      limit_remaining: isUnlimited ? null : token.remain_quota / unit,
      limit_reset: null,
      usage: token.used_quota / unit,
      usage_daily,
      usage_weekly,
      usage_monthly,
      is_free_tier: false,
      ...more,
    },
  };
}

/** Days, weeks and months begin where those of budgets do. */
function calendarOf({ options }: Pick<OwnParts, "options">): Calendar {
  return { zone: options.get("BudgetTimeZone"), anchor: 1 };
}

/** Quota units. */
function ofUsage({ options }: OwnParts, token: Token, more: object) {
  const { name, status, remain_quota, used_quota, unlimited_quota, expired_time } = token;
  return {
    object: "key_usage",
    name,
    status,
    used: used_quota,
    remaining: unlimited_quota === 1 ? null : remain_quota,
    quota_per_unit: options.get("QuotaPerUnit"),
    expires_at: expired_time < 0 ? null : expired_time,
    ...more,
  };
}
