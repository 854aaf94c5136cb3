// WeChat Pay's bill of a day: a signed answer names the file and its hash (vendors/wechat-bill). Payments, and refunds made at the merchant's
// platform.
import { minorOf } from "#contract/money.ts";
import { dayOf } from "#contract/month.ts";
import {
  type Instance,
  type Listed,
  OWN_REFUND,
  type Payment,
  type ProviderDeps,
  type Reversal,
  type Span,
} from "#server/payments/provider.ts";
import { BILL_MADE_SEC, type BillRow, beijingSec, billRows, linesOf } from "#server/payments/wire/bill.ts";
import { sha1Hex } from "#server/secrets/payment-crypto.ts";
import { fetchBill, problemOf, textOf } from "./call.ts";
import { wechatAuthorization, wechatCall, wechatProblem } from "./wechat-call.ts";

/** Every cell begins with one, so that spreadsheets keep long numbers. */
const TICK = "`";
const TITLES = {
  at: /^交易时间/,
  merchant: /^商户号/,
  trade: /^微信订单号/,
  order: /^商户订单号/,
  state: /^交易状态/,
  currency: /^货币种类/,
  refundId: /^微信退款单号/,
  refundNo: /^商户退款单号/,
  refundState: /^退款状态/,
  amount: /^订单金额/,
  refunded: /^申请退款金额/,
};
type Row = BillRow<keyof typeof TITLES>;

const SHAPE = {
  titles: TITLES,
  cellsOf: (line: string) => line.slice(TICK.length).split(`,${TICK}`),
  // The titles of the sums.
  isLast: (line: string) => !line.startsWith(TICK),
};

function paymentOf(row: Row): Payment {
  return {
    orderNo: row("order"),
    tradeNo: row("trade"),
    amountMinor: minorOf(row("amount")) ?? -1,
    currency: row("currency"),
    paidSec: beijingSec(row("at")) ?? 0,
  };
}

function reversalOf(row: Row): Reversal {
  return {
    source: "elsewhere",
    providerId: row("refundId"),
    orderNo: row("order"),
    tradeNo: row("trade"),
    amountMinor: minorOf(row("refunded")) ?? 0,
    isTotal: false,
    isUndone: false,
  };
}

/** Ours are known by their number. */
function isRefundElsewhere(row: Row): boolean {
  return row("refundState") === "SUCCESS" && !row("refundNo").startsWith(OWN_REFUND);
}

function read(instance: Instance, text: string): Listed {
  const rows = billRows(linesOf(text.replace(/^\uFEFF/, "")), SHAPE);
  if (!rows) return { kind: "unclear", problem: "a bill that cannot be read" };
  const ours = rows.filter((row) => row("merchant") === instance.merchantId);
  return {
    kind: "listed",
    payments: ours.filter((row) => row("state") === "SUCCESS").map(paymentOf),
    reversals: ours.filter((row) => row("state") === "REFUND" && isRefundElsewhere(row)).map(reversalOf),
  };
}

/** The payments of a day, and the refunds that were made in it. */
export async function listWeChat(instance: Instance, span: Span, deps: ProviderDeps): Promise<Listed> {
  const path = `/v3/bill/tradebill?bill_date=${dayOf(span.fromSec)}&bill_type=ALL`;
  const answer = await wechatCall(instance, deps, { method: "GET", path });
  if (answer.kind === "refused" && answer.code === "NO_STATEMENT_EXIST")
    return deps.nowSec < span.beforeSec + BILL_MADE_SEC
      ? { kind: "later" }
      : { kind: "listed", payments: [] };
  if (answer.kind === "refused" && answer.code === "STATEMENT_CREATING") return { kind: "later" };
  if (answer.kind !== "ok") return { kind: "unclear", problem: wechatProblem(answer) };
  const address = textOf(answer.body["download_url"]);
  if (!URL.canParse(address)) return { kind: "unclear", problem: "no address" };
  // On our own way to WeChat Pay, whatever host it names: no other host is to see the header.
  const file = new URL(address);
  const where = file.pathname + file.search;
  const authorization = wechatAuthorization(instance, {
    method: "GET",
    path: where,
    nowSec: deps.nowSec,
    body: "",
  });
  const headers = ["authorization", authorization ?? "", "accept", "*/*"];
  const bill = await fetchBill(deps.egress, { url: instance.baseUrl + where, headers });
  if (bill.kind === "fault" || bill.status !== 200) return { kind: "unclear", problem: problemOf(bill) };
  if (answer.body["hash_type"] !== "SHA1" || textOf(answer.body["hash_value"]) !== sha1Hex(bill.bytes))
    return { kind: "unclear", problem: "hash" };
  return read(instance, bill.bytes.toString("utf8"));
}
