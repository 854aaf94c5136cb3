// Limits that are counted by window, in the ledger: all of a call's are judged, and all of them or none set aside (requirements L07). What
// was set aside is settled and given back where it was taken, whatever is configured by then. Pure, part of rules.ts.
import { isCalendar } from "#contract/limit-words.ts";
import type { LimitRefusal, ReserveOrder, WindowRest } from "./operations.ts";
import {
  addWindow,
  type Changes,
  findWindow,
  type Hold,
  holderKey,
  type LimitBook,
  type LimitBooks,
  type LimitRef,
  type Reservation,
  type WindowBook,
} from "./rows.ts";
import { calendarSpan, NEVER, type Rolling, rollingOf, SESSION_SEC } from "./windows.ts";

type Limited = Pick<ReserveOrder, "amount" | "limits" | "zone">;
/** The parts of the desk that limits are decided by. */
interface LimitDesk {
  readonly limits: LimitBooks;
  readonly nowSec: number;
}

interface Desk extends LimitDesk {
  readonly changes: Pick<Changes, "windows">;
}

/** What a limit allows now, with what it was raised by for a while. */
export function effectiveAmount(
  { amount, boostAmount, boostUntil }: Pick<LimitBook, "amount" | "boostAmount" | "boostUntil">,
  nowSec: number,
): bigint {
  return nowSec < boostUntil ? amount + boostAmount : amount;
}

/** What a limit has for a call of this moment. */
export interface LimitUsage {
  readonly ref: LimitRef;
  readonly rule: LimitBook;
  /** What the limit allows. */
  readonly amount: bigint;
  used: bigint;
  /** Its window; undefined where nothing is counted in it yet. */
  book: WindowBook | undefined;
}

/** The limits of a call, each looked up once for all that is decided by it; one that was removed since the caller's were read is passed over. */
export function usagesOf(desk: LimitDesk, { limits, zone }: Pick<Limited, "limits" | "zone">): LimitUsage[] {
  const usages: LimitUsage[] = [];
  for (const ref of limits ?? []) {
    const rule = desk.limits.rules.get(ref.limitId);
    if (rule) usages.push(usageOf(desk, { rule, ref, zone }));
  }
  return usages;
}

export function usageOf(
  desk: LimitDesk,
  { rule, ref, zone }: { rule: LimitBook; ref: LimitRef; zone: string | undefined },
): LimitUsage {
  const newest = desk.limits.current.get(holderKey(ref));
  const isThis = newest !== undefined && newest.start === startOf(desk, { rule, book: newest, zone });
  const used = isThis ? spentOf(rule, newest, desk.nowSec) + newest.reserved : 0n;
  return { ref, rule, amount: effectiveAmount(rule, desk.nowSec), used, book: isThis ? newest : undefined };
}

/** The first limit that the call does not fit into; undefined = it fits into all. */
export function judgeLimits(
  desk: LimitDesk,
  usages: readonly LimitUsage[],
  order: Limited,
): LimitRefusal | undefined {
  for (const usage of usages) {
    const refusal = usage.rule.isSoft ? undefined : judgeLimit(desk, usage, order);
    if (refusal) return refusal;
  }
  return undefined;
}

/** Why the call does not fit into a limit; undefined = it does. */
function judgeLimit(
  { nowSec }: LimitDesk,
  { ref, rule, amount, used, book }: LimitUsage,
  { amount: asked, zone }: Limited,
): LimitRefusal | undefined {
  const need = rule.isCalls ? 1n : asked;
  if (used + need <= amount) return undefined;
  const resetsAt = resetOf({ rule, book, zone, nowSec, excess: used + need - amount });
  return { ...ref, amount, used, resetsAt, canFit: need <= amount };
}

/**
 * Of what is left in each limit the least: of those that count calls, and of budgets. Of equal ones the one that takes longest, then the
 * first.
 */
export function tightestRests(
  desk: LimitDesk,
  usages: readonly LimitUsage[],
  zone: string | undefined,
): readonly WindowRest[] {
  let calls: LimitUsage | undefined;
  let budget: LimitUsage | undefined;
  for (const usage of usages) {
    if (usage.rule.isCalls) calls = tighter(desk, { known: calls, usage, zone });
    else budget = tighter(desk, { known: budget, usage, zone });
  }
  return [calls, budget].filter((usage) => usage !== undefined).map((usage) => restOf(desk, usage, zone));
}

function tighter(
  { nowSec }: LimitDesk,
  { known, usage, zone }: { known: LimitUsage | undefined; usage: LimitUsage; zone: string | undefined },
): LimitUsage {
  if (known === undefined) return usage;
  const [least, left] = [leftOf(known), leftOf(usage)];
  if (left !== least) return left < least ? usage : known;
  return nextReset(usage, zone, nowSec) > nextReset(known, zone, nowSec) ? usage : known;
}

