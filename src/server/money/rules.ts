// The rules of the ledger. Pure: the rows it is given, the operations in their order, and the time → what each operation came
// to and what changed. Both databases load and store; only this file decides.

import type {
  Extended,
  LimitRefusal,
  Operation,
  Outcome,
  PartnerOperation,
  ReserveVerdict,
} from "./operations.ts";
import {
  type Books,
  type Changes,
  noChanges,
  type Reservation,
  type TokenBook,
  type UserBook,
} from "./rows.ts";
import { adjust } from "./rules-adjust.ts";
import { book, close, type Desk, reviveToken } from "./rules-booking.ts";
import { changeCommission } from "./rules-commission.ts";
import {
  extendHolds,
  holdAll,
  judgeLimits,
  type LimitUsage,
  releaseHolds,
  swapHolds,
  tightestRests,
  usagesOf,
} from "./rules-limits.ts";
import { changeOrder } from "./rules-orders.ts";
import { grantSignup, redeem } from "./rules-partner.ts";
import { extendParts, fund, furtherShares, holdParts, releaseParts, walletHeld } from "./rules-plans.ts";
import { transfer } from "./rules-transfer.ts";
import { KEPT, TokenStatus, UserStatus } from "./states.ts";

type Of<Kind extends Operation["kind"]> = Extract<Operation, { kind: Kind }>;

/** Applies operations in order. The rows of `books` are changed in place: they belong to this call. */
export function applyOperations(
  books: Books,
  batch: { readonly operations: readonly Operation[]; readonly nowSec: number; readonly node: string },
): { outcomes: Outcome[]; changes: Changes } {
  const desk: Desk = { ...books, changes: noChanges(), nowSec: batch.nowSec, node: batch.node };
  const outcomes = batch.operations.map((operation) => apply(desk, operation));
  return { outcomes, changes: desk.changes };
}

function apply(desk: Desk, operation: Operation): Outcome {
  // The entry of the call would find its id taken.
  if (!isOfCall(operation) && desk.reservations.has(operation.requestId))
    return { kind: "failed", reason: `${operation.requestId} is the id of a call that is open` };
  switch (operation.kind) {
    case "reserve":
      return reserve(desk, operation);
    case "extend":
      return { kind: "extend", ...extend(desk, operation) };
    case "hold":
      return { kind: "hold", refusal: hold(desk, operation) };
    case "checkpoint":
      return checkpoint(desk, operation);
    case "settle":
      return settle(desk, operation);
    case "release":
      return release(desk, operation);
    case "recover":
      return { kind: "recover", isClosed: recover(desk, operation) };
    case "adjust":
      return { kind: "adjust", adjusted: adjust(desk, operation.adjustment, operation.requestId) };
    case "redeem":
      return { kind: "redeem", redeemed: redeem(desk, operation.order) };
    case "commission":
      return { kind: "commission", changed: changeCommission(desk, operation.change, operation.requestId) };
    case "signup":
      grantSignup(desk, operation.gifts, operation.requestId);
      return { kind: "signup" };
    case "order":
      return { kind: "order", verdict: changeOrder(desk, operation.change) };
    case "transfer":
      return { kind: "transfer", transferred: transfer(desk, operation.order) };
    default:
      // A journal of another program could hold one.
      throw new Error(`unknown operation ${JSON.stringify(operation satisfies never)}`);
  }
}

/** A change by hand, by a code or by a payment, as opposed to what happens to a call. */
export function isPartnerOperation(operation: Operation): operation is PartnerOperation {
  return !isOfCall(operation);
}

export function isOfCall({ kind }: Pick<Operation, "kind">): boolean {
  return !["adjust", "redeem", "commission", "signup", "order", "transfer"].includes(kind);
}

/**
 * What need not be on the disk when it is answered: it only sets amounts aside. It outlives the process, and whatever comes later takes
 * it to the disk with itself; a power cut before that returns the amounts, as recovery would (docs/decisions/018).
 */
export function isSyncedByLater({ kind }: Operation): boolean {
  return kind === "reserve" || kind === "extend" || kind === "hold";
}

