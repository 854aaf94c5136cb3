// Alipay's bill of a day: an address for half a minute, behind it an archive of texts in GBK (vendors/alipay-bill). The file is not signed, so
// that it raises questions only.
import { minorOf } from "#contract/money.ts";
import { dayOf } from "#contract/month.ts";
import {
  type Instance,
  isOwnOrder,
  type Listed,
  OWN_REFUND,
  type Payment,
  type ProviderDeps,
  type Reversal,
  type Span,
  type Unsure,
} from "#server/payments/provider.ts";
import { BILL_MADE_SEC, type BillRow, beijingSec, billRows, linesOf } from "#server/payments/wire/bill.ts";
import { unzip } from "#server/payments/wire/zip.ts";
import { alipayCall, isPassing, named } from "./alipay-call.ts";
import { fetchBill, problemOf, textOf } from "./call.ts";

const MOST_BYTES = 64 * 1024 * 1024;
const TITLES = {
  trade: /^支付宝交易号/,
  order: /^商户订单号/,
  kind: /^业务类型/,
  done: /^完成时间/,
  amount: /^订单金额/,
  request: /^退款批次号/,
};
type Row = BillRow<keyof typeof TITLES>;

const SHAPE = {
  titles: TITLES,
  cellsOf: (line: string) => line.split(","),
  isLast: (line: string) => line.startsWith("#"),
};
const PAYMENT = /^交易$/;
const REFUND = /^退款/;

function paymentOf(row: Row): Payment {
  return {
    orderNo: row("order"),
    tradeNo: row("trade"),
    amountMinor: minorOf(row("amount")) ?? -1,
    currency: "CNY",
    paidSec: beijingSec(row("done")) ?? 0,
  };
}

/** The trades of a day. A day without any has no bill, as has one whose bill is not made yet: the hour tells them apart. */
export async function listAlipay(instance: Instance, span: Span, deps: ProviderDeps): Promise<Listed> {
  const biz = { bill_type: "trade", bill_date: dayOf(span.fromSec) };
  const answer = await alipayCall(instance, "alipay.data.dataservice.bill.downloadurl.query", { biz, deps });
  if (answer.kind === "unclear") return answer;
  if (answer.sub === "isp.bill_not_exist")
    return deps.nowSec < span.beforeSec + BILL_MADE_SEC
      ? { kind: "later" }
      : { kind: "listed", payments: [], isHearsay: true };
  const url = textOf(answer.body["bill_download_url"]);
  if (answer.code !== "10000" || url === "") return { kind: "unclear", problem: named(answer) };
  const file = await fetchBill(deps.egress, { url });
  if (file.kind === "fault" || file.status !== 200) return { kind: "unclear", problem: problemOf(file) };
  const texts = (await unzip(file.bytes, MOST_BYTES)) ?? [];
  // The archive has a summary too, without the titles of trades.
  const rows = texts
    .map((text) => billRows(linesOf(new TextDecoder("gb18030").decode(text)), SHAPE))
    .find((found) => found !== undefined);
  if (!rows) return { kind: "unclear", problem: "a bill that cannot be read" };
  const payments = rows.filter((row) => PAYMENT.test(row("kind"))).map(paymentOf);
  const returns = await refundsElsewhere(instance, rows, deps);
  return "problem" in returns
    ? { kind: "unclear", problem: returns.problem }
    : { kind: "listed", payments, isHearsay: true, ...returns };
}

type Returns = Pick<Listed & { kind: "listed" }, "reversals" | "unsure">;

/** Refunds of our orders that we did not ask for. The file is not signed: what counts is the signed answer about the number of each. */
async function refundsElsewhere(
  instance: Instance,
  rows: readonly Row[],
  deps: ProviderDeps,
): Promise<Returns | { readonly problem: string }> {
  const reversals: Reversal[] = [];
  const unsure: Unsure[] = [];
  for (const row of rows) {
    const [orderNo, request] = [row("order"), row("request")];
    if (!REFUND.test(row("kind")) || !isOwnOrder(orderNo) || request.startsWith(OWN_REFUND)) continue;
    // A refund without a number of its own is known by that of its order (vendors/alipay).
    const providerId = request === "" ? orderNo : request;
    const biz = { out_trade_no: orderNo, out_request_no: providerId };
    const answer = await alipayCall(instance, "alipay.trade.fastpay.refund.query", { biz, deps });
    if (answer.kind === "unclear") return answer;
    if (isPassing(answer)) return { problem: named(answer) };
    const amountMinor = confirmed(answer.body, orderNo);
    const facts = { providerId, orderNo, tradeNo: row("trade") };
    if (amountMinor === 0) unsure.push(facts);
    else
      reversals.push({
        ...facts,
        ...{ source: "elsewhere", amountMinor, isTotal: false, isListed: true, isUndone: false },
      });
  }
  return { reversals, unsure };
}

/** What of an order went back by a signed answer; 0 = it names nothing that did. */
function confirmed(body: Record<string, unknown>, orderNo: string): number {
  const isSo =
    body["code"] === "10000" &&
    body["out_trade_no"] === orderNo &&
    body["refund_status"] === "REFUND_SUCCESS";
  return isSo ? (minorOf(textOf(body["refund_amount"])) ?? 0) : 0;
}
