// WeChat Pay's API v3 for native payments: verifies requests, signs answers, seals callbacks (vendors/wechat-pay).
import { createCipheriv } from "node:crypto";
import { signRsa, verifiesRsa } from "#server/secrets/payment-crypto.ts";
import { keyPair, type Now, PayDesk, type PayOrder } from "./pay-desk.ts";

const SERIAL = "PUB_KEY_ID_0119000000012026";
const API_KEY = "0123456789abcdef0123456789abcdef";

interface Change {
  readonly body?: Readonly<Record<string, unknown>>;
  readonly type?: string;
  /** Of the sealed resource. */
  readonly algorithm?: string;
  readonly key?: string;
  readonly serial?: string;
  readonly signature?: string;
  readonly ageSec?: number;
}

export async function startWeChatPay(now: Now) {
  const desk = new PayDesk();
  const merchant = keyPair();
  const platform = keyPair();
  const refunds = new Map<string, number>();
  /** What questions about orders are answered with beside, or instead of, what is so. */
  const told: { transaction: Readonly<Record<string, unknown>> } = { transaction: {} };
  let serial = 0;

  function signed(
    body: string,
    { ageSec = 0, signature, serial: id = SERIAL }: Change = {},
  ): Record<string, string> {
    serial += 1;
    const timestamp = String(Math.floor(now() / 1000) - ageSec);
    const nonce = `nonce${serial}`;
    return {
      "wechatpay-timestamp": timestamp,
      "wechatpay-nonce": nonce,
      "wechatpay-serial": id,
      "wechatpay-signature": signature ?? signRsa(`${timestamp}\n${nonce}\n${body}\n`, platform.privateKey),
    };
  }

  const transaction = (order: PayOrder) => ({
    mchid: "1900000001",
    appid: "wx0000000000000001",
    out_trade_no: order.orderNo,
    transaction_id: order.tradeNo,
    trade_type: "NATIVE",
    trade_state: order.state === "paid" ? "SUCCESS" : order.state === "closed" ? "CLOSED" : "NOTPAY",
    amount: { total: order.amount, payer_total: order.amount - 1, currency: "CNY" },
  });

  interface Said {
    readonly status: number;
    readonly json?: object;
  }

  function refund(content: {
    out_trade_no: string;
    out_refund_no: string;
    amount: { refund: number };
  }): Said {
    const order = desk.order(content.out_trade_no);
    if (!refunds.has(content.out_refund_no)) order.refunded += content.amount.refund;
    refunds.set(content.out_refund_no, content.amount.refund);
    return { status: 200, json: { refund_id: `50${content.out_refund_no}`, status: "PROCESSING" } };
  }

  function orderCall(path: string): Said {
    const [, orderNo = "", act] = /out-trade-no\/(\w+)(\/close)?$/.exec(path) ?? [];
    const order = desk.orders.get(orderNo);
    if (!order) return { status: 404, json: { code: "ORDER_NOT_EXIST" } };
    if (act === undefined) return { status: 200, json: { ...transaction(order), ...told.transaction } };
    if (order.state === "paid") return { status: 400, json: { code: "ORDER_PAID" } };
    order.state = "closed";
    return { status: 204 };
  }

  async function answer(path: string, body: string): Promise<Said> {
    const content = body === "" ? {} : JSON.parse(body);
    if (path === "/v3/refund/domestic/refunds") return refund(content);
    const [, refundNo = ""] = /^\/v3\/refund\/domestic\/refunds\/(\w+)$/.exec(path) ?? [];
    if (refunds.has(refundNo))
      return { status: 200, json: { refund_id: `50${refundNo}`, status: "SUCCESS" } };
    if (refundNo !== "") return { status: 404, json: { code: "RESOURCE_NOT_EXISTS" } };
    if (path !== "/v3/pay/transactions/native") return orderCall(path);
    const { out_trade_no: orderNo, amount, notify_url: notifyUrl } = content;
    const { tradeNo } = await desk.take({ orderNo, amount: amount.total, currency: "CNY", notifyUrl });
    return { status: 200, json: { code_url: `weixin://wxpay/bizpayurl?pr=${tradeNo}` } };
  }

  await desk.start(async ({ method, path, search, headers, body }) => {
    const value = (name: string) =>
      new RegExp(`${name}="([^"]*)"`).exec(headers.authorization ?? "")?.[1] ?? "";
    const text = `${method}\n${path}${search}\n${value("timestamp")}\n${value("nonce_str")}\n${body}\n`;
    if (!verifiesRsa(text, value("signature"), merchant.publicKey))
      return { status: 401, json: { code: "SIGN_ERROR" } };
    const { status, json } = await answer(path, body);
    const bytes = json === undefined ? "" : JSON.stringify(json);
    return { status, body: Buffer.from(bytes), headers: signed(bytes) };
  });

  return {
    desk,
    serial: SERIAL,
    apiKey: API_KEY,
    merchant,
    platform,
    told,
    transaction,
    /** A callback with its headers. */
    notice(order: PayOrder, change: Change = {}): { body: string; headers: Record<string, string> } {
      const plain = JSON.stringify({ ...transaction(order), ...change.body });
      const cipher = createCipheriv("aes-256-gcm", change.key ?? API_KEY, "fdasflkja484").setAAD(
        Buffer.from("transaction"),
      );
      const sealed = Buffer.concat([cipher.update(plain, "utf8"), cipher.final(), cipher.getAuthTag()]);
      const resource = {
        algorithm: change.algorithm ?? "AEAD_AES_256_GCM",
        ciphertext: sealed.toString("base64"),
        nonce: "fdasflkja484",
        associated_data: "transaction",
      };
      const body = JSON.stringify({ id: "n1", event_type: change.type ?? "TRANSACTION.SUCCESS", resource });
      return { body, headers: signed(body, change) };
    },
  };
}

export type WeChatPayEmulator = Awaited<ReturnType<typeof startWeChatPay>>;
