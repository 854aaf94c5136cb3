// Alipay's open platform with plain keys. Requests are signed, answers verified over the bytes that were sent (vendors/alipay).
import { minorOf, minorText } from "#contract/money.ts";
import type {
  Asked,
  CallbackRequest,
  Created,
  Instance,
  Notice,
  OrderFacts,
  Provider,
  ProviderDeps,
  Refunded,
} from "#server/payments/provider.ts";
import { SUBJECT } from "#server/payments/provider.ts";
import { formBody, isAmbiguous, type Params, parseForm } from "#server/payments/wire/form.ts";
import { verifiesAlipayNotice } from "#server/payments/wire/signatures.ts";
import { rsaPublicKey } from "#server/secrets/payment-crypto.ts";
import { listAlipay } from "./alipay-bill.ts";
import { alipayCall, beijing, isPassing, named, signedAlipay } from "./alipay-call.ts";
import { textOf } from "./call.ts";

async function create(instance: Instance, order: OrderFacts, deps: ProviderDeps): Promise<Created> {
  const biz = {
    out_trade_no: order.orderNo,
    total_amount: minorText(order.amountMinor),
    subject: SUBJECT,
    ...(order.method === "page"
      ? { product_code: "FAST_INSTANT_TRADE_PAY", time_expire: beijing(order.expiresSec) }
      : { timeout_express: `${Math.max(1, Math.ceil((order.expiresSec - deps.nowSec) / 60))}m` }),
  };
  if (order.method === "page") {
    const params = signedAlipay(instance, { method: "alipay.trade.page.pay", biz, deps, isPage: true });
    if (!params) return { kind: "refused", problem: "no usable key" };
    return { kind: "ready", qr: "", url: `${instance.baseUrl}/gateway.do?${formBody(params)}`, session: "" };
  }
  const answer = await alipayCall(instance, "alipay.trade.precreate", { biz, deps });
  if (answer.kind === "unclear") return answer;
  const qr = textOf(answer.body["qr_code"]);
  if (answer.code !== "10000" || qr === "")
    return { kind: isPassing(answer) ? "unclear" : "refused", problem: named(answer) };
  return { kind: "ready", qr, url: "", session: "" };
}

async function ask(instance: Instance, order: OrderFacts, deps: ProviderDeps): Promise<Asked> {
  const biz = { out_trade_no: order.orderNo };
  const answer = await alipayCall(instance, "alipay.trade.query", { biz, deps });
  if (answer.kind === "unclear") return answer;
  // Until a code is scanned there is no trade (vendors/alipay).
  if (answer.sub === "ACQ.TRADE_NOT_EXIST") return { kind: "open" };
  if (answer.code !== "10000") return { kind: "unclear", problem: named(answer) };
  const { body } = answer;
  if (textOf(body["out_trade_no"]) !== order.orderNo) return { kind: "unclear", problem: "another order" };
  const status = textOf(body["trade_status"]);
  if (status === "TRADE_CLOSED") return { kind: "gone" };
  if (status !== "TRADE_SUCCESS" && status !== "TRADE_FINISHED") return { kind: "open" };
  const tradeNo = textOf(body["trade_no"]);
  if (tradeNo === "") return { kind: "unclear", problem: "no trade number" };
  const amountMinor = minorOf(textOf(body["total_amount"])) ?? -1;
  return {
    kind: "paid",
    payment: { orderNo: order.orderNo, tradeNo, amountMinor, currency: "CNY", paidSec: 0 },
  };
}

const probe: Provider["probe"] = async (instance, orderNo, deps) => {
  const biz = { out_trade_no: orderNo };
  const answer = await alipayCall(instance, "alipay.trade.query", { biz, deps });
  if (answer.kind === "unclear") return answer;
  if (answer.sub === "ACQ.TRADE_NOT_EXIST") return { kind: "accepted" };
  return { kind: isPassing(answer) ? "unclear" : "refused", problem: named(answer) };
};

