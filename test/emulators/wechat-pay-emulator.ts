// WeChat Pay's API v3 for native payments: verifies requests, signs answers, seals callbacks (vendors/wechat-pay).
import { createCipheriv } from "node:crypto";
import { minorText } from "#contract/money.ts";
import { sha1Hex, signRsa, verifiesRsa } from "#server/secrets/payment-crypto.ts";
import { beijingText, keyPair, type Now, PayDesk, type PayOrder } from "./pay-desk.ts";

const SERIAL = "PUB_KEY_ID_0119000000012026";
const API_KEY = "0123456789abcdef0123456789abcdef";

export interface Change {
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
  const desk = new PayDesk(now);
  const merchant = keyPair("merchant of WeChat Pay");
  const platform = keyPair("WeChat Pay");
  const refunds = new Map<string, number>();
  /** What questions about orders are answered with beside, or instead of, what is so; or with a signature of something else. What refunds are at. */
  const told: {
    transaction: Readonly<Record<string, unknown>>;
    isWronglySigned: boolean;
    refundStatus: "SUCCESS" | "PROCESSING" | "CLOSED";
  } = { transaction: {}, isWronglySigned: false, refundStatus: "SUCCESS" };
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

  /** `isBillForged`: its file is another than the one that the signed answer names. `elsewhere`: refunds made at the merchant's platform. */
  const bills: { isBillForged: boolean; elsewhere: { orderNo: string; id: string; amount: number }[] } = {
    isBillForged: false,
    elsewhere: [],
  };

  /** Each cell after a tick, sums at the end. */
  function bill(day: string): string {
    const titles =
      "交易时间,公众账号ID,商户号,特约商户号,设备号,微信订单号,商户订单号,用户标识,交易类型,交易状态,付款银行,货币种类,应结订单金额," +
      "代金券金额,微信退款单号,商户退款单号,退款金额,充值券退款金额,退款类型,退款状态,商品名称,商户数据包,手续费,费率,订单金额," +
      "申请退款金额,费率备注";
    const row = (order: PayOrder, state: string, refund: readonly string[]) => {
      const who = [beijingText(order.paidMs), "wx0000000000000001", "1900000001", "0", "", order.tradeNo];
      const what = [order.orderNo, "openid", "NATIVE", state, "OTHERS", "CNY", minorText(order.amount - 1)];
      const [id = "0", no = "0", amount = "0.00", status = ""] = refund;
      const end = ["账户充值", "", "0.18000", "0.60%", minorText(order.amount), amount, ""];
      return [...who, ...what, "0.01", id, no, amount, "0.00", "", status, ...end]
        .map((cell) => `\`${cell}`)
        .join(",");
    };
    const paid = desk.paidOn(day).map((order) => row(order, "SUCCESS", []));
    const back = bills.elsewhere.map(({ orderNo, id, amount }) =>
      row(desk.order(orderNo), "REFUND", [id, `M${id}`, minorText(amount), "SUCCESS"]),
    );
    const sums =
      "总交易单数,应结订单总金额,退款总金额,充值券退款总金额,手续费总金额,订单总金额,申请退款总金额";
    return [`\uFEFF${titles}`, ...paid, ...back, sums, `\`${paid.length}`, ""].join("\r\n");
  }

  /** Made at 10 o'clock of the next day. */
  function tradeBill(day: string): Said {
    if (now() < Date.parse(`${day}T00:00:00+08:00`) + 34 * 3_600_000)
      return { status: 400, json: { code: "STATEMENT_CREATING" } };
    if (desk.paidOn(day).length + bills.elsewhere.length === 0)
      return { status: 400, json: { code: "NO_STATEMENT_EXIST" } };
    const hash = { hash_type: "SHA1", hash_value: sha1Hex(Buffer.from(bill(day))) };
    // The host is not ours to go to with a signature.
    const url = `https://bills.example/v3/billdownload/file?token=${day}`;
    return { status: 200, json: { ...hash, download_url: url } };
  }

  interface Said {
    readonly status: number;
    readonly json?: object;
  }

  function refund(content: {
    out_trade_no: string;
    out_refund_no: string;
    amount: { refund: number; total: number };
  }): Said {
    const order = desk.order(content.out_trade_no);
    if (content.amount.total !== order.amount) return { status: 400, json: { code: "PARAM_ERROR" } };
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
      return { status: 200, json: { refund_id: `50${refundNo}`, status: told.refundStatus } };
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
    if (path === "/v3/billdownload/file") {
      const file = bill(search.split("=").at(-1) ?? "");
      return { body: Buffer.from(bills.isBillForged ? `${file} ` : file) };
    }
    const { status, json } =
      path === "/v3/bill/tradebill"
        ? tradeBill(/bill_date=([\d-]+)/.exec(search)?.[1] ?? "")
        : await answer(path, body);
    const bytes = json === undefined ? "" : JSON.stringify(json);
    return { status, body: Buffer.from(bytes), headers: signed(told.isWronglySigned ? `${bytes} ` : bytes) };
  });

  return {
    desk,
    serial: SERIAL,
    apiKey: API_KEY,
    merchant,
    platform,
    told,
    bills,
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
