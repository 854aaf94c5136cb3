// How a call is booked: what user and token can pay, and everything that is written with it. Pure, part of rules.ts.

import { MAX_AMOUNT, min } from "./amount.ts";
import { type Bought, boughtText, takeOut, together } from "./bought.ts";
import type { Booking, CallCost, SettlementLog } from "./operations.ts";
import type { Usage } from "./price.ts";
import type { Books, Changes, LedgerEntry, PlanEntry, Reservation, TokenBook, UserBook } from "./rows.ts";
import { bookHolds } from "./rules-limits.ts";
import { bookParts, type PlanBooking } from "./rules-plans.ts";
import { addCall } from "./rules-sums.ts";
import { LogType, TokenStatus } from "./states.ts";

/** Why a balance cannot be set from `before` to `after` by hand; undefined = it can. Pure. */
export function balanceFault(before: bigint, after: bigint): "below_zero" | "too_large" | undefined {
  // A balance imported below zero may be raised, not lowered.
  if (after < 0n && after < before) return "below_zero";
  return after > MAX_AMOUNT ? "too_large" : undefined;
}

/** The books with what has been changed in them so far. */
export interface Desk extends Books {
  readonly changes: Changes;
  readonly nowSec: number;
  readonly node: string;
}

function atLeast0(amount: bigint): bigint {
  return amount > 0n ? amount : 0n;
}

export interface Bill {
  readonly requestId: string;
  readonly reservation: Reservation | undefined;
  readonly tokenId: number;
  readonly channelId: number;
  /** Absent = the channel has one key, or it is not known. */
  readonly keyId?: number;
  /** Who called, where another one pays; absent = whose token it is now. */
  readonly memberId?: number | undefined;
  readonly charge: bigint;
  readonly usage: Usage;
  /** Absent = not known. */
  readonly cost?: CallCost | undefined;
  readonly modelName: string;
  readonly log: SettlementLog | null;
}

/** Closes the reservation, charges what user and token can pay, and writes counters, ledger, log and sums. */
export function book(desk: Desk, user: UserBook, bill: Bill): Booking {
  const token = desk.tokens.get(bill.tokenId);
  const held = bill.reservation?.amount ?? 0n;
  // A call that reserved is bound by what was true then, one that did not by what is true now.
  const isLimited = bill.reservation
    ? bill.reservation.isTokenLimited
    : token !== undefined && !token.isUnlimited;
  const most = token && isLimited ? min(bill.charge, atLeast0(token.remainQuota + held)) : bill.charge;
  const { charged, plan, earned } = pay(desk, user, { reservation: bill.reservation, most });
  const booking = { charged, shortfall: min(bill.charge - charged, MAX_AMOUNT) };

  user.usedQuota += charged;
  user.requestCount += 1;
  desk.changes.users.add(user);
  if (token) {
    if (isLimited) token.remainQuota += held - charged;
    token.usedQuota += charged;
    token.accessedTime = desk.nowSec;
    reviveToken(token);
    exhaustToken(token);
    desk.changes.tokens.add(token);
  }
  if (bill.reservation) {
    if (bill.reservation.holds.length > 0) bookHolds(desk, bill.reservation, charged);
    close(desk, bill.reservation);
  }
  const tokenAmount = token && isLimited ? -charged : 0n;
  record(desk, { bill, user, token, booking, plan, earned, tokenAmount });
  return booking;
}

/** Takes what plans and, behind them, the wallet can pay; what the reservation held beyond it is free again. */
function pay(
  desk: Desk,
  user: UserBook,
  { reservation, most }: { reservation: Reservation | undefined; most: bigint },
): Pick<Paid, "plan" | "earned"> & { readonly charged: bigint } {
  if (reservation !== undefined && reservation.parts.length > 0) {
    const plan = bookParts(desk, user, reservation, most);
    user.quota += plan.walletHeld - plan.wallet;
    return { charged: plan.charged, plan, earned: together(plan.bought, takeOut(user, plan.wallet)) };
  }
  const held = reservation?.amount ?? 0n;
  const charged = min(most, atLeast0(user.quota + held));
  user.quota += held - charged;
  return { charged, plan: undefined, earned: takeOut(user, charged) };
}

/** Takes a reservation off the books. */
export function close(desk: Desk, reservation: Reservation): void {
  desk.reservations.delete(reservation.requestId);
  desk.changes.updated.delete(reservation);
  desk.changes.planned.delete(reservation);
  // One that was made in this very group was never stored.
  if (!desk.changes.inserted.delete(reservation)) desk.changes.deleted.add(reservation);
}

