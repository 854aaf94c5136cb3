// Every line that verifies what a payment provider says, and what the code is without it: `scripts/mutants.ts` removes them one by one, and a
// test has to fail each time (requirements Y07, Y12–Y16, Y23, Y29–Y33).

export interface Removed {
  readonly file: string;
  /** As it stands, once in the file. */
  readonly check: string;
  readonly without: string;
}

const IN = "src/server/payments/";
const SIGNATURES = `${IN}wire/signatures.ts`;
const FORM = `${IN}wire/form.ts`;
const CRYPTO = "src/server/secrets/payment-crypto.ts";
const EPAY = `${IN}providers/epay.ts`;
const STRIPE = `${IN}providers/stripe.ts`;
const ALIPAY = `${IN}providers/alipay.ts`;
const ALIPAY_CALL = `${IN}providers/alipay-call.ts`;
const WECHAT = `${IN}providers/wechat.ts`;
const WECHAT_CALL = `${IN}providers/wechat-call.ts`;
const WECHAT_BILL = `${IN}providers/wechat-bill.ts`;
const RULES = "src/server/money/rules-orders.ts";

const removed = (file: string, check: string, without: string): Removed => ({ file, check, without });

export const PAYMENT_CHECKS: readonly Removed[] = [
  // What all providers share.
  removed(
    CRYPTO,
    "left.length === right.length && timingSafeEqual(left, right)",
    "left.length === right.length",
  ),
  removed(FORM, "CONTROL.test(value) || ", ""),
  removed(FORM, " || params.has(name)", ""),
  removed(FORM, "!NAME.test(name) || ", ""),
  removed(`${IN}instances.ts`, '.filter((secret) => secret.trim() !== "")', ""),
  removed(
    `${IN}proofs.ts`,
    "if (order?.instance_id !== instance.id) {\n    await bringOddity(tools, instance, { orderNo: payment.orderNo",
    "if (!order) {\n    await bringOddity(tools, instance, { orderNo: payment.orderNo",
  ),
  removed(RULES, 'if (proof && proof.currency !== order.currency) return no("currency");', ""),
  removed(RULES, 'if (proof && proof.amountMinor !== order.amountMinor) return no("amount");', ""),
  removed(RULES, 'if (holder === order.orderNo) return said("duplicate");', ""),
  removed(RULES, 'if (holder !== undefined) return said("trade_used", "trade_used");', ""),
  removed(RULES, 'if (order.status === "credited") return flag(desk, order, "paid_twice");', ""),
  removed(
    RULES,
    'if (!user || user.status === UserStatus.deleted) return no("user_gone");',
    'if (!user) return no("user_gone");',
  ),
  // 易支付.
  removed(SIGNATURES, 'key !== "" && sameSignature(params.get("sign")', 'sameSignature(params.get("sign")'),
  removed(SIGNATURES, 'sameSignature(params.get("sign") ?? "", signEpayV1(params, key))', "true"),
  removed(SIGNATURES, 'isNear(params.get("timestamp") ?? "", nowSec) &&\n    verifiesRsa', "verifiesRsa"),
  removed(SIGNATURES, '&&\n    verifiesRsa(joined(params, UNSIGNED), params.get("sign") ?? "", key)', ""),
  removed(
    EPAY,
    'if (params.get("pid") !== instance.merchantId) return { kind: "foreign", orderNo: paid.orderNo, key };',
    "",
  ),
  removed(EPAY, 'if (status !== "TRADE_SUCCESS") return { kind: "ignored" };', ""),
  removed(EPAY, " || OF_REQUESTS.some((name) => params.has(name))", ""),
  removed(EPAY, "isAmbiguous(params) || ", ""),
  removed(
    EPAY,
    'if (request.method === "POST" && request.query !== "")\n    return { kind: "refused", problem: "query and body" };',
    "",
  ),
  removed(
    EPAY,
    'if (answer.get("code") !== version.okCode(instance)) return { kind: "odd", problem: codeOf(answer) };',
    "",
  ),
  removed(EPAY, 'version === v2 || flat.has("out_trade_no")', 'flat.has("out_trade_no")'),
  removed(
    EPAY,
    'if (answer.get("out_trade_no") !== order.orderNo) return { kind: "unclear", problem: "another order" };',
    "",
  ),
  removed(
    EPAY,
    'if (answer.get("pid") !== instance.merchantId) return { kind: "unclear", problem: "another merchant" };',
    "",
  ),
  removed(EPAY, 'if (answer.get("status") !== "1") return { kind: "open" };', ""),
  removed(
    EPAY,
    'if ((answer.get("trade_status") ?? "TRADE_SUCCESS") !== "TRADE_SUCCESS") return { kind: "open" };',
    "",
  ),
  removed(
    EPAY,
    'paid.tradeNo === ""\n    ? { kind: "unclear", problem',
    'false\n    ? { kind: "unclear", problem',
  ),
  removed(
    EPAY,
    'paid.tradeNo === ""\n    ? { kind: "refused", problem',
    'false\n    ? { kind: "refused", problem',
  ),
  removed(EPAY, "&&\n    !version.verifies(instance, flat, deps.nowSec)\n", "&&\n    false\n"),
  // Stripe.
  removed(SIGNATURES, "if (times.length !== 1 || !isNear(time, nowSec)) return false;", ""),
  removed(
    SIGNATURES,
    "given.some((value) => expected.some((one) => sameSignature(value, one)))",
    "given.length > 0",
  ),
  removed(SIGNATURES, '    .filter((secret) => secret !== "")\n', ""),
  removed(
    STRIPE,
    'if (session["livemode"] !== isLive(instance)) return { kind: "unclear", problem: "livemode" };',
    "",
  ),
  removed(
    STRIPE,
    'if (event?.["livemode"] !== isLive(instance))\n    return PAID_EVENTS.includes(type) ? { kind: "foreign", orderNo: "", key } : { kind: "ignored" };',
    "",
  ),
  removed(
    STRIPE,
    'if (session["payment_status"] !== "paid")\n    return session["status"] === "expired" ? { kind: "gone" } : { kind: "open" };',
    "",
  ),
  removed(STRIPE, 'if (tradeNo === "") return { kind: "unclear", problem: "no payment" };', ""),
  // Alipay.
  removed(SIGNATURES, 'params.get("sign_type") === "RSA2" && ', ""),
  removed(
    SIGNATURES,
    'params.get("sign_type") === "RSA2" && verifiesRsa(joined(params, UNSIGNED), params.get("sign") ?? "", key)',
    'params.get("sign_type") === "RSA2"',
  ),
  removed(ALIPAY, " || isAmbiguous(params)", ""),
  removed(ALIPAY, 'get("app_id") !== instance.field("app_id") || ', ""),
  removed(ALIPAY, ' || get("seller_id") !== instance.merchantId', ""),
  removed(
    ALIPAY,
    'if (params.has("refund_fee") || params.has("gmt_refund"))\n    return refundNotice(params, { orderNo, tradeNo, key });',
    "",
  ),
  removed(
    ALIPAY,
    'if (status !== "TRADE_SUCCESS" && status !== "TRADE_FINISHED") return { kind: "ignored" };',
    "",
  ),
  removed(ALIPAY, 'minorOf(get("total_amount")) ?? -1', 'minorOf(get("receipt_amount")) ?? -1'),
  removed(
    ALIPAY,
    'if (textOf(body["out_trade_no"]) !== order.orderNo) return { kind: "unclear", problem: "another order" };',
    "",
  ),
  removed(
    ALIPAY,
    'if (status !== "TRADE_SUCCESS" && status !== "TRADE_FINISHED") return { kind: "open" };',
    "",
  ),
  removed(ALIPAY, 'if (tradeNo === "") return { kind: "unclear", problem: "no trade number" };', ""),
  removed(ALIPAY, 'if (tradeNo === "") return { kind: "refused", problem: "no trade number" };', ""),
  removed(ALIPAY_CALL, " || !verifiesRsa(inner, sign, key)", ""),
  // WeChat Pay.
  removed(SIGNATURES, 'if (signature.startsWith("WECHATPAY/SIGNTEST/")) return "probe";', ""),
  removed(SIGNATURES, ' || nonce === "" || !isNear(timestamp, nowSec)', ' || nonce === ""'),
  removed(SIGNATURES, 'verifiesRsa(text, signature, key) ? "valid" : "invalid"', '"valid"'),
  removed(
    WECHAT_CALL,
    'return isSigned\n      ? { kind: "ok"',
    'return !isSigned || isSigned\n      ? { kind: "ok"',
  ),
  removed(WECHAT, ' && textOf(body["appid"]) === instance.field("app_id")', ""),
  removed(WECHAT, 'textOf(body["mchid"]) === instance.merchantId && ', ""),
  removed(
    WECHAT,
    'if (!isOurs(instance, body)) return { kind: "foreign", orderNo: payment.orderNo, key };',
    "",
  ),
  removed(
    WECHAT,
    'if (!isOurs(instance, answer.body)) return { kind: "unclear", problem: "another merchant" };',
    "",
  ),
  removed(WECHAT, ' || body["trade_state"] !== "SUCCESS"', ""),
  removed(WECHAT, 'type !== "TRANSACTION.SUCCESS" || ', ""),
  removed(WECHAT, 'if (state !== "SUCCESS" && state !== "REFUND") return { kind: "open" };', ""),
  removed(WECHAT, "payment.orderNo !== order.orderNo || ", ""),
  removed(WECHAT, ' || payment.tradeNo === ""', ""),
  removed(WECHAT, 'return payment.tradeNo === ""\n', "return false\n"),
  removed(WECHAT, ' || resource["algorithm"] !== "AEAD_AES_256_GCM"', ""),
  removed(
    WECHAT,
    "const { total, currency } = memberOf",
    "const { payer_total: total, currency } = memberOf",
  ),
  removed(
    WECHAT_BILL,
    'answer.body["hash_type"] !== "SHA1" || textOf(answer.body["hash_value"]) !== sha1Hex(bill.bytes)',
    "false",
  ),
  removed(CRYPTO, "secret.length !== 32 || iv.length !== 12 || ", ""),
  removed(CRYPTO, ".setAuthTag(bytes.subarray(end))", ""),
];
