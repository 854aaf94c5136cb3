// What of limits is used at a moment, as the ledger would judge it. Reads rows that were loaded; pure.
import { holderOf, isCalendar } from "#contract/limit-words.ts";
import type { LimitRow, LimitWindowRow } from "#server/store/limits.ts";
import { limitBook, windowBook } from "./limit-row-codec.ts";
import type { WindowRest } from "./operations.ts";
import { addWindow, noLimits } from "./rows.ts";
import { effectiveAmount, resetOf, restOf as restOfUsage, usageOf } from "./rules-limits.ts";
import { calendarSpan, NEVER } from "./windows.ts";

export interface LimitState {
  /** What the limit allows, with a boost that is running. */
  readonly amount: bigint;
  readonly used: bigint;
  /** Of `used`: set aside by calls that run. */
  readonly reserved: bigint;
  /** Seconds; 0 = its window begins with the first call, and none came yet, or it never ends. */
  readonly resetsAt: number;
}

interface Moment {
  readonly userId: number;
  readonly zone: string;
  readonly nowSec: number;
}

/** What a limit allows at a moment, with a boost that is running. */
export function amountAt(
  row: Pick<LimitRow, "amount" | "boost_amount" | "boost_until">,
  nowSec: number,
): bigint {
  const boost = { boostAmount: BigInt(row.boost_amount), boostUntil: row.boost_until };
  return effectiveAmount({ amount: BigInt(row.amount), ...boost }, nowSec);
}

/** What is used of a limit, for one of its holders; undefined = it is not counted by window. */
export function stateOf(
  row: LimitRow,
  windows: readonly LimitWindowRow[],
  { userId, zone, nowSec }: Moment,
): LimitState | undefined {
  const rule = limitBook(row);
  if (!rule) return undefined;
  const { limits, ref } = deskOf(row, windows, userId);
  const { amount, used, book } = usageOf({ limits, nowSec }, { rule, ref, zone });
  const resetsAt =
    book === undefined ? unusedUntil(row, zone, nowSec) : resetOf({ rule, book, zone, nowSec, excess: 1n });
  return { amount, used, reserved: book?.reserved ?? 0n, resetsAt: resetsAt === NEVER ? 0 : resetsAt };
}

/** A day ends at midnight, whether a call came or not. */
function unusedUntil({ time_window: window, anchor }: LimitRow, zone: string, nowSec: number): number {
  return isCalendar(window) ? calendarSpan(window, { zone, anchor }, nowSec).end : 0;
}

/** What is left of a limit for one of its holders, as a reservation would be told; undefined = it is not counted by window. */
export function restOf(
  row: LimitRow,
  windows: readonly LimitWindowRow[],
  moment: Moment,
): WindowRest | undefined {
  const rule = limitBook(row);
  if (!rule) return undefined;
  const { userId, zone, nowSec } = moment;
  const { limits, ref } = deskOf(row, windows, userId);
  const desk = { limits, nowSec };
  return restOfUsage(desk, usageOf(desk, { rule, ref, zone }), zone);
}

function deskOf({ id, subject }: LimitRow, windows: readonly LimitWindowRow[], userId: number) {
  const limits = noLimits();
  for (const window of windows) if (window.limit_id === id) addWindow(limits, windowBook(window));
  return { limits, ref: { limitId: id, holder: holderOf(subject, userId) } };
}
