// When the second factors of a super administrator may be removed by another: a day after it was asked for, and not for ever
// (requirements I34). No writing here.
import { DAY_SEC } from "#server/clock.ts";
import type { FactorResetRow } from "#server/store/factor-resets.ts";

/** How long a request that is due can be carried out; an old one, which everybody forgot, is none. Unit: seconds. */
const OPEN_SEC = 7 * DAY_SEC;

/** From when on a request may be carried out, in seconds. */
export function resetDueAt({ asked_at }: Pick<FactorResetRow, "asked_at">): number {
  return asked_at + DAY_SEC;
}

export function isResetOver(row: Pick<FactorResetRow, "asked_at">, nowSec: number): boolean {
  return nowSec >= resetDueAt(row) + OPEN_SEC;
}