/** Sets the amount aside, or says why not. Repeating an open reservation changes nothing (requirements F06). */
function reserve(desk: Desk, order: Of<"reserve">): Outcome {
  if (desk.booked.has(order.requestId))
    return { kind: "failed", reason: `request ${order.requestId} was settled before` };
  if (desk.reservations.has(order.requestId)) return { kind: "reserve", verdict: "reserved" };
  const user = desk.users.get(order.userId);
  const token = desk.tokens.get(order.tokenId);
  const usages = order.limits === undefined ? NO_USAGES : usagesOf(desk, order);
  const verdict = judge(desk, order, { user, token, usages });
  if (verdict === "reserved" && user) setAside(desk, order, { user, token, usages });
  if (order.limits === undefined) return { kind: "reserve", verdict };
  return { kind: "reserve", verdict, rests: tightestRests(desk, usages, order.zone) };
}

/** What a call is reserved from. */
interface Sources {
  readonly user: UserBook | undefined;
  readonly token: TokenBook | undefined;
  readonly usages: readonly LimitUsage[];
}

function judge(desk: Desk, order: Of<"reserve">, { user, token, usages }: Sources): ReserveVerdict {
  if (user?.status !== UserStatus.enabled) return "user_disabled";
  if (order.tokenId !== 0) {
    if (!token || token.payerId !== user.id || !isUsable(desk, token)) return "token_unusable";
    if (token.status === TokenStatus.exhausted) return "token_quota";
  }
  const funding = order.plans && fund(desk, order, order.plans);
  if (funding?.refusal) return funding.refusal;
  if (user.quota < (funding?.wallet ?? order.amount)) return "user_quota";
  if (token && !token.isUnlimited && token.remainQuota < order.amount) return "token_quota";
  return usages.length === 0 ? "reserved" : (judgeLimits(desk, usages, order) ?? "reserved");
}

/** Whether a token may be used, apart from its quota; sets one to expired whose time has just run out (requirements B4). */
function isUsable(desk: Desk, token: TokenBook): boolean {
  if (token.isDeleted) return false;
  if (token.status !== TokenStatus.enabled && token.status !== TokenStatus.exhausted) return false;
  if (token.expiredTime === -1 || token.expiredTime > desk.nowSec) return true;
  token.status = TokenStatus.expired;
  desk.changes.tokens.add(token);
  return false;
}

/** Of most calls. */
const NO_USAGES: readonly LimitUsage[] = [];
const NO_HOLDS: Reservation["holds"] = [];
const NO_PARTS: Reservation["parts"] = [];

function setAside(
  desk: Desk,
  order: Of<"reserve">,
  { user, token, usages }: Sources & { readonly user: UserBook },
): void {
  const isTokenLimited = token !== undefined && !token.isUnlimited;
  const funding = order.plans && fund(desk, order, order.plans);
  user.quota -= funding?.wallet ?? order.amount;
  desk.changes.users.add(user);
  if (token) {
    if (isTokenLimited) token.remainQuota -= order.amount;
    token.accessedTime = desk.nowSec;
    desk.changes.tokens.add(token);
  }
  const reservation: Reservation = {
    requestId: order.requestId,
    userId: order.userId,
    tokenId: order.tokenId,
    modelName: order.modelName,
    createdAt: desk.nowSec,
    node: order.isKept === true ? KEPT : desk.node,
    isTokenLimited,
    holds: usages.length === 0 ? NO_HOLDS : holdAll(desk, usages, order),
    parts: funding === undefined ? NO_PARTS : holdParts(desk, funding),
    amount: order.amount,
    channelId: 0,
    seenCharge: 0n,
    seenPromptTokens: 0,
    seenCompletionTokens: 0,
  };
  desk.reservations.set(order.requestId, reservation);
  desk.changes.inserted.add(reservation);
  if (reservation.parts.length > 0) desk.changes.planned.add(reservation);
}

/** Sets more aside, all or nothing. A token or user stopped meanwhile may finish what it began (requirements M24). */
function extend(desk: Desk, { requestId, target, zone }: Of<"extend">): Extended {
  const reservation = desk.reservations.get(requestId);
  if (!reservation) return { granted: false };
  const more = target - reservation.amount;
  if (more <= 0n) return { granted: true };
  const user = desk.users.get(reservation.userId);
  const token = reservedToken(desk, reservation);
  const isPlanned = reservation.parts.length > 0;
  const further = isPlanned ? furtherShares(desk, reservation, more) : { shares: [], wallet: more };
  if (!further || !user || user.quota < further.wallet || (token && token.remainQuota < more))
    return { granted: false };
  const refusal = reservation.holds.length > 0 ? extendHolds(desk, reservation, { more, zone }) : undefined;
  if (refusal !== undefined) return { granted: false, refusal };
  if (isPlanned) extendParts(desk, reservation, further.shares);
  user.quota -= further.wallet;
  desk.changes.users.add(user);
  if (token) {
    token.remainQuota -= more;
    desk.changes.tokens.add(token);
  }
  reservation.amount = target;
  desk.changes.updated.add(reservation);
  return { granted: true };
}