/** All of it, then one answer (requirements Y29). */
function read(instance: Instance, request: CallbackRequest): Notice {
  if (request.method !== "POST") return { kind: "refused", problem: "method" };
  const params = parseForm(Buffer.from(request.body).toString("utf8"));
  const key = rsaPublicKey(instance.field("platform_key"));
  if (!params || !key || isAmbiguous(params)) return { kind: "refused", problem: "form" };
  if (!verifiesAlipayNotice(params, key)) return { kind: "refused", problem: "signature" };
  return judge(instance, params);
}

function judge(instance: Instance, params: Params): Notice {
  const get = (name: string) => params.get(name) ?? "";
  const [status, orderNo, tradeNo] = [get("trade_status"), get("out_trade_no"), get("trade_no")];
  const amounts = [get("total_amount"), get("refund_fee")];
  const key = [get("app_id"), get("seller_id"), orderNo, tradeNo, status, ...amounts].join("/");
  if (get("app_id") !== instance.field("app_id") || get("seller_id") !== instance.merchantId)
    return { kind: "foreign", orderNo, key };
  // A part refund repeats TRADE_SUCCESS; ours are asked about by their own number, others are found by the totals.
  if (params.has("refund_fee") || params.has("gmt_refund"))
    return refundNotice(params, { orderNo, tradeNo, key });
  if (status !== "TRADE_SUCCESS" && status !== "TRADE_FINISHED") return { kind: "ignored" };
  if (tradeNo === "") return { kind: "refused", problem: "no trade number" };
  const amountMinor = minorOf(get("total_amount")) ?? -1;
  return { kind: "paid", key, payment: { orderNo, tradeNo, amountMinor, currency: "CNY", paidSec: 0 } };
}

/** `refund_fee` is the sum of all refunds so far; `out_biz_no` names the one. */
function refundNotice(
  params: Params,
  { orderNo, tradeNo, key }: { orderNo: string; tradeNo: string; key: string },
): Notice {
  const amountMinor = minorOf(params.get("refund_fee") ?? "") ?? 0;
  const providerId = `total-${amountMinor}`;
  if (amountMinor <= 0) return { kind: "ignored" };
  const reversal = {
    source: "elsewhere",
    providerId,
    orderNo,
    tradeNo,
    amountMinor,
    isTotal: true,
    isUndone: false,
  } as const;
  return { kind: "reversed", key, reversal };
}

const refund: Provider["refund"] = async (instance, order, { refundNo, amountMinor, deps }) => {
  const biz = {
    out_trade_no: order.orderNo,
    refund_amount: minorText(amountMinor),
    out_request_no: refundNo,
    refund_reason: SUBJECT,
  };
  const answer = await alipayCall(instance, "alipay.trade.refund", { biz, deps });
  if (answer.kind === "unclear") return answer;
  // 10000 is "taken": done only when money moved.
  if (answer.code === "10000")
    return answer.body["fund_change"] === "Y" ? { kind: "done", providerId: "" } : { kind: "taken" };
  return isPassing(answer)
    ? { kind: "unclear", problem: named(answer) }
    : { kind: "failed", problem: named(answer) };
};

const askRefund: Provider["askRefund"] = async (instance, order, { refundNo, deps }): Promise<Refunded> => {
  const biz = { out_trade_no: order.orderNo, out_request_no: refundNo };
  const answer = await alipayCall(instance, "alipay.trade.fastpay.refund.query", { biz, deps });
  if (answer.kind === "unclear") return answer;
  if (answer.code !== "10000") return { kind: "unclear", problem: named(answer) };
  // One that never arrived is answered like this too: without a status, it is not known to be on its way.
  return answer.body["refund_status"] === "REFUND_SUCCESS"
    ? { kind: "done", providerId: "" }
    : { kind: "unclear", problem: "no such refund" };
};

export const alipay: Provider = {
  accepted: { status: 200, body: "success" },
  refused: { status: 400, body: "fail" },
  create,
  ask,
  probe,
  async close(instance, order, deps) {
    const biz = { out_trade_no: order.orderNo };
    const answer = await alipayCall(instance, "alipay.trade.close", { biz, deps });
    if (answer.kind === "unclear" || isPassing(answer)) return "unclear";
    return "closed";
  },
  read,
  list: listAlipay,
  refund,
  refundGapSec: 3,
  askRefund,
};
