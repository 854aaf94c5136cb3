// Form values of a channel ⇄ what the contract wants, and what a change of type means. Pure.
import { changesOf } from "#console/base/changes.ts";
import { readPairs } from "#console/base/json.ts";
import { type Channel, ChannelDraft, type ChannelUpdate } from "#contract/channel.ts";
import { NO_CHANNEL_LIMITS } from "#contract/channel-limits.ts";
import type { Option } from "#contract/option.ts";
import { jsonObjectOf } from "#contract/provider-key.ts";
import { type Provider, providerOf } from "#contract/providers.ts";
import { unpricedBy } from "#contract/unpriced.ts";
import { withoutEndSlashes } from "#contract/wire.ts";
import {
  type LimitValues,
  limitsOf,
  limitValues,
  type TimeValues,
  timesOf,
  timeValues,
} from "./limit-values.ts";
import { configWith, type RewriteValues, rewriteValues } from "./rewrite-values.ts";

export interface Served {
  readonly models: readonly string[];
  /** JSON text, as it stands in the field. */
  readonly mapping: string;
}

/** Models of the form that calls would be refused for. */
export function unpricedModels({ models, mapping }: Served, options: readonly Option[]): readonly string[] {
  return unpricedBy(options)({ models, mapping: new Map(readPairs(mapping) ?? []) });
}

export interface ChannelValues extends LimitValues, TimeValues, RewriteValues {
  readonly type: number;
  readonly name: string;
  readonly group: readonly string[];
  readonly base_url: string;
  readonly other: string;
  readonly models: readonly string[];
  readonly model_mapping: string;
  readonly is_batch: boolean;
  /** One key, or one per line when `is_batch`. "" on an existing channel keeps the stored one. */
  readonly key: string;
  readonly priority: number | null;
  readonly weight: number | null;
  /** A multiple of the prices of its models. */
  readonly cost_ratio: number | null;
  /** JSON of its own prices; "" = none. */
  readonly cost_sheet: string;
  /** "" = as all channels, `direct`, or the scheme of a proxy. */
  readonly proxy_kind: string;
  /** `host:port` of the proxy. */
  readonly proxy_address: string;
  /** "" both = the stored ones stay, when the address does. */
  readonly proxy_user: string;
  readonly proxy_password: string;
  /** The stored credentials are dropped. */
  readonly proxy_open: boolean;
  readonly reuse: Channel["reuse"];
  /** How one of several keys is chosen. */
  readonly key_mode: Channel["key_mode"];
  /** As it was read; what the form shows of it are the rules and the statuses. */
  readonly config: string;
}

const FIRST_TYPE = 1;

export function fallbackOther(type: number): string {
  return providerOf(type)?.other?.fallback ?? "";
}

export function valuesOf(channel: Channel | undefined): ChannelValues {
  if (channel === undefined) {
    return {
      type: FIRST_TYPE,
      name: "",
      group: ["default"],
      base_url: "",
      other: fallbackOther(FIRST_TYPE),
      models: [],
      model_mapping: "",
      is_batch: false,
      key: "",
      priority: 0,
      weight: 0,
      cost_ratio: 1,
      cost_sheet: "",
      ...proxyValues(""),
      reuse: "auto",
      key_mode: "random",
      ...limitValues(NO_CHANNEL_LIMITS),
      ...timeValues({ connect_ms: 0, first_byte_ms: 0, idle_ms: 0, total_ms: 0 }),
      config: "",
      ...rewriteValues(""),
    };
  }
  const { type, name, group, base_url, other, models, priority, weight, cost_ratio, cost_sheet } = channel;
  const model_mapping = channel.model_mapping.trim() === "{}" ? "" : channel.model_mapping;
  return {
    type,
    name,
    group,
    base_url,
    other,
    models,
    model_mapping,
    is_batch: false,
    key: "",
    priority,
    weight,
    cost_ratio,
    cost_sheet,
    ...proxyValues(channel.proxy),
    reuse: channel.reuse,
    key_mode: channel.key_mode,
    ...limitValues(channel.limits),
    ...timeValues(channel),
    config: channel.config,
    ...rewriteValues(channel.config),
  };
}

/** The fields of a proxy as it is shown: its credentials are not. */
function proxyValues(shown: string) {
  const [kind = "", address = ""] = shown.split("://");
  return { proxy_kind: kind, proxy_address: address, proxy_user: "", proxy_password: "", proxy_open: false };
}

type ProxyValues = ReturnType<typeof proxyValues>;

