// Alipay's bill of a day: an address for half a minute, behind it an archive of texts in GBK (vendors/alipay-bill). The file is not signed, so
// that it raises questions only.
import { minorOf } from "#contract/money.ts";
import { dayOf } from "#contract/month.ts";
import type { Instance, Listed, Payment, ProviderDeps, Span } from "#server/payments/provider.ts";
import { BILL_MADE_SEC, type BillRow, beijingSec, billRows, linesOf } from "#server/payments/wire/bill.ts";
import { unzip } from "#server/payments/wire/zip.ts";
import { alipayCall, named } from "./alipay-call.ts";
import { fetchBill, problemOf, textOf } from "./call.ts";

const MOST_BYTES = 64 * 1024 * 1024;
const TITLES = {
  trade: /^支付宝交易号/,
  order: /^商户订单号/,
  kind: /^业务类型/,
  done: /^完成时间/,
  amount: /^订单金额/,
};
type Row = BillRow<keyof typeof TITLES>;

const SHAPE = {
  titles: TITLES,
  cellsOf: (line: string) => line.split(","),
  isLast: (line: string) => line.startsWith("#"),
};
/** The others are refunds. */
const PAYMENT = /^交易$/;

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
  return { kind: "listed", payments, isHearsay: true };
}
