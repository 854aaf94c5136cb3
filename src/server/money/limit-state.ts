// What of limits is used at a moment, as the ledger would judge it. Reads rows that were loaded; pure.
import { holderOf } from "#contract/limit-words.ts";
import type { LimitRow, LimitWindowRow } from "#server/store/limits.ts";
import { limitBook, windowBook } from "./limit-row-codec.ts";
import { addWindow, noLimits } from "./rows.ts";
import { resetOf, usageOf } from "./rules-limits.ts";
import { NEVER } from "./windows.ts";

export interface LimitState {
  /** What the limit allows, with a boost that is running. */
  readonly amount: bigint;
  readonly used: bigint;
  /** Of `used`: set aside by calls that run. */
  readonly reserved: bigint;
  /** Seconds; 0 = nothing is counted yet, or it never ends. */
  readonly resetsAt: number;
}

/** What is used of a limit, for one of its holders; undefined = it is not counted by window. */
export function stateOf(
  row: LimitRow,
  windows: readonly LimitWindowRow[],
  { userId, zone, nowSec }: { userId: number; zone: string; nowSec: number },
): LimitState | undefined {
  const rule = limitBook(row);
  if (!rule) return undefined;
  const limits = noLimits();
  const ref = { limitId: row.id, holder: holderOf(row.subject, userId) };
  for (const window of windows) if (window.limit_id === row.id) addWindow(limits, windowBook(window));
  const { amount, used, book } = usageOf({ limits, nowSec }, { rule, ref, zone });
  const resetsAt = book === undefined ? 0 : resetOf({ rule, book, zone, nowSec, excess: 1n });
  return { amount, used, reserved: book?.reserved ?? 0n, resetsAt: resetsAt === NEVER ? 0 : resetsAt };
}
