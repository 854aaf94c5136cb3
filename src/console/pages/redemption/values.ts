// Form values of a redemption code ⇄ what the contract wants. Pure.
import { type Redemption, RedemptionDraft, type RedemptionUpdate } from "#contract/redemption.ts";

export interface RedemptionValues {
  readonly name: string;
  /** Quota units of each code. */
  readonly quota: number | null;
  /** Codes to make; only when creating. */
  readonly count: number | null;
}

/** Source: requirements B9. */
const DEFAULT_QUOTA = 100_000;
const DEFAULT_COUNT = 1;

export function valuesOf(redemption: Redemption | undefined): RedemptionValues {
  if (redemption === undefined) return { name: "", quota: DEFAULT_QUOTA, count: DEFAULT_COUNT };
  return { name: redemption.name, quota: redemption.quota, count: DEFAULT_COUNT };
}

/** What is sent; quota and count as integers (requirements B5). */
export function draftOf({ name, quota, count }: RedemptionValues): RedemptionDraft {
  return { name: name.trim(), quota: Math.trunc(quota ?? 0), count: Math.trunc(count ?? 0) };
}

export function updateOf(id: number, { name, quota }: RedemptionValues): RedemptionUpdate {
  return { id, name: name.trim(), quota: Math.trunc(quota ?? 0) };
}

export const { name: NameRule, quota: QuotaRule, count: CountRule } = RedemptionDraft.shape;