/** What is left in a limit. */
export function restOf({ nowSec }: LimitDesk, usage: LimitUsage, zone: string | undefined): WindowRest {
  const { rule, amount } = usage;
  const resetsAt = nextReset(usage, zone, nowSec);
  return { limitId: rule.id, isCalls: rule.isCalls, amount, left: leftOf(usage), resetsAt };
}

function leftOf({ used, amount }: LimitUsage): bigint {
  return used < amount ? amount - used : 0n;
}

function nextReset({ rule, book }: LimitUsage, zone: string | undefined, nowSec: number): number {
  return resetOf({ rule, book, zone, nowSec, excess: 1n });
}

/** What of a window's bookings counts now. */
export function spentOf(rule: Pick<LimitBook, "window">, book: WindowBook, nowSec: number): bigint {
  const rolling = rollingOf(rule.window);
  if (rolling === undefined) return book.spent;
  let spent = 0n;
  for (const [slice, booked] of book.slices) if (counts(rolling, slice, nowSec)) spent += booked;
  return spent;
}

function counts({ length, width }: Rolling, slice: number, nowSec: number): boolean {
  return slice + width + length > nowSec;
}

/**
 * The start of the window that a call of this moment belongs to. A clock that was set back opens no window again that is over
 * (requirements F08), and what was counted before the limit was changed stays behind.
 */
function startOf(
  desk: LimitDesk,
  { rule, book, zone }: { rule: LimitBook; book: WindowBook | undefined; zone: string | undefined },
): number {
  const { window, since, anchor } = rule;
  const last = book !== undefined && book.start >= since ? book.start : undefined;
  if (window === "session") {
    return last !== undefined && desk.nowSec < last + SESSION_SEC ? last : Math.max(desk.nowSec, since);
  }
  // Of "total" and the rolling ones all belongs to one window.
  if (!isCalendar(window)) return since;
  const { start } = calendarSpan(window, { zone: zone ?? "UTC", anchor }, desk.nowSec);
  return Math.max(start, since, last ?? 0);
}

/** When the window of a limit is over; of a rolling one, when it has forgotten `excess`. Seconds. */
export function resetOf({
  rule,
  book,
  zone,
  nowSec,
  excess,
}: {
  rule: LimitBook;
  book: WindowBook | undefined;
  zone: string | undefined;
  nowSec: number;
  excess: bigint;
}): number {
  const { window, anchor } = rule;
  if (isCalendar(window)) return calendarSpan(window, { zone: zone ?? "UTC", anchor }, nowSec).end;
  if (window === "session") return (book?.start ?? nowSec) + SESSION_SEC;
  const rolling = rollingOf(window);
  if (rolling === undefined) return NEVER;
  let left = excess;
  for (const [slice, booked] of [...(book?.slices ?? [])].sort(([a], [b]) => a - b)) {
    if (!counts(rolling, slice, nowSec)) continue;
    left -= booked;
    if (left <= 0n) return slice + rolling.width + rolling.length;
  }
  // The rest is held by calls that are running.
  return nowSec + rolling.width;
}

/** Sets a call aside in all its limits. It was judged before: nothing is refused here. */
export function holdAll(
  desk: Desk,
  usages: readonly LimitUsage[],
  { amount, zone }: Pick<Limited, "amount" | "zone">,
): readonly Hold[] {
  const holds = usages.map((usage) => {
    const { rule, ref } = usage;
    const need = rule.isCalls ? 1n : amount;
    const book = usage.book ?? windowOf(desk, { rule, ref, zone });
    book.reserved += need;
    usage.book = book;
    usage.used += need;
    desk.changes.windows.add(book);
    const rolling = rollingOf(rule.window);
    return holdIn(
      book,
      rule.isCalls,
      rolling === undefined ? 0 : desk.nowSec - (desk.nowSec % rolling.width),
    );
  });
  return sharedList(holds);
}

/** Calls that hold the same one after another share the list, and with it the text that is stored of it. */
function sharedList(holds: readonly Hold[]): readonly Hold[] {
  const [first] = holds;
  if (first === undefined) return holds;
  const { list } = first;
  if (list?.length === holds.length && holds.every((hold, at) => hold === list[at])) return list;
  first.list = holds;
  return holds;
}

/** Calls that take the same of a window share what says so. */
function holdIn(book: WindowBook, isCalls: boolean, slice: number): Hold {
  const last = book.hold;
  if (last !== undefined && last.isCalls === isCalls && last.slice === slice) return last;
  const { limitId, holder, start } = book;
  book.hold = { limitId, holder, start, isCalls, slice };
  return book.hold;
}

