// Codes, gifts, invitations and commission (requirements W17, B9). Pure, part of rules.ts: all that an order brings to any user
// is decided and booked here at once, so that it is stored in one transaction or not at all.
import type { QuotaDisplay } from "#contract/quota.ts";
import { partnerRates, yuanText } from "#contract/yuan.ts";
import { MAX_AMOUNT } from "./amount.ts";
import type {
  CommissionChange,
  CommissionChanged,
  Redeemed,
  RedeemOrder,
  SignupGifts,
} from "./partner-operations.ts";
import { parseRational } from "./rational.ts";
import type { CodeBook, CommissionBook, UserBook } from "./rows.ts";
import { balanceFault, type Desk } from "./rules-booking.ts";
import { amountText, note, noteChange } from "./rules-notes.ts";
import { LogType, RedemptionStatus, UserStatus } from "./states.ts";

/** What a gift code adds to a code's quota, for each side: 5 %, rounded down (requirements M07). */
export function giftOf(quota: bigint): bigint {
  return (quota * partnerRates.giftPercent) / 100n;
}

/** What the inviter earns by a code, in millionths of a yuan, rounded down; exact for any quota per dollar. */
export function commissionOf(quota: bigint, quotaPerUnit: number): bigint {
  const { n, d } = parseRational(quotaPerUnit);
  return (quota * partnerRates.commissionMicroPerDollar * d) / n;
}

/** The rows that take part in a redemption that may take place. */
interface Parties {
  readonly user: UserBook;
  readonly code: CodeBook;
  readonly giver: UserBook | undefined;
  readonly gift: bigint;
  readonly inviter: UserBook | undefined;
  readonly commission: bigint;
}

/** Turns a code into quota, gifts and commission; the code is used up only when all of it can be booked. */
export function redeem(desk: Desk, order: RedeemOrder): Redeemed {
  const booked = desk.booked.get(order.operationId);
  if (booked) {
    return {
      outcome: "done",
      quota: booked.amount,
      bonus: order.giverId === null ? 0n : giftOf(booked.amount),
    };
  }
  const parties = judge(desk, order);
  if (typeof parties === "string") return { outcome: parties };
  book(desk, order, parties);
  return { outcome: "done", quota: parties.code.quota, bonus: parties.gift };
}

type LocalError = Exclude<Redeemed["outcome"], "done">;

function judge(desk: Desk, order: RedeemOrder): Parties | LocalError {
  const user = enabled(desk, order.userId);
  if (!user) return "user_disabled";
  const code = desk.codes.get(order.redemptionId);
  if (!code || code.isDeleted) return "unknown_code";
  if (code.status !== RedemptionStatus.unused)
    return code.status === RedemptionStatus.used ? "used_code" : "disabled_code";
  const giver = order.giverId === null ? undefined : enabled(desk, order.giverId);
  if (order.giverId === user.id) return "own_gift";
  if (order.giverId !== null && !giver) return "unknown_gift";
  const gift = giver ? giftOf(code.quota) : 0n;
  // A user who was deleted or banned earns nothing, and no user earns by inviting themselves (requirements W17.3).
  const inviter = order.inviterId === user.id ? undefined : enabled(desk, order.inviterId);
  const commission = inviter ? commissionOf(code.quota, order.display.quotaPerUnit) : 0n;
  const parties = { user, code, giver, gift, inviter, commission };
  return fits(desk, parties) ? parties : "too_large";
}

/** A user who may earn: deleted and banned ones do not. */
export function enabled(desk: Desk, userId: number): UserBook | undefined {
  const user = desk.users.get(userId);
  return user?.status === UserStatus.enabled ? user : undefined;
}

/** Whether every balance can hold what it would get. */
function fits(desk: Desk, { user, code, giver, gift, inviter, commission }: Parties): boolean {
  const has = inviter ? commissionBook(desk, inviter).micro : 0n;
  return (
    user.quota + code.quota + gift <= MAX_AMOUNT &&
    (giver?.quota ?? 0n) + gift <= MAX_AMOUNT &&
    has + commission <= MAX_AMOUNT
  );
}

/** The stored commission of a user that an operation names. */
export function commissionBook(desk: Desk, { id }: UserBook): CommissionBook {
  const known = desk.commissions.get(id);
  if (!known) throw new Error(`the commission of user ${id} was not loaded`);
  return known;
}

