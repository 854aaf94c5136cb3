// Plans as a source of quota in front of the wallet: what a call takes of which period, and in which windows that counts. Pure, part of
// rules.ts. Periods belong to one user: who works on that user's row is alone with them.
import type { PlanWindowKind } from "#contract/plan-terms.ts";
import { MAX_AMOUNT, min } from "./amount.ts";
import { type Bought, NOTHING_BOUGHT, takeOut, together } from "./bought.ts";
import type { PlanRefusal, ReserveOrder } from "./operations.ts";
import type { PeriodBook, PlanPart, PlanWindowBook } from "./plan-rows.ts";
import { type Share, splitCharge, takeInOrder } from "./plan-split.ts";
import { windowSpan } from "./plan-times.ts";
import type { Changes, Reservation, UserBook } from "./rows.ts";

/** The parts of the desk that plans are decided by. */
interface Desk {
  readonly periods: ReadonlyMap<number, PeriodBook>;
  readonly nowSec: number;
  readonly changes: Pick<Changes, "periods" | "planned">;
}

export function isRunning({ startsAt, endsAt, endedAt }: PeriodBook, nowSec: number): boolean {
  return endedAt === 0 && startsAt <= nowSec && nowSec < endsAt;
}

/**
 * The window that a call of this moment belongs to; one that nothing was taken of is not among the period's yet. A clock that was set back
 * opens none again that is over (requirements F08).
 */
function windowAt(period: PeriodBook, kind: PlanWindowKind, nowSec: number): PlanWindowBook {
  const last = period.windows.findLast((window) => window.kind === kind);
  if (last && nowSec < last.end) return last;
  return { kind, ...windowSpan(kind, period, nowSec), spent: 0n, held: 0n };
}

/** What is left of a period, and of each of its windows. */
function roomsOf(period: PeriodBook, windowOf: (kind: PlanWindowKind) => PlanWindowBook | undefined) {
  const windows = period.terms.windows.flatMap(({ kind, quota }) => {
    const window = windowOf(kind);
    return window === undefined
      ? []
      : [{ end: window.end, left: BigInt(quota) - window.spent - window.held }];
  });
  return [{ end: period.endsAt, left: period.quota - period.spent - period.held }, ...windows];
}

function least(rooms: readonly { readonly left: bigint }[]): bigint {
  const left = rooms.reduce((most, room) => min(most, room.left), MAX_AMOUNT);
  return left > 0n ? left : 0n;
}

/** What a plan has for a call of this moment. */
export function freeAt(period: PeriodBook, nowSec: number): bigint {
  return least(roomsOf(period, (kind) => windowAt(period, kind, nowSec)));
}

/** What pays for a call: plans in their order, and the wallet. */
export interface Funding {
  readonly shares: readonly Share<PeriodBook>[];
  readonly wallet: bigint;
  /** Neither plans nor, where it may pay, the wallet. */
  readonly refusal: PlanRefusal | undefined;
}

/** Finds what pays for a call that names these periods. Changes nothing. */
export function fund(
  { periods, nowSec }: Desk,
  { userId, amount }: Pick<ReserveOrder, "userId" | "amount">,
  plans: readonly number[],
): Funding {
  const sources = plans
    .flatMap((id) => periods.get(id) ?? [])
    .filter((period) => period.userId === userId && isRunning(period, nowSec));
  const { shares, rest } = takeInOrder(amount, sources, (period) => freeAt(period, nowSec));
  const mayOverflow = sources.every(({ terms }) => terms.overflow);
  const refusal = rest === 0n || mayOverflow ? undefined : refuse(sources, { amount, nowSec });
  return { shares, wallet: rest, refusal };
}

/** When the first of the plans has room again, and whether the call would fit then. */
function refuse(
  sources: readonly PeriodBook[],
  { amount, nowSec }: { amount: bigint; nowSec: number },
): PlanRefusal {
  const resets = sources.map((period) => {
    const rooms = roomsOf(period, (kind) => windowAt(period, kind, nowSec));
    return Math.max(0, ...rooms.filter(({ left }) => left < amount).map(({ end }) => end));
  });
  const most = sources.map(({ quota, terms }) =>
    terms.windows.reduce((all, window) => min(all, BigInt(window.quota)), quota),
  );
  const canFit = most.reduce((sum, one) => sum + one, 0n) >= amount;
  return { periodIds: sources.map(({ id }) => id), resetsAt: Math.min(...resets), canFit };
}

/** Sets a call aside in its plans. Plans that had nothing stay named: a charge beyond the reservation may find something there. */
export function holdParts(desk: Desk, { shares }: Funding): PlanPart[] {
  return shares.map(({ source, amount }) => {
    const part: PlanPart = { periodId: source.id, amount: 0n, windows: [] };
    hold(desk, part, amount);
    return part;
  });
}

