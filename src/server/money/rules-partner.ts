// Codes, gifts and invitations (requirements W17, B9). Pure, part of rules.ts: all that an order brings to any user
// is decided and booked here at once, so that it is stored in one transaction or not at all.
import type { QuotaDisplay } from "#contract/quota.ts";
import { MAX_AMOUNT } from "./amount.ts";
import { NOTHING_BOUGHT, nanoOfFen, nanoOfMicro } from "./bought.ts";
import { commissionOf } from "./commission-terms.ts";
import { revenueOf } from "./earned.ts";
import type { Redeemed, RedeemOrder, SignupGifts } from "./partner-operations.ts";
import type { CodeBook, UserBook } from "./rows.ts";
import type { Desk } from "./rules-booking.ts";
import { allowed, commissionBook, earnBy } from "./rules-commission.ts";
import { credit } from "./rules-entries.ts";
import { amountText, note } from "./rules-notes.ts";
import { LogType, RedemptionStatus, UserStatus } from "./states.ts";

/** What a gift code adds to quota, for each side: so many percent, rounded down (requirements M07). */
export function giftOf(quota: bigint, percent: number): bigint {
  return (quota * BigInt(percent)) / 100n;
}

/** The entry of what a gift code brings the user who entered it. */
export function giftIdOf(operationId: string): string {
  return `${operationId}/gift`;
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
      // What it was then, whatever the percentage is now.
      bonus: desk.booked.get(giftIdOf(order.operationId))?.amount ?? 0n,
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
  const gift = giver ? giftOf(code.quota, order.terms.giftPercent) : 0n;
  // A user who was deleted or banned earns nothing, and no user earns by inviting themselves (requirements W17.3).
  const inviter = order.inviterId === user.id ? undefined : enabled(desk, order.inviterId);
  const { quotaPerUnit } = order.display;
  const percent = order.terms.commissionPercent;
  const micro = inviter ? commissionOf(code.quota, { quotaPerUnit, percent }) : 0n;
  const commission = inviter ? allowed(desk, { inviter, invited: user, micro, bounds: order.terms }) : 0n;
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

function book(desk: Desk, order: RedeemOrder, parties: Parties): void {
  const { user, code, giver, gift, inviter, commission } = parties;
  code.status = RedemptionStatus.used;
  code.usedUserId = user.id;
  code.redeemedTime = desk.nowSec;
  desk.changes.codes.add(code);
  const text = (amount: bigint) => amountText(amount, order.display);
  const by = { operationId: order.operationId, redemptionId: code.id, actorId: user.id };

  const { display, terms } = order;
  // A code that was given away brought nothing; one without a price what codes are sold for.
  const income =
    code.priceMinor < 0n
      ? BigInt(revenueOf(Number(code.quota), { ...display, soldYuan: terms.soldYuan }))
      : nanoOfFen(code.priceMinor);
  const given = income === 0n ? code.quota : 0n;
  const bought = { ...NOTHING_BOUGHT, quota: code.quota, given, income, commission: nanoOfMicro(commission) };
  credit(desk, user, { ...by, kind: "redeem", amount: code.quota, bought });
  note(desk, user, { type: LogType.topup, content: `通过兑换码充值 ${text(code.quota)}`, quota: code.quota });
  if (giver) {
    // The checker reads the rate of the day.
    const gifted = { ...by, kind: "gift", amount: gift, detail: `${order.terms.giftPercent}%` };
    const giverId = `${order.operationId}/giver`;
    credit(desk, user, { ...gifted, operationId: giftIdOf(order.operationId) });
    credit(desk, giver, { ...gifted, operationId: giverId });
    tellGift(desk, user, `使用礼品码，额外获得 ${text(gift)}`, gift);
    tellGift(desk, giver, `礼品码被使用，获得 ${text(gift)}`, gift);
    payDebt(desk, giver, { operationId: giverId, display });
  }
  payDebt(desk, user, { operationId: order.operationId, display });
  if (!inviter || commission === 0n) return;
  const operationId = `${order.operationId}/inviter`;
  earnBy(desk, { inviter, invited: user }, { ...by, operationId, yuanMicro: commission });
}

/** Whatever comes in pays first what a refund or dispute could not take (requirements Y36). */
export function payDebt(
  desk: Desk,
  user: UserBook,
  { operationId, display }: { readonly operationId: string; readonly display: QuotaDisplay | undefined },
): void {
  const book = commissionBook(desk, user);
  const paid = book.debt < user.quota ? book.debt : user.quota;
  if (paid <= 0n) return;
  book.debt -= paid;
  desk.changes.commissions.add(book);
  credit(desk, user, { kind: "debt", operationId: `${operationId}/debt`, actorId: user.id, amount: -paid });
  if (!display) return;
  const content = `偿还此前退款或拒付的欠额 ${amountText(paid, display)}`;
  note(desk, user, { type: LogType.system, content, quota: 0n });
}

/** A log entry about a gift, when there is one. */
export function tellGift(desk: Desk, user: UserBook, content: string, gift: bigint): void {
  if (gift > 0n) note(desk, user, { type: LogType.system, content, quota: gift });
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
    const { display } = gifts;
    const content = `${text} ${amountText(parts.amount, display)}`;
    note(desk, to, { type: LogType.system, content, quota: parts.amount });
    payDebt(desk, to, { operationId: parts.operationId, display });
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