/** An exhausted token that has quota again works again (requirements W3.7). */
export function reviveToken(token: TokenBook): void {
  if (token.status === TokenStatus.exhausted && (token.isUnlimited || token.remainQuota > 0n)) {
    token.status = TokenStatus.enabled;
  }
}

/** A token that has nothing left stops working (requirements B4). */
export function exhaustToken(token: TokenBook): void {
  if (token.status === TokenStatus.enabled && !token.isUnlimited && token.remainQuota <= 0n) {
    token.status = TokenStatus.exhausted;
  }
}

/** Of calls that recovery books, and of those that older programs left in the journal. */
const UNKNOWN_COST: CallCost = { cost: -1, saved: 0, group: "" };

interface Paid {
  readonly bill: Bill;
  readonly user: UserBook;
  readonly token: TokenBook | undefined;
  readonly booking: Booking;
  /** undefined = the wallet paid all of it. */
  readonly plan: PlanBooking | undefined;
  /** What the quota that it took was bought for. */
  readonly earned: Bought;
  readonly tokenAmount: bigint;
}

/** Ledger entry, visible log, channel counter and the sums of the hour. */
function record(desk: Desk, { bill, user, token, booking, plan, earned, tokenAmount }: Paid): void {
  const { changes, nowSec } = desk;
  const { charged, shortfall } = booking;
  // The team pays, and knows for whom; the token may have another owner by now.
  const ownerId = token === undefined || token.userId === user.id ? 0 : token.userId;
  const { memberId = ownerId } = bill;
  const entry = {
    createdAt: nowSec,
    kind: "consume",
    userId: user.id,
    tokenId: bill.tokenId,
    channelId: bill.channelId,
    amount: plan ? -plan.wallet : -charged,
    tokenAmount,
    requestId: bill.requestId,
    shortfall,
    actorId: memberId === 0 ? user.id : memberId,
    detail: bill.modelName,
    ...(bill.reservation && bill.reservation.holds.length > 0 && { holds: bill.reservation.holds }),
  };
  if (plan) changes.planLedger.push(...planEntries(entry, plan));
  else changes.ledger.push(entry);
  // Not the entry itself: what is booked is remembered for many groups.
  desk.booked.set(bill.requestId, { kind: entry.kind, amount: -charged, shortfall });
  if (bill.channelId !== 0) {
    changes.channels.set(bill.channelId, (changes.channels.get(bill.channelId) ?? 0n) + charged);
  }
  const { modelName, channelId, usage } = bill;
  const { promptTokens, completionTokens } = usage;
  const tokenName = token?.name ?? "";
  const { keyId = 0 } = bill;
  const projectId = token?.projectId ?? 0;
  const call = {
    ...{ userId: user.id, tokenId: bill.tokenId, tokenName, modelName },
    ...{ channelId, keyId, memberId, projectId },
    ...{ charged, promptTokens, completionTokens },
  };
  const { cost = UNKNOWN_COST } = bill;
  addCall(changes.rollups, { ...call, ...cost, cachedTokens: usage.cachedTokens, earned }, nowSec);
  if (!bill.log) return;
  changes.logs.push({
    ...bill.log,
    token_kinds: bill.log.token_kinds ?? "",
    content: shortfall > 0n ? `${bill.log.content}（余额不足，少收 ${shortfall}）` : bill.log.content,
    user_id: user.id,
    created_at: nowSec,
    type: LogType.consume,
    username: user.username,
    token_id: bill.tokenId,
    token_name: tokenName,
    quota: Number(charged),
    prompt_tokens: bill.usage.promptTokens,
    completion_tokens: bill.usage.completionTokens,
    cached_tokens: bill.usage.cachedTokens,
    channel_id: bill.channelId,
    request_id: bill.requestId,
    key_id: keyId,
    member_id: memberId,
    project_id: projectId,
    cost: cost.cost,
    earned: boughtText(earned),
  });
}

/** The call's entry, which names what plans paid in all, and one entry for each of them. */
function planEntries(entry: LedgerEntry, { charged, wallet, parts }: PlanBooking): PlanEntry[] {
  return [
    { ...entry, planAmount: charged - wallet, periodId: 0 },
    ...parts.map((part) => ({
      ...entry,
      kind: "plan-consume",
      requestId: `${entry.requestId}/plan/${part.periodId}`,
      amount: 0n,
      tokenAmount: 0n,
      shortfall: 0n,
      holds: [],
      parts: [part],
      planAmount: part.amount,
      periodId: part.periodId,
    })),
  ];
}