function hold(desk: Desk, part: PlanPart, more: bigint): void {
  take(desk, part, { held: more, spent: 0n });
  part.amount += more;
}

/** Counts in the period and the windows of a part; a part that has none yet gets those of this moment. Returns what the spent quota was bought for. */
function take(desk: Desk, part: PlanPart, { held, spent }: { held: bigint; spent: bigint }): Bought {
  const period = desk.periods.get(part.periodId);
  if (!period || (held === 0n && spent === 0n)) return NOTHING_BOUGHT;
  if (part.amount === 0n) part.windows = openWindows(period, desk.nowSec);
  period.held += held;
  period.spent += spent;
  for (const window of period.windows.filter((one) => isNamed(part, one))) {
    window.held += held;
    window.spent += spent;
  }
  // A window in which calls hold something is never dropped.
  period.windows = period.windows.filter(
    (window, at, all) => window.held > 0n || all.findLastIndex((other) => other.kind === window.kind) === at,
  );
  desk.changes.periods.add(period);
  return takeOut(period, spent);
}

function isNamed({ windows }: PlanPart, { kind, start }: PlanWindowBook): boolean {
  return windows.some((named) => named.kind === kind && named.start === start);
}

function openWindows(period: PeriodBook, nowSec: number): PlanPart["windows"] {
  return period.terms.windows.map(({ kind }) => {
    const window = windowAt(period, kind, nowSec);
    if (!period.windows.includes(window)) period.windows.push(window);
    return { kind, start: window.start };
  });
}

/** What more a call may take of a plan: in the windows it was reserved in, also when they are over (requirements Y48). */
function furtherOf(desk: Desk, part: PlanPart): bigint {
  const period = desk.periods.get(part.periodId);
  if (period?.endedAt !== 0) return 0n;
  if (part.amount === 0n) return isRunning(period, desk.nowSec) ? freeAt(period, desk.nowSec) : 0n;
  const named = period.windows.filter((window) => isNamed(part, window));
  return least(roomsOf(period, (kind) => named.find((window) => window.kind === kind)));
}

/** What plans have set aside for a call. */
export function planned({ parts }: Pick<Reservation, "parts">): bigint {
  return parts.reduce((sum, { amount }) => sum + amount, 0n);
}

/** What the wallet has set aside for it. */
export function walletHeld(reservation: Pick<Reservation, "amount" | "parts">): bigint {
  return reservation.amount - planned(reservation);
}

function mayOverflow(desk: Desk, parts: readonly PlanPart[]): boolean {
  return parts.every(({ periodId }) => desk.periods.get(periodId)?.terms.overflow !== false);
}

/** How so much more would be set aside; undefined = plans have not enough, and the wallet is not to pay. Changes nothing. */
export function furtherShares(
  desk: Desk,
  { parts }: Reservation,
  more: bigint,
): { readonly shares: readonly Share<PlanPart>[]; readonly wallet: bigint } | undefined {
  const { shares, rest } = takeInOrder(more, parts, (part) => furtherOf(desk, part));
  return rest > 0n && !mayOverflow(desk, parts) ? undefined : { shares, wallet: rest };
}

/** Sets so much more aside in the plans of a call. */
export function extendParts(desk: Desk, reservation: Reservation, shares: readonly Share<PlanPart>[]): void {
  for (const { source, amount } of shares) hold(desk, source, amount);
  desk.changes.planned.add(reservation);
}

/** What a call came to: each plan's part, and the wallet's. */
export interface PlanBooking {
  readonly charged: bigint;
  readonly wallet: bigint;
  readonly walletHeld: bigint;
  readonly parts: readonly PlanPart[];
  /** What the quota of the plans was bought for. */
  readonly bought: Bought;
}

/** Books a charge in the plans of a call; what was set aside beyond it is free again. */
export function bookParts(desk: Desk, user: UserBook, reservation: Reservation, charge: bigint): PlanBooking {
  const held = walletHeld(reservation);
  const { shares, wallet, shortfall } = splitCharge(charge, {
    plans: reservation.parts.map((part) => ({ part, held: part.amount, free: furtherOf(desk, part) })),
    walletHeld: held,
    walletFree: mayOverflow(desk, reservation.parts) && user.quota > 0n ? user.quota : 0n,
  });
  let bought = NOTHING_BOUGHT;
  const parts = shares.map(({ source: { part }, amount }) => {
    bought = together(bought, take(desk, part, { held: -part.amount, spent: amount }));
    return { ...part, amount };
  });
  return {
    charged: charge - shortfall,
    wallet,
    walletHeld: held,
    parts: parts.filter(({ amount }) => amount > 0n),
    bought,
  };
}

/** Gives back what was set aside in plans. */
export function releaseParts(desk: Desk, { parts }: Reservation): void {
  for (const part of parts) take(desk, part, { held: -part.amount, spent: 0n });
}
