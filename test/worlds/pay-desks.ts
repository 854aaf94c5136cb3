// All five payment providers, emulated: what a merchant account at each needs, and how each tells of a payment.
import { minorText } from "#contract/money.ts";
import type { PaymentProviderName } from "#contract/payment-provider.ts";
import { startAlipay } from "#test/emulators/alipay-emulator.ts";
import { startEpay } from "#test/emulators/epay-emulator.ts";
import type { Now, PayDesk } from "#test/emulators/pay-desk.ts";
import { startStripe } from "#test/emulators/stripe-emulator.ts";
import { startWeChatPay } from "#test/emulators/wechat-pay-emulator.ts";

/** A callback: a query (GET), or a body with headers (POST). */
export interface Told {
  readonly query?: string;
  readonly body?: string;
  readonly headers?: Record<string, string>;
}

/** What is odd about a callback: everything else in it is right, and it is signed unless it says otherwise. */
export interface Oddity {
  /** Signed with a key that is not the provider's. */
  readonly isForged?: true;
  /** Of another merchant. */
  readonly isForeign?: true;
  readonly amountMinor?: number;
  readonly orderNo?: string;
  readonly tradeNo?: string;
  /** Signed so long ago; 易支付 V1 and Alipay sign no time. */
  readonly ageSec?: number;
}

export interface Desk {
  readonly provider: PaymentProviderName;
  readonly method: string;
  readonly desk: PayDesk;
  /** What an administrator enters. */
  readonly draft: object;
  /** The callback about a payment that was made. */
  notice(orderNo: string): Told;
  /** The same with something odd about it. Stripe's session is answered with it, until `told.session` is set back. */
  odd(orderNo: string, oddity: Oddity): Told;
}

