// Limits in words, as more than one page needs them. Pure.
import { formatCount } from "#console/base/format.ts";
import type { Limit } from "#contract/limit.ts";
import type { LimitKind } from "#contract/limit-words.ts";
import { formatQuota, type QuotaDisplay } from "#contract/quota.ts";

type QuotaKind = Extract<LimitKind, "quota" | "cost">;

/** Kinds whose amount is quota, so money; all others are numbers of something. */
export function isOfQuota(kind: LimitKind): kind is QuotaKind {
  return kind === "quota" || kind === "cost";
}

/** What follows the number of a limit that is not quota. */
export const UNITS: Readonly<Record<Exclude<LimitKind, QuotaKind>, string>> = {
  calls: "次",
  rpm: "次",
  tpm: "Token",
  input_tpm: "Token",
  output_tpm: "Token",
  running: "个",
};

/** An amount of a limit, or what is used of it. */
export function amountText(kind: LimitKind, amount: number, display: QuotaDisplay): string {
  if (!isOfQuota(kind)) return formatCount(amount);
  // Two digits would call a limit of a tenth of a cent nothing.
  const isTiny = amount > 0 && amount < display.quotaPerUnit / 100;
  return formatQuota(amount, display, isTiny ? 6 : 2);
}

type Raised = Pick<Limit, "amount" | "boost_amount" | "boost_until">;

/** Seconds. */
export function isRaised({ boost_until }: Pick<Raised, "boost_until">, nowSec: number): boolean {
  return boost_until > nowSec;
}

/** What the limit allows now, with what it was raised by. Seconds. */
export function allowedNow(limit: Raised, nowSec: number): number {
  return isRaised(limit, nowSec) ? limit.amount + limit.boost_amount : limit.amount;
}