/** The window of this moment; the first call in it makes it, and no job has to reset anything. */
function windowOf(
  desk: Desk,
  { rule, ref, zone }: { rule: LimitBook; ref: LimitRef; zone: string | undefined },
): WindowBook {
  const book = desk.limits.current.get(holderKey(ref));
  const start = startOf(desk, { rule, book, zone });
  if (book?.start === start) return book;
  if (book) {
    book.isCurrent = false;
    desk.changes.windows.add(book);
  }
  const { limitId, holder } = ref;
  const made = { limitId, holder, start, spent: 0n, reserved: 0n, slices: new Map(), isCurrent: true };
  addWindow(desk.limits, made);
  return made;
}

/** Sets so much more aside, in all limits or in none. Returns the first that has no room for it. */
export function extendHolds(
  desk: Desk,
  { holds }: Reservation,
  { more, zone }: { more: bigint; zone: string | undefined },
): LimitRefusal | undefined {
  const raised = holds.filter(({ isCalls }) => !isCalls);
  for (const hold of raised) {
    const rule = desk.limits.rules.get(hold.limitId);
    const book = findWindow(desk.limits, hold);
    if (!rule || !book || rule.isSoft || rule.since > hold.start) continue;
    const used = spentOf(rule, book, desk.nowSec) + book.reserved;
    const allowed = effectiveAmount(rule, desk.nowSec);
    if (used + more <= allowed) continue;
    // The window that it began in may be over by now.
    const nowSec = rollingOf(rule.window) === undefined ? hold.start : desk.nowSec;
    const resetsAt = resetOf({ rule, book, zone, nowSec, excess: used + more - allowed });
    const { limitId, holder } = hold;
    // As far as it came it did fit: more than it needs may have been asked for.
    return { limitId, holder, amount: allowed, used, resetsAt, canFit: true };
  }
  for (const hold of raised) change(desk, hold, (book) => (book.reserved += more));
  return undefined;
}

interface Swap {
  readonly take: readonly LimitRef[];
  readonly drop: readonly LimitRef[];
  readonly zone: string;
}

/**
 * Counts an open call in other windows in place of some, all of it or nothing; a repetition changes nothing. Here soft limits refuse too: a
 * channel's limit is soft, so that an answer that has begun may go beyond it.
 */
export function swapHolds(
  desk: LimitDesk & { readonly changes: Pick<Changes, "windows" | "planned"> },
  reservation: Reservation,
  { take, drop, zone }: Swap,
): LimitRefusal | undefined {
  const { amount, holds } = reservation;
  const isIn = (refs: readonly LimitRef[], { limitId, holder }: LimitRef) =>
    refs.some((ref) => ref.limitId === limitId && ref.holder === holder);
  const limits = take.filter((ref) => !isIn(holds, ref));
  const order = { amount, limits, zone };
  const usages = usagesOf(desk, order);
  for (const usage of usages) {
    const refusal = judgeLimit(desk, usage, order);
    if (refusal) return refusal;
  }
  releaseHolds(desk, { holds: holds.filter((hold) => isIn(drop, hold)), amount });
  const kept = holds.filter((hold) => !isIn(drop, hold));
  reservation.holds = [...kept, ...holdAll(desk, usages, order)];
  desk.changes.planned.add(reservation);
  return undefined;
}

/** Books a call in the windows it was reserved in: what was set aside goes, what it cost stays. */
export function bookHolds(desk: Desk, { holds, amount }: Reservation, charged: bigint): void {
  for (const hold of holds) {
    change(desk, hold, (book) => {
      const cost = hold.isCalls ? 1n : charged;
      book.reserved -= hold.isCalls ? 1n : amount;
      book.spent += cost;
      if (hold.slice !== 0) addToSlice(desk, book, hold.slice, cost);
    });
  }
}

function addToSlice(
  { limits, nowSec }: LimitDesk,
  { limitId, slices }: WindowBook,
  slice: number,
  cost: bigint,
): void {
  slices.set(slice, (slices.get(slice) ?? 0n) + cost);
  const rule = limits.rules.get(limitId);
  const rolling = rule && rollingOf(rule.window);
  if (rolling === undefined) return;
  for (const old of slices.keys()) if (!counts(rolling, old, nowSec)) slices.delete(old);
}

/** Gives back what was set aside. */
export function releaseHolds(desk: Desk, { holds, amount }: Pick<Reservation, "holds" | "amount">): void {
  for (const hold of holds) change(desk, hold, (book) => (book.reserved -= hold.isCalls ? 1n : amount));
}

/** Changes the window of a hold; one whose limit was removed meanwhile is gone. */
function change(desk: Desk, hold: Hold, act: (book: WindowBook) => void): void {
  const book = findWindow(desk.limits, hold);
  if (!book) return;
  act(book);
  desk.changes.windows.add(book);
}
