// Merchant accounts: opened from their rows, checked, saved. Each secret is sealed by itself and never leaves this room (requirements Y41).
import type { InstanceDraft } from "#contract/payment-admin.ts";
import {
  type PaymentProviderName,
  type ProviderField,
  paymentProvider,
  paymentProviderNames,
} from "#contract/payment-provider.ts";
import { withoutEndSlashes } from "#contract/wire.ts";
import { rsaPrivateKey, rsaPublicKey } from "#server/secrets/payment-crypto.ts";
import type { InstanceRow } from "#server/store/payment-instances.ts";
import type { Tools } from "#server/tools.ts";
import type { Instance, Provider } from "./provider.ts";
import { alipay } from "./providers/alipay.ts";
import { epayV1, epayV2 } from "./providers/epay.ts";
import { stripe } from "./providers/stripe.ts";
import { wechat } from "./providers/wechat.ts";
import { wechatKeys } from "./providers/wechat-call.ts";

const PROVIDERS: Readonly<Record<PaymentProviderName, Provider>> = {
  "epay-v1": epayV1,
  "epay-v2": epayV2,
  stripe,
  alipay,
  wechat,
};

export function providerOf({ provider }: Pick<Instance, "provider">): Provider {
  return PROVIDERS[provider];
}

/** What `settings` holds. */
export interface InstanceSettings {
  readonly methods: readonly string[];
  readonly fee_bp: number;
  /** Absent in rows of before there was one. */
  readonly cost_bp?: number;
  readonly rate: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** Sealed secrets by key, as the column holds them. */
type Sealed = Readonly<Record<string, string>>;

const CONTEXT = "payment_instances.secret";

/** How long callbacks signed with a replaced secret still count: providers repeat for a day. */
const BEFORE_SEC = 2 * 86_400;

export function settingsOf(row: InstanceRow): InstanceSettings {
  // Written by saveInstance alone.
  return JSON.parse(row.settings) as InstanceSettings;
}

function sealedOf(text: string): Sealed {
  // Written by sealSecrets alone.
  return text === "" ? {} : (JSON.parse(text) as Sealed);
}

/** The keys of the secrets that are set. */
export function secretsSet(row: InstanceRow): string[] {
  return Object.keys(sealedOf(row.secrets_sealed));
}

function nameOf(row: InstanceRow): PaymentProviderName | undefined {
  return paymentProviderNames.find((name) => name === row.provider);
}

type Opening = Pick<Tools, "secrets" | "clock">;

/** An account with all it needs; undefined = it is off, whatever its row says (requirements Y07). */
export function openInstance(tools: Opening, row: InstanceRow): Instance | undefined {
  const instance = instanceIn(tools, row);
  return instance && faultOf(instance) === undefined ? instance : undefined;
}

/** What an account lacks, for the administrator; undefined = nothing. */
export function lackOf(tools: Opening, row: InstanceRow): string | undefined {
  const instance = instanceIn(tools, row);
  return instance && faultOf(instance);
}

function instanceIn({ secrets, clock }: Opening, row: InstanceRow): Instance | undefined {
  const name = nameOf(row);
  if (name === undefined) return undefined;
  const settings = settingsOf(row);
  const sealed = [sealedOf(row.secrets_sealed)];
  if (row.before_until > clock.seconds()) sealed.push(sealedOf(row.secrets_before));
  return {
    id: row.id,
    slug: row.slug,
    provider: name,
    name: row.name,
    merchantId: row.merchant_id,
    currency: row.currency,
    isEnabled: row.enabled === 1,
    methods: settings.methods,
    feeBp: settings.fee_bp,
    costBp: settings.cost_bp ?? 0,
    rate: settings.rate,
    baseUrl: settings.fields["base_url"] || paymentProvider(name).baseUrl,
    field: (key) => settings.fields[key] ?? "",
    secrets: (key) =>
      sealed
        .flatMap((one) => (one[key] === undefined ? [] : [secrets.open(one[key], CONTEXT)]))
        .filter((secret) => secret.trim() !== ""),
  };
}

function faultOf(instance: Instance): string | undefined {
  const { fields } = paymentProvider(instance.provider);
  for (const { key, label, isSecret, isOptional, form } of fields) {
    const value = isSecret ? (instance.secrets(key)[0] ?? "") : instance.field(key);
    if (value.trim() === "" && !isOptional) return `请填写${label}`;
    const fault = formFault(form, value);
    if (fault !== undefined) return `${label}${fault}`;
  }
  return instance.baseUrl === "" ? "请填写接口地址" : undefined;
}

interface Form {
  fits(text: string): boolean;
  /** Behind the label of the field. */
  readonly fault: string;
}

/** What is wrong with the text of a field; undefined = nothing. */
function formFault(form: ProviderField["form"], value: string): string | undefined {
  const isRight = form === undefined || value === "" || FORMS[form].fits(value);
  return isRight ? undefined : FORMS[form].fault;
}

const FORMS: Readonly<Record<NonNullable<ProviderField["form"]>, Form>> = {
  "rsa-private": { fits: (text) => rsaPrivateKey(text) !== undefined, fault: "不是可用的 RSA 私钥" },
  "rsa-public": { fits: (text) => rsaPublicKey(text) !== undefined, fault: "不是可用的 RSA 公钥" },
  "rsa-publics": { fits: (text) => wechatKeys(text).size > 0, fault: "不是可用的 RSA 公钥" },
  "32-characters": { fits: (text) => Buffer.byteLength(text) === 32, fault: "须为 32 个字符" },
};

/** The columns that a draft writes: secrets that are "" stay as they are, those that change count for a while longer. */
export function columnsOf(
  { secrets, clock }: Opening,
  draft: InstanceDraft,
  { provider, before }: { provider: PaymentProviderName; before: InstanceRow | undefined },
) {
  const nowSec = clock.seconds();
  const known = sealedOf(before?.secrets_sealed ?? "");
  const next: Record<string, string> = { ...known };
  const fields: Record<string, string> = {};
  for (const { key, isSecret } of paymentProvider(provider).fields) {
    const value = (draft.fields[key] ?? "").trim();
    if (!isSecret) fields[key] = key === "base_url" ? withoutEndSlashes(value) : value;
    else if (value !== "") next[key] = secrets.seal(value, CONTEXT);
  }
  const isReplaced = before !== undefined && Object.keys(known).some((key) => known[key] !== next[key]);
  const settings: InstanceSettings = {
    methods: draft.methods,
    fee_bp: draft.fee_bp,
    cost_bp: draft.cost_bp,
    rate: draft.rate,
    fields,
  };
  return {
    name: draft.name,
    settings: JSON.stringify(settings),
    secrets_sealed: JSON.stringify(next),
    ...(isReplaced && before
      ? { secrets_before: before.secrets_sealed, before_until: nowSec + BEFORE_SEC }
      : {}),
    enabled: draft.is_enabled ? 1 : 0,
    sort: draft.sort,
    updated_at: nowSec,
  };
}