/** Members that are there. */
function present(members: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(members).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

/** What form-posting providers call it. */
function formChange({ amountMinor, orderNo, tradeNo }: Oddity, money: string): Record<string, string> {
  return present({
    [money]: amountMinor === undefined ? undefined : minorText(amountMinor),
    out_trade_no: orderNo,
    trade_no: tradeNo,
  });
}

/** A signed form in which one digit is another than the signed one. */
function tampered(form: string, { isForged }: Oddity): string {
  return isForged ? form.replace(/((?:^|&)trade_no=\d+)\d/, "$1x") : form;
}

/** Starts them. The clock is the one that signatures are of. Unit: ms. `placed` gives the addresses by which they are called. */
export async function startDesks(now: Now, placed = (url: string) => url) {
  const [epay, other, stripe, alipay, wechat] = await Promise.all([
    startEpay(now),
    startEpay(now),
    startStripe(now),
    startAlipay(now, placed),
    startWeChatPay(now),
  ]);
  const draft = (provider: PaymentProviderName, method: string, fields: object, merchantId = "1001") => ({
    provider,
    merchant_id: merchantId,
    methods: [method],
    fields,
  });
  const desks: readonly Desk[] = [
    {
      provider: "epay-v1",
      method: "alipay",
      desk: epay.desk,
      draft: draft("epay-v1", "alipay", { base_url: placed(epay.desk.url), key: epay.key }),
      notice: (orderNo) => ({ query: epay.noticeV1(epay.desk.order(orderNo)) }),
      odd(orderNo, oddity) {
        const change = { ...formChange(oddity, "money"), ...present({ pid: oddity.isForeign && "1009" }) };
        return { query: tampered(epay.noticeV1(epay.desk.order(orderNo), change), oddity) };
      },
    },
    {
      provider: "epay-v2",
      method: "wxpay",
      desk: other.desk,
      draft: draft("epay-v2", "wxpay", {
        base_url: placed(other.desk.url),
        platform_key: other.platform.publicPem,
        private_key: other.merchant.privatePem,
      }),
      notice: (orderNo) => ({ query: other.noticeV2(other.desk.order(orderNo)) }),
      odd(orderNo, oddity) {
        const { ageSec, isForeign } = oddity;
        const timestamp = ageSec === undefined ? undefined : String(Math.floor(now() / 1000) - ageSec);
        const change = {
          ...formChange(oddity, "money"),
          ...present({ pid: isForeign && "1009", timestamp }),
        };
        return { query: tampered(other.noticeV2(other.desk.order(orderNo), change), oddity) };
      },
    },
    {
      provider: "stripe",
      method: "card",
      desk: stripe.desk,
      draft: draft(
        "stripe",
        "card",
        {
          base_url: placed(stripe.desk.url),
          secret_key: "sk_test_of_the_desks_0001",
          webhook_secret: stripe.webhookSecret,
        },
        "acct_1",
      ),
      notice(orderNo) {
        const { id } = stripe.sessionOf(stripe.desk.order(orderNo));
        const { body, header } = stripe.event("checkout.session.completed", id);
        return { body, headers: { "stripe-signature": header } };
      },
      odd(orderNo, { isForged, isForeign, amountMinor, orderNo: named, tradeNo, ageSec }) {
        const order = stripe.desk.order(orderNo);
        stripe.told.session = {
          ...(amountMinor !== undefined && { amount_total: amountMinor }),
          ...(named !== undefined && { client_reference_id: named }),
          ...(tradeNo !== undefined && { payment_intent: `pi_${tradeNo}` }),
        };
        const { body, header } = stripe.event("checkout.session.completed", stripe.sessionOf(order).id, {
          livemode: isForeign ?? false,
          ageSec: ageSec ?? 0,
        });
        const signature = isForged ? header.replace(/v1=\w/, "v1=x") : header;
        return { body, headers: { "stripe-signature": signature } };
      },
    },
    {
      provider: "alipay",
      method: "qr",
      desk: alipay.desk,
      draft: draft(
        "alipay",
        "qr",
        {
          base_url: placed(alipay.desk.url),
          app_id: alipay.appId,
          platform_key: alipay.platform.publicPem,
          private_key: alipay.merchant.privatePem,
        },
        alipay.sellerId,
      ),
      notice: (orderNo) => ({ body: alipay.notice(alipay.desk.order(orderNo)) }),
      odd(orderNo, oddity) {
        const foreign = present({ seller_id: oddity.isForeign && "2088000000000009" });
        const change = { ...formChange(oddity, "total_amount"), ...foreign };
        return { body: tampered(alipay.notice(alipay.desk.order(orderNo), change), oddity) };
      },
    },
    {
      provider: "wechat",
      method: "native",
      desk: wechat.desk,
      draft: draft(
        "wechat",
        "native",
        {
          base_url: placed(wechat.desk.url),
          app_id: "wx0000000000000001",
          cert_serial: "ABCDEF0123",
          platform_key: `${wechat.serial}\n${wechat.platform.publicPem}`,
          api_key: wechat.apiKey,
          private_key: wechat.merchant.privatePem,
        },
        "1900000001",
      ),
      notice: (orderNo) => wechat.notice(wechat.desk.order(orderNo)),
      odd(orderNo, { isForged, isForeign, amountMinor, orderNo: named, tradeNo, ageSec = 0 }) {
        const body = {
          ...(isForeign && { mchid: "1900000009" }),
          ...(amountMinor !== undefined && { amount: { total: amountMinor, currency: "CNY" } }),
          ...(named !== undefined && { out_trade_no: named }),
          ...(tradeNo !== undefined && { transaction_id: tradeNo }),
        };
        const notice = wechat.notice(wechat.desk.order(orderNo), { body, ageSec });
        return isForged ? { ...notice, body: `${notice.body} ` } : notice;
      },
    },
  ];
  return {
    desks,
    epay,
    other,
    stripe,
    alipay,
    wechat,
    /** What an administrator enters at a provider. */
    draftOf(provider: PaymentProviderName): object {
      const found = desks.find((one) => one.provider === provider);
      if (!found) throw new Error(`no ${provider}`);
      return found.draft;
    },
    async close() {
      await Promise.all(desks.map(({ desk }) => desk.close()));
    },
  };
}

export type Desks = Awaited<ReturnType<typeof startDesks>>;
