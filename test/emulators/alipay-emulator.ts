// Alipay's gateway for pre-created trades and bills; the vendor's own package talks to it in providers.test.ts (vendors/alipay).
import { minorOf, minorText } from "#contract/money.ts";
import { formBody, joined } from "#server/payments/wire/form.ts";
import { signRsa, verifiesRsa } from "#server/secrets/payment-crypto.ts";
import { archiveOf, gbk } from "./archive.ts";
import { beijingText, keyPair, type Now, PayDesk, type PayOrder } from "./pay-desk.ts";

const APP_ID = "2021000000000001";
const SELLER_ID = "2088000000000001";

/** What a line of a bill says of a trade or a refund. */
interface Told {
  readonly ms: number;
  readonly money: string;
  readonly request: string;
}

/** `placed` gives the address of its bills, as they are asked for. */
export async function startAlipay(now: Now, placed = (url: string) => url) {
  const desk = new PayDesk(now);
  const merchant = keyPair("merchant of Alipay");
  const platform = keyPair("Alipay");
  /** By number: of which order, how much, and when. */
  const refunds = new Map<
    string,
    { readonly orderNo: string; readonly amount: number; readonly ms: number }
  >();
  type Biz = Readonly<Record<string, string>>;
  /** `isWronglySigned`: answers carry a signature of something else; `isUnsigned`: they carry none; `isRefundDenied`: no question about a refund finds one; `look`: what questions about orders are answered with beside, or instead of, what is so. */
  const faults: {
    isWronglySigned: boolean;
    isUnsigned: boolean;
    isRefundDenied: boolean;
    look: Biz;
    beforeClose: (order: PayOrder) => void;
  } = {
    isWronglySigned: false,
    isUnsigned: false,
    isRefundDenied: false,
    look: {},
    beforeClose: () => undefined,
  };

  const missing = { code: "40004", msg: "Business Failed", sub_code: "ACQ.TRADE_NOT_EXIST" };
  const done = { code: "10000", msg: "Success" };

  async function precreate(biz: Biz, notifyUrl: string): Promise<Biz> {
    const orderNo = biz["out_trade_no"] ?? "";
    const amount = minorOf(biz["total_amount"] ?? "") ?? 0;
    const { tradeNo } = await desk.take({ orderNo, amount, currency: "CNY", notifyUrl });
    return { ...done, out_trade_no: orderNo, qr_code: `https://qr.alipay.example/${tradeNo}` };
  }

  function close(order: PayOrder): Biz {
    faults.beforeClose(order);
    if (order.state === "paid") return { ...missing, sub_code: "ACQ.TRADE_STATUS_ERROR" };
    order.state = "closed";
    return { ...done, out_trade_no: order.orderNo };
  }

  function takeBack(orderNo: string, number: string, amount: number): void {
    desk.order(orderNo).refunded += amount;
    refunds.set(number, { orderNo, amount, ms: now() });
  }

  function refund(order: PayOrder, biz: Biz): Biz {
    const number = biz["out_request_no"] ?? "";
    const isNew = !refunds.has(number);
    if (isNew) takeBack(order.orderNo, number, minorOf(biz["refund_amount"] ?? "") ?? 0);
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

  /** Made by 9 o'clock of the next day; a day without trades has none. */
  function billUrl(day: string): Biz {
    const isMade = now() >= Date.parse(`${day}T00:00:00+08:00`) + 33 * 3_600_000;
    if (!isMade || desk.paidOn(day).length + refundedOn(day).length === 0)
      return { code: "40004", msg: "Business Failed", sub_code: "isp.bill_not_exist" };
    return { ...done, bill_download_url: `${placed(desk.url)}/downloadBillFile.resource?bizDates=${day}` };
  }

  const refundedOn = (day: string) => [...refunds].filter(([, { ms }]) => beijingText(ms).startsWith(day));

  /** In GBK, two texts in an archive: the trades, and their sums. */
  function bill(day: string): Buffer {
    const line = (order: PayOrder, kind: string, { ms, money, request }: Told) => {
      const at = beijingText(ms);
      const start = [`${order.tradeNo}\t`, `${order.orderNo}\t`, kind, "账户充值", at, at];
      const paid = [money, money, "0.00", "0.00", "0.00", "0.01"];
      const end = ["0.00", "", "0.00", "0.00", request, "-0.18", "0.00", ""];
      return [...start, "", "", "", "", "测*(***)", ...paid, ...end].join(",");
    };
    const lines = [
      ...desk
        .paidOn(day)
        .map((order) =>
          line(order, "交易", { ms: order.paidMs, money: minorText(order.amount), request: "" }),
        ),
      ...refundedOn(day).map(([request, { orderNo, amount, ms }]) =>
        line(desk.order(orderNo), "退款", { ms, money: `-${minorText(amount)}`, request }),
      ),
    ];
    const titles =
      "支付宝交易号,商户订单号,业务类型,商品名称,创建时间,完成时间,门店编号,门店名称,操作员,终端号,对方账户,订单金额（元）," +
      "商家实收（元）,支付宝红包（元）,集分宝（元）,支付宝优惠（元）,商家优惠（元）,券核销金额（元）,券名称,商家红包消费金额（元）," +
      "卡消费金额（元）,退款批次号/请求号,服务费（元）,分润（元）,备注";
    const rule = "-".repeat(40);
    const trades = [
      "#支付宝业务明细查询",
      `#账号：[${SELLER_ID}0156]`,
      `#起始日期：[${day} 00:00:00]`,
      `#${rule}业务明细列表${rule}`,
      titles,
      ...lines,
      `#${rule}业务明细列表结束${rule}`,
      `#交易合计：${lines.length}笔`,
    ];
    const sums = ["#支付宝业务汇总查询", "门店编号,门店名称,交易订单总笔数", `,,${lines.length}`, "#结束"];
    return archiveOf({ "sums.csv": gbk(sums.join("\r\n")), "trades.csv": gbk(trades.join("\r\n")) });
  }

  async function answer(method: string, biz: Biz, notifyUrl: string): Promise<Biz> {
    if (method === "alipay.trade.precreate") return precreate(biz, notifyUrl);
    if (method === "alipay.data.dataservice.bill.downloadurl.query") return billUrl(biz["bill_date"] ?? "");
    return answerOfOrder(method, biz);
  }

  function answerOfOrder(method: string, biz: Biz): Biz {
    const order = desk.orders.get(biz["out_trade_no"] ?? "");
    if (order && method === "alipay.trade.close") return close(order);
    // A code that no payer has scanned is no trade yet.
    if (!order || order.state === "open") return missing;
    if (method === "alipay.trade.refund") return refund(order, biz);
    if (method === "alipay.trade.query") return look(order);
    const known = refunds.get(biz["out_request_no"] ?? "");
    if (known?.orderNo !== order.orderNo || faults.isRefundDenied) return done;
    const facts = { out_trade_no: order.orderNo, refund_amount: minorText(known.amount) };
    return { ...done, ...facts, refund_status: "REFUND_SUCCESS" };
  }

  await desk.start(async ({ path, body, query }) => {
    if (path === "/downloadBillFile.resource") return { body: bill(query.get("bizDates") ?? "") };
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
    const end = faults.isUnsigned ? "}" : `,"sign":"${sign}"}`;
    const whole = `{"${method.replaceAll(".", "_")}_response":${text}${end}`;
    return { body: Buffer.from(whole) };
  });

  return {
    desk,
    appId: APP_ID,
    sellerId: SELLER_ID,
    merchant,
    platform,
    faults,
    /** A refund made in the merchant's own console. */
    takeBack,
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