function book(desk: Desk, order: RedeemOrder, parties: Parties): void {
  const { user, code, giver, gift, inviter, commission } = parties;
  code.status = RedemptionStatus.used;
  code.usedUserId = user.id;
  code.redeemedTime = desk.nowSec;
  desk.changes.codes.add(code);
  const text = (amount: bigint) => amountText(amount, order.display);
  const by = { operationId: order.operationId, redemptionId: code.id, actorId: user.id };

  credit(desk, user, { ...by, kind: "redeem", amount: code.quota });
  note(desk, user, { type: LogType.topup, content: `通过兑换码充值 ${text(code.quota)}`, quota: code.quota });
  if (giver) {
    credit(desk, user, { ...by, operationId: `${order.operationId}/gift`, kind: "gift", amount: gift });
    credit(desk, giver, { ...by, operationId: `${order.operationId}/giver`, kind: "gift", amount: gift });
    tellGift(desk, user, `使用礼品码，额外获得 ${text(gift)}`, gift);
    tellGift(desk, giver, `礼品码被使用，获得 ${text(gift)}`, gift);
  }
  payDebt(desk, user, { operationId: order.operationId, display: order.display });
  if (!inviter || commission === 0n) return;
  const operationId = `${order.operationId}/inviter`;
  earn(desk, inviter, { ...by, operationId, kind: "commission", yuanMicro: commission });
}

/** Commission that comes in fills first what refunds could not take back (requirements Z23). The wallet has no part in it. */
export function earn(
  desk: Desk,
  inviter: UserBook,
  parts: EntryParts & { readonly yuanMicro: bigint },
): void {
  const book = commissionBook(desk, inviter);
  const { yuanMicro, operationId, actorId } = parts;
  const filled = book.owedMicro < yuanMicro ? book.owedMicro : yuanMicro;
  book.micro += yuanMicro - filled;
  book.owedMicro -= filled;
  desk.changes.commissions.add(book);
  entry(desk, inviter, parts);
  if (filled > 0n)
    entry(desk, inviter, {
      kind: "commission-debt",
      operationId: `${operationId}/debt`,
      actorId,
      yuanMicro: -filled,
    });
  if (parts.kind !== "commission") return;
  const content =
    filled === 0n
      ? `邀请的用户充值，获得返现 ${yuanText(yuanMicro)} 元`
      : `邀请的用户充值，获得返现 ${yuanText(yuanMicro)} 元，其中 ${yuanText(filled)} 元抵扣此前退款欠下的返现`;
  note(desk, inviter, { type: LogType.system, content, quota: 0n });
}

/** Takes commission back: what the balance has, the rest is owed (requirements Z23). */
export function takeCommission(
  desk: Desk,
  inviter: UserBook,
  parts: EntryParts & { readonly yuanMicro: bigint },
): void {
  const book = commissionBook(desk, inviter);
  const { yuanMicro: due, operationId, actorId } = parts;
  const taken = book.micro < due ? book.micro : due;
  const owed = due - taken;
  book.micro -= taken;
  book.owedMicro += owed;
  desk.changes.commissions.add(book);
  entry(desk, inviter, { ...parts, yuanMicro: -due });
  if (owed === 0n) return;
  // The balance does not go below 0: what it lacked is owed.
  entry(desk, inviter, {
    kind: "commission-debt",
    operationId: `${operationId}/debt`,
    actorId,
    yuanMicro: owed,
  });
  const content = `邀请的用户退款，收回返现 ${yuanText(due)} 元，余额不足的 ${yuanText(owed)} 元从以后的返现中抵扣`;
  note(desk, inviter, { type: LogType.system, content, quota: 0n });
}

/** Whatever comes in pays first what a refund or dispute could not take (requirements Y36). */
export function payDebt(
  desk: Desk,
  user: UserBook,
  { operationId, display }: { readonly operationId: string; readonly display: QuotaDisplay },
): void {
  const book = commissionBook(desk, user);
  const paid = book.debt < user.quota ? book.debt : user.quota;
  if (paid <= 0n) return;
  book.debt -= paid;
  desk.changes.commissions.add(book);
  credit(desk, user, { kind: "debt", operationId: `${operationId}/debt`, actorId: user.id, amount: -paid });
  const content = `偿还此前退款或拒付的欠额 ${amountText(paid, display)}`;
  note(desk, user, { type: LogType.system, content, quota: 0n });
}

