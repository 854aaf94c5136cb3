// The list of orders of a 易支付 site (V1 `act=orders`, V2 `/api/merchant/orders`): newest first, page by page, without a filter by time
// (vendors/epay). The pages of V2 are signed without their rows, so that these raise questions only.
import { minorOf } from "#contract/money.ts";
import {
  type Instance,
  isOwnOrder,
  type Listed,
  type Payment,
  type Reversal,
  type Span,
  type Unsure,
} from "#server/payments/provider.ts";
import { beijingSec } from "#server/payments/wire/bill.ts";
import { recordOf, textOf } from "./call.ts";

/** Rows of a page; sites give no more. */
export const EPAY_PAGE = 50;
/** What is beyond says that the site does not sort, or does not end its list. */
const MOST_PAGES = 400;
/** An order can be paid for long after it was made; sites keep it open for less. Unit: seconds. */
const OPEN_SEC = 86_400;
/** The list has no time of refunds: those of orders this old are found, as far as the pages go. Unit: seconds. */
const RETURN_SEC = 30 * 86_400;

interface Row {
  readonly tradeNo: string;
  readonly addedSec: number;
  /** undefined = it is not paid. */
  readonly payment: Payment | undefined;
  /** It was paid, and something went back or is frozen. */
  readonly isReturned: boolean;
  /** Something went back: how much in all, as far as the site says it. */
  readonly refunded: EpayReturn | undefined;
}

/** `totalMinor` 0 = the site names no sum. */
export interface EpayReturn extends Pick<Unsure, "orderNo" | "tradeNo"> {
  readonly totalMinor: number;
}

/** `refundmoney` is the sum of all refunds of an order; sites without part refunds leave it out (vendors/epay). */
export function refundedSum(value: unknown): number {
  return minorOf(moneyText(value)) ?? 0;
}

function moneyText(value: unknown): string {
  return typeof value === "number" ? value.toFixed(2) : textOf(value);
}

/** A row as far as it can be read; undefined = it cannot. */
function rowOf(instance: Instance, value: unknown): Row | undefined {
  const row = recordOf(value);
  const tradeNo = textOf(row["trade_no"]);
  const addedSec = beijingSec(textOf(row["addtime"]));
  if (tradeNo === "" || addedSec === undefined) return undefined;
  const isOurs = textOf(row["pid"] ?? instance.merchantId) === instance.merchantId;
  const status = textOf(row["status"]);
  const payment = {
    orderNo: textOf(row["out_trade_no"]),
    tradeNo,
    amountMinor: minorOf(moneyText(row["money"])) ?? -1,
    currency: instance.currency,
    paidSec: beijingSec(textOf(row["endtime"])) ?? 0,
  };
  return {
    tradeNo,
    addedSec,
    payment: isOurs && status === "1" ? payment : undefined,
    isReturned: isOurs && (status === "2" || status === "3"),
    refunded:
      isOurs && status === "2" && isOwnOrder(payment.orderNo)
        ? { orderNo: payment.orderNo, tradeNo, totalMinor: refundedSum(row["refundmoney"]) }
        : undefined,
  };
}

export type EpayPage = { readonly rows: readonly unknown[] } | { readonly problem: string };

interface Found {
  readonly payments: Map<string, Payment>;
  readonly returned: Set<string>;
  readonly refunded: Map<string, EpayReturn>;
}

/**
 * Everything that was ordered since a day before the span, and what went back of older orders too. New orders move the others to later pages:
 * what comes twice is taken once.
 */
export async function listEpay(
  instance: Instance,
  { fromSec }: Span,
  pageOf: (page: number) => Promise<EpayPage>,
): Promise<(Listed & { kind: "unclear" }) | ({ kind: "found" } & Found)> {
  const found: Found = { payments: new Map(), returned: new Set(), refunded: new Map() };
  let oldest = Number.POSITIVE_INFINITY;
  for (let page = 1; page <= MOST_PAGES; page++) {
    const answer = await pageOf(page);
    if ("problem" in answer) return { kind: "unclear", problem: answer.problem };
    const rows = answer.rows.flatMap((row) => rowOf(instance, row) ?? []);
    if (rows.length < answer.rows.length) return { kind: "unclear", problem: "a row of the list" };
    for (const row of rows) note(found, row, fromSec);
    oldest = Math.min(oldest, ...rows.map(({ addedSec }) => addedSec));
    if (rows.length < EPAY_PAGE || oldest < fromSec - RETURN_SEC) return { kind: "found", ...found };
  }
  // Of a shop with very many orders the day is whole, and refunds are looked for less far back.
  return oldest < fromSec - OPEN_SEC
    ? { kind: "found", ...found }
    : { kind: "unclear", problem: "too many pages" };
}

function note({ payments, returned, refunded }: Found, row: Row, fromSec: number): void {
  const { tradeNo, payment, addedSec } = row;
  if (payment && addedSec >= fromSec - OPEN_SEC) payments.set(tradeNo, payment);
  if (row.isReturned) returned.add(tradeNo);
  if (row.refunded) refunded.set(tradeNo, row.refunded);
}

/** What went back, order by order. `sumOf` says how much in all; 0 = it cannot be said. */
export async function returnsOf(
  { refunded }: Pick<Found, "refunded">,
  sumOf: (one: EpayReturn) => Promise<number | { readonly problem: string }>,
): Promise<Pick<Listed & { kind: "listed" }, "reversals" | "unsure"> | { readonly problem: string }> {
  const reversals: Reversal[] = [];
  const unsure: Unsure[] = [];
  for (const one of refunded.values()) {
    const amountMinor = await sumOf(one);
    if (typeof amountMinor !== "number") return amountMinor;
    const { orderNo, tradeNo } = one;
    const facts = { providerId: `total-${amountMinor}`, orderNo, tradeNo };
    if (amountMinor === 0) unsure.push(facts);
    else reversals.push({ ...facts, source: "elsewhere", amountMinor, isTotal: true, isUndone: false });
  }
  return { reversals, unsure };
}