/** Counts an open call in the windows of its channel. One that is closed is counted nowhere any more. */
function hold(desk: Desk, operation: Of<"hold">): LimitRefusal | undefined {
  const reservation = desk.reservations.get(operation.requestId);
  return reservation && swapHolds(desk, reservation, operation);
}

/** The token whose quota is set aside too. */
function reservedToken(desk: Desk, reservation: Reservation | undefined): TokenBook | undefined {
  return reservation?.isTokenLimited ? desk.tokens.get(reservation.tokenId) : undefined;
}

function checkpoint(desk: Desk, { requestId, seen }: Of<"checkpoint">): Outcome {
  const reservation = desk.reservations.get(requestId);
  if (reservation) {
    reservation.seenCharge = seen.charge;
    reservation.seenPromptTokens = seen.promptTokens;
    reservation.seenCompletionTokens = seen.completionTokens;
    reservation.channelId = seen.channelId;
    desk.changes.updated.add(reservation);
  }
  return { kind: "checkpoint" };
}

/** Books a call once; a repetition gets the answer of the first time (requirements M10). */
function settle(desk: Desk, settlement: Of<"settle">): Outcome {
  const booked = desk.booked.get(settlement.requestId);
  if (booked) return { kind: "settle", booking: { charged: -booked.amount, shortfall: booked.shortfall } };
  const reservation = desk.reservations.get(settlement.requestId);
  const { userId, tokenId } = reservation ?? settlement;
  const user = desk.users.get(userId);
  if (!user) return { kind: "failed", reason: `user ${userId} does not exist` };
  const booking = book(desk, user, {
    requestId: settlement.requestId,
    reservation,
    tokenId,
    channelId: settlement.channelId,
    keyId: settlement.keyId ?? 0,
    memberId: settlement.memberId,
    charge: settlement.charge,
    usage: settlement.usage,
    cost: settlement.cost,
    modelName: settlement.log?.model_name ?? reservation?.modelName ?? "",
    log: settlement.log,
  });
  return { kind: "settle", booking };
}

/** Returns everything; what is closed already stays as it is. */
function release(desk: Desk, { requestId }: Of<"release">): Outcome {
  const reservation = desk.reservations.get(requestId);
  const user = reservation && desk.users.get(reservation.userId);
  if (reservation && user) {
    user.quota += walletHeld(reservation);
    releaseParts(desk, reservation);
    desk.changes.users.add(user);
    const token = reservedToken(desk, reservation);
    if (token) {
      token.remainQuota += reservation.amount;
      reviveToken(token);
      desk.changes.tokens.add(token);
    }
    if (reservation.holds.length > 0) releaseHolds(desk, reservation);
    close(desk, reservation);
  }
  return { kind: "release" };
}

/**
 * The published rule for calls whose process died: what had been received at the last checkpoint is charged, nothing when
 * there was none, and the rest goes back (requirements M12).
 */
function recover(desk: Desk, { requestId, deadNode }: Of<"recover">): boolean {
  const reservation = desk.reservations.get(requestId);
  if (reservation?.node !== deadNode) return false;
  const user = desk.users.get(reservation.userId);
  if (!user) return false;
  const { modelName, tokenId, channelId, seenCharge, seenPromptTokens, seenCompletionTokens } = reservation;
  book(desk, user, {
    requestId,
    reservation,
    tokenId,
    channelId,
    charge: seenCharge,
    usage: { promptTokens: seenPromptTokens, completionTokens: seenCompletionTokens, cachedTokens: 0 },
    modelName,
    log: {
      content: "服务中断，按已收到的内容结算",
      model_name: modelName,
      elapsed_time: 0,
      first_byte_time: 0,
      is_stream: 0,
      estimated: 1,
      trail: "",
    },
  });
  return true;
}