/** A log entry about a gift, when there is one. */
export function tellGift(desk: Desk, user: UserBook, content: string, gift: bigint): void {
  if (gift > 0n) note(desk, user, { type: LogType.system, content, quota: gift });
}

export interface EntryParts {
  readonly kind: string;
  readonly operationId: string;
  readonly actorId: number;
  readonly amount?: bigint;
  readonly yuanMicro?: bigint;
  /** What was to be taken and was not there. */
  readonly shortfall?: bigint;
  readonly redemptionId?: number;
  readonly detail?: string;
}

/** Adds quota and its entry. */
export function credit(desk: Desk, user: UserBook, parts: EntryParts & { readonly amount: bigint }): void {
  user.quota += parts.amount;
  desk.changes.users.add(user);
  entry(desk, user, parts);
}

/** Writes an entry without touching a balance. */
export function entry(desk: Desk, user: UserBook, parts: EntryParts): void {
  const { kind, operationId, actorId, amount = 0n, yuanMicro = 0n, redemptionId = 0, detail = "" } = parts;
  const written = {
    createdAt: desk.nowSec,
    kind,
    userId: user.id,
    tokenId: 0,
    channelId: 0,
    amount,
    tokenAmount: 0n,
    requestId: operationId,
    shortfall: parts.shortfall ?? 0n,
    actorId,
    detail,
    redemptionId,
    yuanMicro,
  };
  desk.changes.partnerLedger.push(written);
  desk.booked.set(operationId, written);
}

/** Changes what the plan owes a user: a correction, or a payment of at least 100 yuan (requirements B9). */
export function changeCommission(
  desk: Desk,
  change: CommissionChange,
  operationId: string,
): CommissionChanged {
  if (desk.booked.has(operationId)) return { outcome: "repeated" };
  const user = desk.users.get(change.userId);
  if (!user) return { outcome: "not_found" };
  const commission = commissionBook(desk, user);
  const before = commission.micro;
  const after = "target" in change.micro ? change.micro.target : before + change.micro.delta;
  if (change.kind === "withdraw" && before - after < partnerRates.leastWithdrawalMicro)
    return { outcome: "below_least" };
  const fault = balanceFault(before, after);
  if (fault) return { outcome: fault };
  // What is owed stays too: a balance beside it is an administrator's correction.
  if (change.kind === "withdraw" && after < (change.keepMicro ?? 0n) + commission.owedMicro)
    return { outcome: "held" };
  commission.micro = after;
  desk.changes.commissions.add(commission);
  const { kind, actorId, reason, log } = change;
  entry(desk, user, { kind, operationId, actorId, yuanMicro: after - before, detail: reason });
  if (log)
    noteChange(desk, user, { log, before, after, text: (micro) => `${yuanText(micro)} 元`, quota: 0n });
  return { outcome: "done", before, after };
}

/** Grants what a registration brings, once per new user; each gift is told to the user who gets it (requirements W3.3, W10.7). */
export function grantSignup(desk: Desk, gifts: SignupGifts, operationId: string): void {
  const user = desk.users.get(gifts.userId);
  if (!user || desk.booked.has(operationId)) return;
  const inviter = gifts.inviterId === user.id ? undefined : enabled(desk, gifts.inviterId);
  const give = (to: UserBook, text: string, parts: { kind: string; operationId: string; amount: bigint }) => {
    if (to.quota + parts.amount > MAX_AMOUNT) return;
    credit(desk, to, { ...parts, actorId: user.id, detail: text });
    if (parts.amount === 0n) return;
    const content = `${text} ${amountText(parts.amount, gifts.display)}`;
    note(desk, to, { type: LogType.system, content, quota: parts.amount });
  };
  // The first entry records that it was done, even when the gift is nothing.
  give(user, "新用户注册赠送", { kind: "grant", operationId, amount: gifts.forNewUser });
  if (!inviter) return;
  give(user, "使用邀请码赠送", {
    kind: "invite",
    operationId: `${operationId}/invitee`,
    amount: gifts.forInvitee,
  });
  give(inviter, "邀请用户赠送", {
    kind: "invite",
    operationId: `${operationId}/inviter`,
    amount: gifts.forInviter,
  });
}

/** Whether a registration brings anything to the new user or the inviter. */
export function hasGifts({ inviterId, forNewUser, forInvitee, forInviter }: SignupGifts): boolean {
  return forNewUser > 0n || (inviterId !== 0 && (forInvitee > 0n || forInviter > 0n));
}
