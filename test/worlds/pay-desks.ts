// All five payment providers, emulated: what a merchant account at each needs, and how each tells of a payment.
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

export interface Desk {
  readonly provider: PaymentProviderName;
  readonly method: string;
  readonly desk: PayDesk;
  /** What an administrator enters. */
  readonly draft: object;
  /** The callback about a payment that was made. */
  notice(orderNo: string): Told;
}

/** Starts them. The clock is the one that signatures are of. Unit: ms. */
export async function startDesks(now: Now) {
  const [epay, other, stripe, alipay, wechat] = await Promise.all([
    startEpay(now),
    startEpay(now),
    startStripe(now),
    startAlipay(now),
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
      draft: draft("epay-v1", "alipay", { base_url: epay.desk.url, key: epay.key }),
      notice: (orderNo) => ({ query: epay.noticeV1(epay.desk.order(orderNo)) }),
    },
    {
      provider: "epay-v2",
      method: "wxpay",
      desk: other.desk,
      draft: draft("epay-v2", "wxpay", {
        base_url: other.desk.url,
        platform_key: other.platform.publicPem,
        private_key: other.merchant.privatePem,
      }),
      notice: (orderNo) => ({ query: other.noticeV2(other.desk.order(orderNo)) }),
    },
    {
      provider: "stripe",
      method: "card",
      desk: stripe.desk,
      draft: draft(
        "stripe",
        "card",
        { base_url: stripe.desk.url, secret_key: "sk_test_1", webhook_secret: stripe.webhookSecret },
        "acct_1",
      ),
      notice(orderNo) {
        const { id } = stripe.sessionOf(stripe.desk.order(orderNo));
        const { body, header } = stripe.event("checkout.session.completed", id);
        return { body, headers: { "stripe-signature": header } };
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
          base_url: alipay.desk.url,
          app_id: alipay.appId,
          platform_key: alipay.platform.publicPem,
          private_key: alipay.merchant.privatePem,
        },
        alipay.sellerId,
      ),
      notice: (orderNo) => ({ body: alipay.notice(alipay.desk.order(orderNo)) }),
    },
    {
      provider: "wechat",
      method: "native",
      desk: wechat.desk,
      draft: draft(
        "wechat",
        "native",
        {
          base_url: wechat.desk.url,
          app_id: "wx0000000000000001",
          cert_serial: "ABCDEF0123",
          platform_key: `${wechat.serial}\n${wechat.platform.publicPem}`,
          api_key: wechat.apiKey,
          private_key: wechat.merchant.privatePem,
        },
        "1900000001",
      ),
      notice: (orderNo) => wechat.notice(wechat.desk.order(orderNo)),
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