/** `scheme://user:password@host:port`, as sellers of proxies give it; a password may have any character. */
const WHOLE_PROXY = /^(https?|socks5h?|socks):\/\/(?:([^:@/]*)(?::(.*))?@)?([^@/?#]+)\/?$/i;

/** The fields that a whole address fills in; {} = it is none, as `host:port` is. */
export function pastedProxy(text: string): Partial<ProxyValues> {
  const [, scheme = "", user, password = "", address = ""] = WHOLE_PROXY.exec(text.trim()) ?? [];
  if (address === "") return {};
  const kind = scheme.toLowerCase();
  const at = { proxy_kind: kind === "socks" ? "socks5h" : kind, proxy_address: address };
  if (user === undefined) return at;
  return { ...at, proxy_user: decoded(user), proxy_password: decoded(password), proxy_open: false };
}

/** A text that is no percent-encoding stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The address as the contract wants it; credentials are percent-encoded, so that they may have any character. */
export function proxyOf(values: ChannelValues): string {
  const isProxy = isProxyKind(values.proxy_kind);
  const {
    proxy_kind: kind,
    proxy_address,
    proxy_user,
    proxy_password,
    proxy_open,
  } = { ...values, ...(isProxy && pastedProxy(values.proxy_address)) };
  if (!isProxy) return kind;
  // Of another kind than there are: the server says which there are.
  if (proxy_address.includes("://")) return proxy_address.trim();
  const encode = encodeURIComponent;
  const login = proxy_user === "" ? "" : `${encode(proxy_user)}:${encode(proxy_password)}@`;
  return `${kind}://${proxy_open ? "@" : login}${proxy_address.trim()}`;
}

/** Whether a kind names a proxy, which has an address. */
export function isProxyKind(kind: string): boolean {
  return kind !== "" && kind !== "direct";
}

/** Keys of a batch, one per line; empty lines do not count. A key in the form of JSON may run over many lines. */
export function keysOf(text: string): string[] {
  const json = jsonObjectOf(text);
  if (json !== undefined) return [JSON.stringify(json)];
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

function fieldsOf(values: ChannelValues) {
  return {
    type: values.type,
    name: values.name,
    group: [...values.group],
    base_url: withoutEndSlashes(values.base_url.trim()),
    other: values.other.trim(),
    models: [...values.models],
    model_mapping: values.model_mapping,
    priority: values.priority ?? 0,
    weight: Math.max(0, values.weight ?? 0),
    cost_ratio: values.cost_ratio ?? 1,
    cost_sheet: values.cost_sheet.trim(),
    proxy: proxyOf(values),
    reuse: values.reuse,
    key_mode: values.key_mode,
    limits: limitsOf(values),
    ...timesOf(values),
    config: configWith(values.config, values),
  };
}

export function draftOf(values: ChannelValues): ChannelDraft {
  const key = values.is_batch ? keysOf(values.key).join("\n") : values.key.trim();
  return { ...fieldsOf(values), key };
}

/** Only what was edited: what another administrator saved since `channel` was read stays (requirements W3.6). */
export function updateOf(channel: Channel, values: ChannelValues): ChannelUpdate {
  const changes = changesOf(fieldsOf(valuesOf(channel)), fieldsOf(values));
  const key = values.key.trim();
  return { ...changes, id: channel.id, ...(key === "" ? {} : { key }) };
}

/** The extra field after a change of type: what was written stays only where it means the same, an API version is no knowledge base. */
export function otherAfterType({ type: old, other }: ChannelValues, type: number): string {
  const meaning = (of: number) => providerOf(of)?.other?.label;
  const isOwn = other !== "" && other !== fallbackOther(old);
  return isOwn && meaning(type) === meaning(old) ? other : fallbackOther(type);
}

/** What changes when another type is chosen: defaults of the old type give way, what the user wrote stays. */
export function afterTypeChange(
  values: ChannelValues,
  type: number,
  modelsByType: Readonly<Record<string, readonly string[]>>,
): Partial<ChannelValues> {
  const related = (of: number) => modelsByType[String(of)] ?? [];
  const old = related(values.type);
  const hasOwnModels =
    values.models.length > 0 &&
    (values.models.length !== old.length || values.models.some((model) => !old.includes(model)));
  return {
    type,
    other: otherAfterType(values, type),
    ...(hasOwnModels ? {} : { models: related(type) }),
  };
}

/** Adds model names, keeping order and dropping repeats. */
export function mergeModels(present: readonly string[], added: readonly string[]): string[] {
  return [...new Set([...present, ...added])];
}

/** Names typed by hand: separated by commas, blanks or lines. */
export function typedModels(text: string): string[] {
  return text.split(/[\s,，]+/).filter((name) => name !== "");
}

/** Placeholder of the address field. */
export function addressHint(provider: Provider | undefined): string {
  return provider?.baseUrlHint ?? (provider?.baseUrl || "https://");
}

export const {
  name: NameRule,
  base_url: BaseUrlRule,
  models: ModelsRule,
  group: GroupRule,
  model_mapping: MappingRule,
} = ChannelDraft.shape;
