// WeChat Pay, API v3, native payments (a QR code). Answers and callbacks are verified with a set of keys by serial (vendors/wechat-pay).

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
import { OWN_REFUND, SUBJECT } from "#server/payments/provider.ts";
import { verifyWeChat } from "#server/payments/wire/signatures.ts";
import { openGcm } from "#server/secrets/payment-crypto.ts";
import { memberOf, objectOf, textOf } from "./call.ts";
import { listWeChat } from "./wechat-bill.ts";
import { type WeChatAnswer, wechatCall, wechatKeys, wechatProblem, wechatSigned } from "./wechat-call.ts";

/** RFC 3339 in Beijing. */
function beijing(sec: number): string {
  return `${new Date((sec + 8 * 3600) * 1000).toISOString().slice(0, 19)}+08:00`;
}

async function create(instance: Instance, order: OrderFacts, deps: ProviderDeps): Promise<Created> {
  const content = {
    appid: instance.field("app_id"),
    mchid: instance.merchantId,
    description: SUBJECT,
    out_trade_no: order.orderNo,
    notify_url: deps.notifyUrl,
    time_expire: beijing(order.expiresSec),
    amount: { total: order.amountMinor, currency: "CNY" },
  };
  const answer = await wechatCall(instance, deps, {
    method: "POST",
    path: "/v3/pay/transactions/native",
    content,
  });
  if (answer.kind !== "ok") return { kind: answer.kind, problem: wechatProblem(answer) };
  const qr = textOf(answer.body["code_url"]);
  return qr === "" ? { kind: "unclear", problem: "no code" } : { kind: "ready", qr, url: "", session: "" };
}

function look(instance: Instance, orderNo: string, deps: ProviderDeps): Promise<WeChatAnswer> {
  const path = `/v3/pay/transactions/out-trade-no/${orderNo}?mchid=${encodeURIComponent(instance.merchantId)}`;
  return wechatCall(instance, deps, { method: "GET", path });
}

const probe: Provider["probe"] = async (instance, orderNo, deps) => {
  const answer = await look(instance, orderNo, deps);
  if (answer.kind === "ok") return { kind: "unclear", problem: "odd answer" };
  if (answer.kind === "refused" && answer.code === "ORDER_NOT_EXIST") return { kind: "accepted" };
  // A no without a code is not WeChat's.
  const isNo = answer.kind === "refused" && answer.code !== "";
  return { kind: isNo ? "refused" : "unclear", problem: wechatProblem(answer) };
};

async function ask(instance: Instance, order: OrderFacts, deps: ProviderDeps): Promise<Asked> {
  const answer = await look(instance, order.orderNo, deps);
  if (answer.kind === "refused" && answer.code === "ORDER_NOT_EXIST") return { kind: "open" };
  if (answer.kind !== "ok") return { kind: "unclear", problem: wechatProblem(answer) };
  const state = textOf(answer.body["trade_state"]);
  if (state === "CLOSED" || state === "REVOKED") return { kind: "gone" };
  // REFUND: it was paid, and what went back is booked by itself.
  if (state !== "SUCCESS" && state !== "REFUND") return { kind: "open" };
  if (!isOurs(instance, answer.body)) return { kind: "unclear", problem: "another merchant" };
  const payment = paymentOf(answer.body);
  if (payment.orderNo !== order.orderNo || payment.tradeNo === "")
    return { kind: "unclear", problem: "another order" };
  return { kind: "paid", payment };
}

function isOurs(instance: Instance, body: Record<string, unknown>): boolean {
  return textOf(body["mchid"]) === instance.merchantId && textOf(body["appid"]) === instance.field("app_id");
}

/** `amount.total` and not `payer_total`, which coupons lower. */
function paymentOf(body: Record<string, unknown>) {
  const { total, currency } = memberOf(body, "amount");
  return {
    orderNo: textOf(body["out_trade_no"]),
    tradeNo: textOf(body["transaction_id"]),
    amountMinor: typeof total === "number" && Number.isSafeInteger(total) ? total : -1,
    currency: textOf(currency) || "CNY",
    paidSec: 0,
  };
}

