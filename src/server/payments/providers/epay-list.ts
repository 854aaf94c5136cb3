// The list of orders of a 易支付 site (V1 `act=orders`, V2 `/api/merchant/orders`): newest first, page by page, without a filter by time
// (vendors/epay). The pages of V2 are signed without their rows, so that these raise questions only.
import { minorOf } from "#contract/money.ts";
import type { Instance, Listed, Payment, Span } from "#server/payments/provider.ts";
import { beijingSec } from "#server/payments/wire/bill.ts";
import { recordOf, textOf } from "./call.ts";

/** Rows of a page; sites give no more. */
export const EPAY_PAGE = 50;
/** What is beyond says that the site does not sort, or does not end its list. */
const MOST_PAGES = 400;
/** An order can be paid for long after it was made; sites keep it open for less. Unit: seconds. */
const OPEN_SEC = 86_400;

interface Row {
  readonly tradeNo: string;
  readonly addedSec: number;
  /** undefined = it is not paid. */
  readonly payment: Payment | undefined;
  /** It was paid, and something went back or is frozen. */
  readonly isReturned: boolean;
}

/** A row as far as it can be read; undefined = it cannot. */
function rowOf(instance: Instance, value: unknown): Row | undefined {
  const row = recordOf(value);
  const tradeNo = textOf(row["trade_no"]);
  const addedSec = beijingSec(textOf(row["addtime"]));
  if (tradeNo === "" || addedSec === undefined) return undefined;
  const isOurs = textOf(row["pid"] ?? instance.merchantId) === instance.merchantId;
  const status = textOf(row["status"]);
  const money = row["money"];
  const amount = typeof money === "number" ? money.toFixed(2) : textOf(money);
  const payment = {
    orderNo: textOf(row["out_trade_no"]),
    tradeNo,
    amountMinor: minorOf(amount) ?? -1,
    currency: instance.currency,
    paidSec: beijingSec(textOf(row["endtime"])) ?? 0,
  };
  return {
    tradeNo,
    addedSec,
    payment: isOurs && status === "1" ? payment : undefined,
    isReturned: isOurs && (status === "2" || status === "3"),
  };
}

export type EpayPage = { readonly rows: readonly unknown[] } | { readonly problem: string };

/** Everything that was ordered since a day before the span. New orders move the others to later pages: what comes twice is taken once. */
export async function listEpay(
  instance: Instance,
  { fromSec }: Span,
  pageOf: (page: number) => Promise<EpayPage>,
): Promise<Listed> {
  const payments = new Map<string, Payment>();
  const returned = new Set<string>();
  for (let page = 1; page <= MOST_PAGES; page++) {
    const answer = await pageOf(page);
    if ("problem" in answer) return { kind: "unclear", problem: answer.problem };
    const rows = answer.rows.flatMap((row) => rowOf(instance, row) ?? []);
    if (rows.length < answer.rows.length) return { kind: "unclear", problem: "a row of the list" };
    for (const { tradeNo, payment } of rows) if (payment) payments.set(tradeNo, payment);
    for (const { tradeNo } of rows.filter((row) => row.isReturned)) returned.add(tradeNo);
    const oldest = Math.min(...rows.map(({ addedSec }) => addedSec));
    if (rows.length < EPAY_PAGE || oldest < fromSec - OPEN_SEC)
      return { kind: "listed", payments: [...payments.values()], returned: [...returned] };
  }
  return { kind: "unclear", problem: "too many pages" };
}
