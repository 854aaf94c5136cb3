// A 易支付 site, V1 and V2: takes orders, answers questions, refunds, and signs notices (vendors/epay).
import { minorOf, minorText } from "#contract/money.ts";
import { formBody } from "#server/payments/wire/form.ts";
import { signEpayV1, signEpayV2, verifiesEpayV2 } from "#server/payments/wire/signatures.ts";
import { beijingText, keyPair, type Now, PayDesk, type PayOrder } from "./pay-desk.ts";

const KEY = "TgTestKey0123456789abcdefABCDEF0";

export async function startEpay(now: Now) {
  const desk = new PayDesk(now);
  const merchant = keyPair("merchant of epay");
  const platform = keyPair("epay");
  const seconds = () => String(Math.floor(now() / 1000));

  const facts = (order: PayOrder) => ({
    trade_no: order.tradeNo,
    out_trade_no: order.orderNo,
    type: "alipay",
    pid: "1001",
    name: "账户充值",
    money: minorText(order.amount),
  });
  const signedV2 = (fields: Readonly<Record<string, string | number>>) => {
    const timed = { ...fields, timestamp: seconds() };
    const texts = Object.entries(timed).map(([name, value]) => [name, String(value)] as const);
    const said = faults.isWronglySigned ? [...texts, ["more", "1"] as const] : texts;
    return { ...timed, sign: signEpayV2(said, platform.privateKey), sign_type: "RSA" };
  };
  /** When orders were made, ms; those that were put in by a test at the time of the first list. */
  const added = new Map<string, number>();
  /**
   * `beforePage` runs before a page of the list is answered; `isWronglySigned`: answers of V2 carry a signature of something else;
   * `namesRefunds`: how much went back is told; `cannotClose`: the site has no page that closes orders.
   */
  const faults: {
    beforePage: (page: number) => Promise<void>;
    isWronglySigned: boolean;
    namesRefunds: boolean;
    cannotClose: boolean;
  } = {
    beforePage: async () => undefined,
    isWronglySigned: false,
    namesRefunds: true,
    cannotClose: false,
  };

  /** Newest first, from a row on. */
  async function rowsFrom(first: number, limit: number) {
    await faults.beforePage(first / limit + 1);
    const rows = [...desk.orders.values()].reverse().filter(({ orderNo }) => orderNo !== desk.hideFromList);
    return rows.slice(first, first + limit).map((order) => {
      const ms = added.get(order.orderNo) ?? now();
      added.set(order.orderNo, ms);
      return {
        ...statusOf(order),
        addtime: beijingText(ms),
        endtime: order.state === "paid" ? beijingText(order.paidMs) : null,
      };
    });
  }

  async function listV1(query: URLSearchParams) {
    if (query.get("key") !== KEY) return refuse;
    const [page, limit] = [Number(query.get("page")), Number(query.get("limit"))];
    return { json: { code: 1, msg: "ok", data: await rowsFrom((page - 1) * limit, limit) } };
  }

  /** Signed without its rows. */
  async function listV2(form: URLSearchParams) {
    if (!isSigned(form)) return refuse;
    const data = await rowsFrom(Number(form.get("offset")), Number(form.get("limit")));
    return { json: { ...signedV2({ code: 0, msg: "ok" }), data } };
  }
  const refuse = { json: { code: -3, msg: "签名校验失败" } };

  async function create(form: URLSearchParams): Promise<PayOrder> {
    const money = minorOf(form.get("money") ?? "") ?? 0;
    const notifyUrl = form.get("notify_url") ?? "";
    added.set(form.get("out_trade_no") ?? "", now());
    return desk.take({ orderNo: form.get("out_trade_no") ?? "", amount: money, currency: "CNY", notifyUrl });
  }

  async function createV1(form: URLSearchParams) {
    if (signEpayV1(form, KEY) !== form.get("sign")) return refuse;
    const { tradeNo } = await create(form);
    const where = { payurl: `/pay/${tradeNo}`, qrcode: `weixin://wxpay/${tradeNo}` };
    return { json: { code: 1, msg: "ok", trade_no: tradeNo, ...where } };
  }

  async function createV2(form: URLSearchParams) {
    if (!isSigned(form)) return refuse;
    const { tradeNo } = await create(form);
    const where = { pay_type: "qrcode", pay_info: `https://qr.example/${tradeNo}` };
    return { json: signedV2({ code: 0, trade_no: tradeNo, ...where }) };
  }

  const isSigned = (form: URLSearchParams) =>
    verifiesEpayV2(new Map(form), merchant.publicKey, Math.floor(now() / 1000));
  /** 2 = something of it went back. */
  const statusNumber = (order: PayOrder) => (order.state === "paid" ? (order.refunded > 0 ? 2 : 1) : 0);
  const statusOf = (order: PayOrder) => ({
    ...facts(order),
    status: statusNumber(order),
    ...(order.refunded > 0 && faults.namesRefunds && { refundmoney: minorText(order.refunded) }),
  });

  function queryV1(query: URLSearchParams) {
    const order = desk.orders.get(query.get("out_trade_no") ?? "");
    if (query.get("key") !== KEY || !order) return { json: { code: -1, msg: "订单不存在" } };
    return { json: { code: 1, msg: "ok", ...statusOf(order) } };
  }

  function queryV2(form: URLSearchParams) {
    const order = desk.orders.get(form.get("out_trade_no") ?? "");
    if (!isSigned(form) || !order) return { json: { code: 1001, msg: "订单不存在" } };
    return { json: signedV2({ code: 0, ...statusOf(order) }) };
  }

  function closeV2(form: URLSearchParams) {
    const order = desk.orders.get(form.get("out_trade_no") ?? "");
    if (!isSigned(form) || !order) return { json: { code: 1001, msg: "订单不存在" } };
    if (order.state === "paid") return { json: { code: 1002, msg: "订单已支付" } };
    order.state = "closed";
    return { json: signedV2({ code: 0, msg: "ok" }) };
  }

  function refund(path: string, form: URLSearchParams) {
    const order = desk.orders.get(form.get("out_trade_no") ?? "");
    if (!order) return refuse;
    order.refunded += minorOf(form.get("money") ?? "") ?? 0;
    if (path === "/api.php") return { json: { code: 1, msg: "退款成功" } };
    return { json: signedV2({ code: 0, refund_no: "r1" }) };
  }

  function answerV1(act: string, query: URLSearchParams, form: URLSearchParams) {
    if (act === "order") return queryV1(query);
    return act === "orders" ? listV1(query) : refund("/api.php", form);
  }

  function answerV2(path: string, form: URLSearchParams) {
    if (path === "/api/pay/create") return createV2(form);
    if (path === "/api/merchant/orders") return listV2(form);
    if (path === "/api/pay/close") return faults.cannotClose ? { status: 404, json: {} } : closeV2(form);
    return path === "/api/pay/query" ? queryV2(form) : refund(path, form);
  }

  await desk.start(async ({ path, query, body }) => {
    const form = new URLSearchParams(body);
    if (path === "/mapi.php") return createV1(form);
    return path === "/api.php" ? answerV1(query.get("act") ?? "", query, form) : answerV2(path, form);
  });

  return {
    desk,
    faults,
    key: KEY,
    merchant,
    platform,
    /** The query of a notice, signed after the changes. */
    noticeV1(order: PayOrder, change: Readonly<Record<string, string>> = {}, key = KEY): string {
      const fields = Object.entries({ ...facts(order), trade_status: "TRADE_SUCCESS", ...change });
      return formBody([...fields, ["sign", signEpayV1(fields, key)], ["sign_type", "MD5"]]);
    },
    noticeV2(order: PayOrder, change: Readonly<Record<string, string>> = {}): string {
      const fields = Object.entries({
        ...facts(order),
        trade_status: "TRADE_SUCCESS",
        timestamp: seconds(),
        ...change,
      });
      return formBody([...fields, ["sign", signEpayV2(fields, platform.privateKey)], ["sign_type", "RSA"]]);
    },
  };
}

export type EpayEmulator = Awaited<ReturnType<typeof startEpay>>;
