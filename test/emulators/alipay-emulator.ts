// Alipay's gateway for pre-created trades; the vendor's own package talks to it in alipay.test.ts (vendors/alipay).
import { minorOf, minorText } from "#contract/money.ts";
import { formBody, joined } from "#server/payments/wire/form.ts";
import { signRsa, verifiesRsa } from "#server/secrets/payment-crypto.ts";
import { keyPair, type Now, PayDesk, type PayOrder } from "./pay-desk.ts";

const APP_ID = "2021000000000001";
const SELLER_ID = "2088000000000001";

export async function startAlipay(_now: Now) {
  const desk = new PayDesk();
  const merchant = keyPair();
  const platform = keyPair();
  const refunds = new Set<string>();
  type Biz = Readonly<Record<string, string>>;
  /** `isWronglySigned`: answers carry a signature of something else; `look`: what questions about orders are answered with beside, or instead of, what is so. */
  const faults: { isWronglySigned: boolean; look: Biz } = { isWronglySigned: false, look: {} };

  const missing = { code: "40004", msg: "Business Failed", sub_code: "ACQ.TRADE_NOT_EXIST" };
  const done = { code: "10000", msg: "Success" };

  async function precreate(biz: Biz, notifyUrl: string): Promise<Biz> {
    const orderNo = biz["out_trade_no"] ?? "";
    const amount = minorOf(biz["total_amount"] ?? "") ?? 0;
    const { tradeNo } = await desk.take({ orderNo, amount, currency: "CNY", notifyUrl });
    return { ...done, out_trade_no: orderNo, qr_code: `https://qr.alipay.example/${tradeNo}` };
  }

  function close(order: PayOrder): Biz {
    if (order.state === "paid") return { ...missing, sub_code: "ACQ.TRADE_STATUS_ERROR" };
    order.state = "closed";
    return { ...done, out_trade_no: order.orderNo };
  }

  function refund(order: PayOrder, biz: Biz): Biz {
    const number = biz["out_request_no"] ?? "";
    const isNew = !refunds.has(number);
    if (isNew) order.refunded += minorOf(biz["refund_amount"] ?? "") ?? 0;
    refunds.add(number);
    return { ...done, fund_change: isNew ? "Y" : "N", refund_fee: minorText(order.refunded) };
  }

  function look(order: PayOrder): Biz {
    const status = order.state === "paid" ? "TRADE_SUCCESS" : "TRADE_CLOSED";
    const { orderNo, tradeNo, amount } = order;
    return {
      ...done,
      out_trade_no: orderNo,
      trade_no: tradeNo,
      trade_status: status,
      total_amount: minorText(amount),
      ...faults.look,
    };
  }

  async function answer(method: string, biz: Biz, notifyUrl: string): Promise<Biz> {
    if (method === "alipay.trade.precreate") return precreate(biz, notifyUrl);
    const order = desk.orders.get(biz["out_trade_no"] ?? "");
    // A code that nobody has scanned is no trade yet.
    if (!order || order.state === "open") return missing;
    if (method === "alipay.trade.close") return close(order);
    if (method === "alipay.trade.refund") return refund(order, biz);
    if (method === "alipay.trade.query") return look(order);
    return refunds.has(biz["out_request_no"] ?? "") ? { ...done, refund_status: "REFUND_SUCCESS" } : done;
  }

  await desk.start(async ({ body, query }) => {
    // The vendor's package sends what is not the business content in the address.
    const params = new Map([...query, ...new URLSearchParams(body)]);
    const method = params.get("method") ?? "";
    const isSigned = verifiesRsa(joined(params, ["sign"]), params.get("sign") ?? "", merchant.publicKey);
    const biz: Record<string, string> = JSON.parse(params.get("biz_content") ?? "{}");
    const inner = isSigned
      ? await answer(method, biz, params.get("notify_url") ?? "")
      : { code: "40002", msg: "Invalid Arguments", sub_code: "isv.invalid-signature" };
    // Spaces and escapes as no re-serialisation would write them.
    const text = JSON.stringify(inner, null, 1).replaceAll("/", "\\/");
    const sign = signRsa(faults.isWronglySigned ? `${text} ` : text, platform.privateKey);
    const whole = `{"${method.replaceAll(".", "_")}_response":${text},"sign":"${sign}"}`;
    return { body: Buffer.from(whole) };
  });

  return {
    desk,
    appId: APP_ID,
    sellerId: SELLER_ID,
    merchant,
    platform,
    faults,
    /** The form of a notice, signed after the changes. */
    notice(order: PayOrder, change: Readonly<Record<string, string>> = {}): string {
      const fields = Object.entries({
        app_id: APP_ID,
        seller_id: SELLER_ID,
        notify_id: "20261124002220001200000000000001",
        notify_type: "trade_status_sync",
        out_trade_no: order.orderNo,
        trade_no: order.tradeNo,
        trade_status: "TRADE_SUCCESS",
        total_amount: minorText(order.amount),
        receipt_amount: minorText(order.amount - 1),
        subject: "账户充值",
        ...change,
      });
      const sign = signRsa(joined(fields, ["sign", "sign_type"]), platform.privateKey);
      const kind = change["sign_type"] ?? "RSA2";
      return formBody([
        ...fields.filter(([name]) => name !== "sign_type"),
        ["sign", sign],
        ["sign_type", kind],
      ]);
    },
  };
}

export type AlipayEmulator = Awaited<ReturnType<typeof startAlipay>>;
