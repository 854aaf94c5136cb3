// Form values of a redemption code ⇄ what the contract wants. Pure.
import { type Redemption, RedemptionDraft, type RedemptionUpdate } from "#contract/redemption.ts";

export interface RedemptionValues {
  readonly name: string;
  /** Quota units of each code. */
  readonly quota: number | null;
  /** What each is sold for, in yuan; null = as codes are sold on the average. */
  readonly price: number | null;
  /** Codes to make; only when creating. */
  readonly count: number | null;
}

/** Source: requirements B9. */
const DEFAULT_QUOTA = 100_000;
const DEFAULT_COUNT = 1;
const FEN = 100;

export function valuesOf(redemption: Redemption | undefined): RedemptionValues {
  if (redemption === undefined) return { name: "", quota: DEFAULT_QUOTA, price: null, count: DEFAULT_COUNT };
  const { name, quota, price_minor } = redemption;
  return { name, quota, price: price_minor < 0 ? null : price_minor / FEN, count: DEFAULT_COUNT };
}

/** What is sent; quota and count as integers (requirements B5). */
export function draftOf({ count, ...values }: RedemptionValues): RedemptionDraft {
  return { ...worthOf(values), count: Math.trunc(count ?? 0) };
}

export function updateOf(id: number, values: RedemptionValues): RedemptionUpdate {
  return { id, ...worthOf(values) };
}

function worthOf({ name, quota, price }: Omit<RedemptionValues, "count">) {
  const price_minor = price === null ? -1 : Math.round(price * FEN);
  return { name: name.trim(), quota: Math.trunc(quota ?? 0), price_minor };
}

export const { name: NameRule, quota: QuotaRule, count: CountRule } = RedemptionDraft.shape;
