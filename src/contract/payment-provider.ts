// The payment providers there are: what a merchant account at each needs, as data that forms, checks and clients follow.

/** A field of a merchant account. Secret ones are sealed and never sent back. */
export interface ProviderField {
  readonly key: string;
  readonly label: string;
  readonly hint?: string;
  readonly isSecret?: true;
  readonly isLong?: true;
  readonly isOptional?: true;
  /** What its text must be; `rsa-publics` = several public keys, each under a line with its id. Absent = any text. */
  readonly form?: "rsa-private" | "rsa-public" | "rsa-publics" | "32-characters";
}

export interface PaymentProvider {
  readonly label: string;
  readonly merchant: string;
  readonly fields: readonly ProviderField[];
  /** Ways to pay, by the provider's own code. */
  readonly methods: Readonly<Record<string, string>>;
  /** Those of them by which it renews plans by itself; absent = none. */
  readonly renewing?: readonly string[];
  /** It takes other currencies than yuan, each at a rate that the operator sets; absent = yuan alone. */
  readonly takesCurrencies?: true;
  /** Where its API is unless the operator says otherwise; "" = the operator has to. */
  readonly baseUrl: string;
}

const BASE: ProviderField = {
  key: "base_url",
  label: "接口地址",
  hint: "留空使用官方地址",
  isOptional: true,
};
const EPAY_BASE: ProviderField = {
  key: "base_url",
  label: "接口地址",
  hint: "易支付站点的网址，不含 submit.php",
};
const PRIVATE: ProviderField = {
  key: "private_key",
  label: "商户私钥",
  isSecret: true,
  isLong: true,
  form: "rsa-private",
};

const EPAY_METHODS = {
  alipay: "支付宝",
  wxpay: "微信支付",
  qqpay: "QQ 钱包",
  bank: "网银支付",
  usdt: "USDT",
};

export const paymentProviders = {
  "epay-v1": {
    label: "易支付 V1",
    merchant: "商户 ID（pid）",
    fields: [EPAY_BASE, { key: "key", label: "商户密钥", isSecret: true }],
    methods: EPAY_METHODS,
    baseUrl: "",
  },
  "epay-v2": {
    label: "易支付 V2",
    merchant: "商户 ID（pid）",
    fields: [
      EPAY_BASE,
      { key: "platform_key", label: "平台公钥", isLong: true, form: "rsa-public" },
      { key: "ok_code", label: "成功代码", hint: "多数站点为 0，个别为 1", isOptional: true },
      PRIVATE,
    ],
    methods: EPAY_METHODS,
    baseUrl: "",
  },
  stripe: {
    label: "Stripe",
    merchant: "账户 ID",
    fields: [
      BASE,
      { key: "secret_key", label: "Secret key", isSecret: true },
      { key: "webhook_secret", label: "Webhook 签名密钥", hint: "以 whsec_ 开头", isSecret: true },
    ],
    methods: { card: "银行卡", alipay: "支付宝", wechat_pay: "微信支付" },
    // Checkout offers the wallets for single payments only (vendors/stripe).
    renewing: ["card"],
    takesCurrencies: true,
    baseUrl: "https://api.stripe.com",
  },
  alipay: {
    label: "支付宝",
    merchant: "卖家 ID（seller_id）",
    fields: [
      BASE,
      { key: "app_id", label: "应用 ID（app_id）" },
      { key: "platform_key", label: "支付宝公钥", isLong: true, form: "rsa-public" },
      PRIVATE,
    ],
    methods: { qr: "支付宝扫码", page: "支付宝网页" },
    baseUrl: "https://openapi.alipay.com",
  },
  wechat: {
    label: "微信支付",
    merchant: "商户号（mchid）",
    fields: [
      BASE,
      { key: "app_id", label: "应用 ID（appid）" },
      { key: "cert_serial", label: "商户证书序列号" },
      {
        key: "platform_key",
        label: "微信支付公钥",
        hint: "每段公钥前一行写它的 ID 或平台证书序列号，可填多段",
        isLong: true,
        form: "rsa-publics",
      },
      { key: "api_key", label: "APIv3 密钥", hint: "32 个字符", isSecret: true, form: "32-characters" },
      PRIVATE,
    ],
    methods: { native: "微信扫码" },
    baseUrl: "https://api.mch.weixin.qq.com",
  },
} as const satisfies Readonly<Record<string, PaymentProvider>>;

export type PaymentProviderName = keyof typeof paymentProviders;
// The keys of the table are exactly the names.
export const paymentProviderNames = Object.keys(paymentProviders) as [
  PaymentProviderName,
  ...PaymentProviderName[],
];

export function paymentProvider(name: PaymentProviderName): PaymentProvider {
  return paymentProviders[name];
}
