// Options as a form shows them ⇄ as they are stored, and the order in which changes are sent. Pure.
import { type Option, type OptionKey, type OptionRow, optionTable } from "#contract/option.ts";

/** How an option is edited. */
export type FieldKind =
  | "switch"
  | "number"
  | "quota"
  | "secret"
  | "domains"
  | "ratio"
  | "html"
  | "json"
  | "theme"
  | "whom"
  | "currency"
  | "strategy"
  | "commissionBase"
  | "text";

export type FieldValue = boolean | number | string | readonly string[] | null;
export type FieldValues = Readonly<Record<string, FieldValue>>;

const KINDS: Partial<Record<OptionKey, FieldKind>> = {
  EmailDomainWhitelist: "domains",
  ModelRatio: "ratio",
  CompletionRatio: "ratio",
  CacheRatio: "ratio",
  CacheWriteRatio: "ratio",
  AudioRatio: "ratio",
  AudioCompletionRatio: "ratio",
  ImageRatio: "ratio",
  ImageCompletionRatio: "ratio",
  GroupRatio: "ratio",
  FallbackModelRatio: "number",
  BatchRatio: "number",
  UserUsableGroups: "json",
  PriceCurrency: "currency",
  ModelLastDays: "json",
  PriceNames: "json",
  PriceSources: "json",
  ModelUnits: "json",
  TopUpPlans: "json",
  Notice: "html",
  HomePageContent: "html",
  About: "html",
  Footer: "html",
  Theme: "theme",
  MfaRequiredFor: "whom",
  ChannelStrategy: "strategy",
  PayCommissionBase: "commissionBase",
  ChannelStrategyByGroup: "json",
  RouteRules: "json",
  QuotaForNewUser: "quota",
  QuotaForInviter: "quota",
  QuotaForInvitee: "quota",
  QuotaRemindThreshold: "quota",
};

export function rowOf(key: OptionKey): OptionRow {
  return optionTable[key];
}

/** What the text stands for by the option's own schema; undefined when it does not accept the text. */
function decoded(key: OptionKey, text: string): unknown {
  const result = rowOf(key).schema.safeDecode(text);
  return result.success ? result.data : undefined;
}

export function kindOf(key: OptionKey): FieldKind {
  const row = rowOf(key);
  const special = KINDS[key];
  if (special !== undefined) return special;
  if (row.secret === true) return "secret";
  const value = decoded(key, row.fallback);
  if (typeof value === "boolean") return "switch";
  return typeof value === "number" ? "number" : "text";
}

/** The options as the server lists them, by key. */
export function textsOf(options: readonly Option[]): ReadonlyMap<string, string> {
  return new Map(options.map(({ key, value }) => [key, value]));
}

/** Stored text → what the field shows. A secret is never shown. */
export function shownOf(key: OptionKey, text: string): FieldValue {
  const kind = kindOf(key);
  if (kind === "secret") return "";
  if (kind === "switch") return text === "true";
  if (kind === "number" || kind === "quota") return text.trim() === "" ? null : Number(text);
  if (kind === "domains") return text.trim() === "" ? [] : text.split(",").map((part) => part.trim());
  return text;
}

/** What the field shows as the text to store; a fault when the option's schema does not take it. */
function read(key: OptionKey, value: FieldValue): { readonly text: string; readonly fault?: string } {
  const typed = Array.isArray(value) ? value.join(",") : String(value ?? "");
  const { schema } = rowOf(key);
  const inward = schema.safeDecode(typed);
  // Encoding normalises, e.g. an address loses its trailing slash (requirements B5); what is normal may be refused in turn.
  const outward = inward.success ? schema.safeEncode(inward.data) : inward;
  if (outward.success) return { text: String(outward.data) };
  return { text: typed, fault: outward.error.issues[0]?.message ?? "选项的值有误" };
}

/** What the field shows → text to store, normalised where the option's schema accepts it. */
export function textOf(key: OptionKey, value: FieldValue): string {
  return read(key, value).text;
}

/** Why a value cannot be stored, as a sentence; undefined when it can. An empty secret is not sent at all. */
export function faultOf(key: OptionKey, value: FieldValue): string | undefined {
  const { text, fault } = read(key, value);
  return rowOf(key).secret === true && text.trim() === "" ? undefined : fault;
}

export interface OptionChange {
  readonly key: OptionKey;
  readonly value: string;
}

/** When a change is sent: switches go off first and on last, an address goes before the secret that belongs to it. */
function turnOf({ key, value }: OptionChange): number {
  const kind = kindOf(key);
  if (kind === "switch") return value === "true" ? 3 : 0;
  return kind === "secret" ? 2 : 1;
}

/**
 * What has to be sent, in order. A server that gets another address forgets the secret of the old one, so the address comes first
 * (requirements S06); a switch may need both (requirements W6.3). Secrets only when something was typed (requirements B5).
 */
export function changesOf(
  keys: readonly OptionKey[],
  values: FieldValues,
  stored: ReadonlyMap<string, string>,
): readonly OptionChange[] {
  return keys
    .map((key) => ({ key, value: textOf(key, values[key] ?? null) }))
    .filter(({ key, value }) =>
      kindOf(key) === "secret" ? value.trim() !== "" : value !== storedText(key, stored),
    )
    .sort((one, other) => turnOf(one) - turnOf(other));
}

/** The stored text in the form that `textOf` gives, so that spelling alone is no change. */
function storedText(key: OptionKey, stored: ReadonlyMap<string, string>): string {
  return textOf(key, shownOf(key, stored.get(key) ?? rowOf(key).fallback));
}

/** Values of the fields at first. */
export function valuesOf(keys: readonly OptionKey[], stored: ReadonlyMap<string, string>): FieldValues {
  return Object.fromEntries(keys.map((key) => [key, shownOf(key, stored.get(key) ?? rowOf(key).fallback)]));
}