function read(instance: Instance, request: CallbackRequest, deps: ProviderDeps): Notice {
  const signed = wechatSigned((name) => request.header(name), request.body);
  const verdict = verifyWeChat(signed, wechatKeys(instance.field("platform_key")), deps.nowSec);
  if (request.method !== "POST" || verdict !== "valid")
    return { kind: "refused", problem: verdict === "probe" ? "probe" : "signature" };
  const event = objectOf(Buffer.from(request.body).toString("utf8"));
  const resource = memberOf(event, "resource");
  const [nonce, aad, sealed] = [resource["nonce"], resource["associated_data"], resource["ciphertext"]].map(
    textOf,
  );
  const plain = instance
    .secrets("api_key")
    .map((key) => openGcm(sealed ?? "", { key, nonce: nonce ?? "", aad: aad ?? "" }))
    .find((text) => text !== undefined);
  const body = plain === undefined ? undefined : objectOf(plain);
  if (!body || resource["algorithm"] !== "AEAD_AES_256_GCM") return { kind: "refused", problem: "cipher" };
  return judge(instance, textOf(event?.["event_type"]), body);
}

function judge(instance: Instance, type: string, body: Record<string, unknown>): Notice {
  if (type.startsWith("REFUND.")) return refundNotice(instance, type, body);
  if (type !== "TRANSACTION.SUCCESS" || body["trade_state"] !== "SUCCESS") return { kind: "ignored" };
  const payment = paymentOf(body);
  const from = [textOf(body["mchid"]), textOf(body["appid"])];
  const key = [...from, payment.orderNo, payment.tradeNo, "SUCCESS", payment.amountMinor].join("/");
  if (!isOurs(instance, body)) return { kind: "foreign", orderNo: payment.orderNo, key };
  return payment.tradeNo === ""
    ? { kind: "refused", problem: "no transaction" }
    : { kind: "paid", payment, key };
}

/** Refunds made at the merchant's platform; ours are known by their number. */
function refundNotice(instance: Instance, type: string, body: Record<string, unknown>): Notice {
  const amount = memberOf(body, "amount")["refund"];
  const [orderNo, tradeNo, refundNo, id] = [
    "out_trade_no",
    "transaction_id",
    "out_refund_no",
    "refund_id",
  ].map((name) => textOf(body[name]));
  const key = `${id}/${type}`;
  if (textOf(body["mchid"]) !== instance.merchantId) return { kind: "foreign", orderNo: orderNo ?? "", key };
  const isOurs = (refundNo ?? "").startsWith(OWN_REFUND);
  if (type !== "REFUND.SUCCESS" || isOurs || typeof amount !== "number" || !(amount > 0))
    return { kind: "ignored" };
  return {
    kind: "reversed",
    key,
    reversal: {
      source: "elsewhere",
      providerId: id ?? "",
      orderNo: orderNo ?? "",
      tradeNo: tradeNo ?? "",
      amountMinor: amount,
      isTotal: false,
      isUndone: false,
    },
  };
}

function refundVerdict(answer: WeChatAnswer): Refunded {
  if (answer.kind === "unclear") return answer;
  if (answer.kind === "refused") return { kind: "failed", problem: wechatProblem(answer) };
  const status = textOf(answer.body["status"]);
  if (status === "SUCCESS") return { kind: "done", providerId: textOf(answer.body["refund_id"]) };
  if (status === "CLOSED") return { kind: "failed", problem: status };
  // ABNORMAL: the payer's card is closed, the money waits at the merchant's platform for a person.
  return status === "ABNORMAL" ? { kind: "unclear", problem: status } : { kind: "taken" };
}

const refund: Provider["refund"] = async (instance, order, { refundNo, amountMinor, deps }) =>
  refundVerdict(
    await wechatCall(instance, deps, {
      method: "POST",
      path: "/v3/refund/domestic/refunds",
      content: {
        out_trade_no: order.orderNo,
        out_refund_no: refundNo,
        amount: { refund: amountMinor, total: order.paidMinor, currency: "CNY" },
      },
    }),
  );

const askRefund: Provider["askRefund"] = async (instance, _order, { refundNo, deps }) => {
  const answer = await wechatCall(instance, deps, {
    method: "GET",
    path: `/v3/refund/domestic/refunds/${refundNo}`,
  });
  return answer.kind === "refused"
    ? { kind: "unclear", problem: wechatProblem(answer) }
    : refundVerdict(answer);
};

export const wechat: Provider = {
  accepted: { status: 200, body: '{"code":"SUCCESS"}' },
  refused: { status: 401, body: '{"code":"FAIL"}' },
  create,
  ask,
  probe,
  async close(instance, order, deps) {
    const path = `/v3/pay/transactions/out-trade-no/${order.orderNo}/close`;
    const answer = await wechatCall(instance, deps, {
      method: "POST",
      path,
      content: { mchid: instance.merchantId },
    });
    return answer.kind === "unclear" ? "unclear" : "closed";
  },
  read,
  list: listWeChat,
  refund,
  askRefund,
};
