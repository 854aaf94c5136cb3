// How a call is booked: what user and token can pay, and everything that is written with it. Pure, part of rules.ts.

import type { Booking, SettlementLog } from "./operations.ts";
import type { Usage } from "./price.ts";
import type { Books, Changes, Reservation, TokenBook, UserBook } from "./rows.ts";
import { addCall } from "./rules-sums.ts";
import { LogType, TokenStatus } from "./states.ts";

/** The largest number that balances and entries can hold exactly. */
export const MAX_AMOUNT = BigInt(Number.MAX_SAFE_INTEGER);

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

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

export interface Bill {
  readonly requestId: string;
  readonly reservation: Reservation | undefined;
  readonly tokenId: number;
  readonly channelId: number;
  readonly charge: bigint;
  readonly usage: Usage;
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
  let payable = user.quota + held;
  if (token && isLimited) payable = min(payable, token.remainQuota + held);
  const charged = min(bill.charge, payable > 0n ? payable : 0n);
  const booking = { charged, shortfall: min(bill.charge - charged, MAX_AMOUNT) };

  user.quota += held - charged;
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
  if (bill.reservation) close(desk, bill.reservation);
  record(desk, { bill, user, token, booking, tokenAmount: token && isLimited ? -charged : 0n });
  return booking;
}

/** Takes a reservation off the books. */
export function close(desk: Desk, reservation: Reservation): void {
  desk.reservations.delete(reservation.requestId);
  desk.changes.updated.delete(reservation);
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

interface Paid {
  readonly bill: Bill;
  readonly user: UserBook;
  readonly token: TokenBook | undefined;
  readonly booking: Booking;
  readonly tokenAmount: bigint;
}

/** Ledger entry, visible log, channel counter and the sums of the hour. */
function record(desk: Desk, { bill, user, token, booking, tokenAmount }: Paid): void {
  const { changes, nowSec } = desk;
  const { charged, shortfall } = booking;
  const entry = {
    createdAt: nowSec,
    kind: "consume",
    userId: user.id,
    tokenId: bill.tokenId,
    channelId: bill.channelId,
    amount: -charged,
    tokenAmount,
    requestId: bill.requestId,
    shortfall,
    actorId: user.id,
    detail: bill.modelName,
  };
  changes.ledger.push(entry);
  // Not the entry itself: what is booked is remembered for many groups.
  desk.booked.set(bill.requestId, { kind: entry.kind, amount: entry.amount, shortfall });
  if (bill.channelId !== 0) {
    changes.channels.set(bill.channelId, (changes.channels.get(bill.channelId) ?? 0n) + charged);
  }
  const { modelName, channelId, usage } = bill;
  const { promptTokens, completionTokens } = usage;
  const tokenName = token?.name ?? "";
  const call = { userId: user.id, tokenName, modelName, channelId, charged, promptTokens, completionTokens };
  addCall(changes.rollups, call, nowSec);
  if (!bill.log) return;
  changes.logs.push({
    ...bill.log,
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
  });
}
