// The price tables as rows: name, ratio, where it comes from, and what a million of them cost. Pure.

import { unitOf } from "#contract/charged-unit.ts";
import { type OptionKey, optionTable } from "#contract/option.ts";
import { type PriceUnit, TOKENS_OF_UNIT } from "#contract/price-unit.ts";
import { builtInRatios, chargeUnit, completionRatioRule } from "#contract/prices.ts";

export type RatioKey = keyof typeof builtInRatios | "GroupRatio";
export type Ratios = Readonly<Record<string, number>>;

export function isRatioKey(key: OptionKey): key is RatioKey {
  return key === "GroupRatio" || Object.hasOwn(builtInRatios, key);
}

/** Name → ratio of a JSON text; undefined when it is not such a table. */
export function readRatios(key: RatioKey, text: string): Ratios | undefined {
  const result = optionTable[key].schema.safeDecode(text);
  return result.success ? result.data : undefined;
}

export function writeRatios(ratios: Ratios): string {
  return JSON.stringify(ratios, null, 2);
}

/** The texts of a table: as it was when the edit began, as it was edited, and as another administrator has stored it meanwhile. */
export interface RatioVersions {
  readonly base: string;
  readonly mine: string;
  readonly theirs: string;
}

/** Both edits in one table, row by row; of a row that both changed mine counts. undefined = one of the texts is no table. */
export function mergedRatios(key: RatioKey, { base, mine, theirs }: RatioVersions): string | undefined {
  const [from, to, now] = [base, mine, theirs].map((text) => readRatios(key, text));
  if (from === undefined || to === undefined || now === undefined) return undefined;
  const kept = Object.entries(now).filter(([name]) => to[name] === from[name]);
  const edited = Object.entries(to).filter(([name, ratio]) => ratio !== from[name]);
  return writeRatios(Object.fromEntries([...kept, ...edited]));
}

const BUILT_IN: Partial<Record<RatioKey, Ratios>> = builtInRatios;

/** A table that was sent, as the server then lists it: the built-in rows that it leaves out still stand (requirements W6.1). */
export function completeRatios(key: RatioKey, text: string): string {
  const [builtIn, ratios] = [BUILT_IN[key], readRatios(key, text)];
  return builtIn === undefined || ratios === undefined ? text : writeRatios({ ...builtIn, ...ratios });
}

export interface RatioRow {
  readonly name: string;
  readonly ratio: number;
  /** The ratio that stands without the operator's; undefined = there is none. */
  readonly builtIn: number | undefined;
  /** The ratio comes from the rule of the model's family, not from a table. */
  readonly isRule: boolean;
}

/** `4/3` → 1.333333. */
function ruleRatio(model: string): number {
  const [over = "1", under = "1"] = completionRatioRule(model).split("/");
  return Math.round((Number(over) / Number(under)) * 1_000_000) / 1_000_000;
}

/** Rows by name. A completion table also shows the models whose ratio follows from their family. */
export function ratioRows(key: RatioKey, ratios: Ratios, models: Ratios): readonly RatioRow[] {
  const known = BUILT_IN[key] ?? {};
  const ruled =
    key === "CompletionRatio"
      ? Object.keys(models).filter((model) => ratios[model] === undefined && chargeUnit[model] === undefined)
      : [];
  return [
    ...Object.entries(ratios).map(([name, ratio]) => ({ name, ratio, builtIn: known[name], isRule: false })),
    ...ruled.map((name) => ({ name, ratio: ruleRatio(name), builtIn: ruleRatio(name), isRule: true })),
  ].sort((one, other) => one.name.localeCompare(other.name));
}

export function isChanged({ ratio, builtIn }: RatioRow): boolean {
  return ratio !== builtIn;
}

/** Sets one ratio; `undefined` puts the built-in one back, or takes the row out where there is none. */
export function withRatio(key: RatioKey, ratios: Ratios, name: string, ratio: number | undefined): Ratios {
  const known = BUILT_IN[key]?.[name];
  const next = Object.fromEntries(Object.entries(ratios).filter(([other]) => other !== name));
  const value = ratio ?? known;
  return value === undefined ? next : { ...next, [name]: value };
}

/** What a price is told for. */
const UNITS: Readonly<Record<PriceUnit, string>> = {
  token: "百万 tokens",
  character: "百万字符",
  image: "张",
  minute: "分钟",
  second: "秒",
  call: "次",
};

/** By model, what the operator says that its price counts. */
export type Units = Readonly<Record<string, PriceUnit>>;

interface MoneyScale {
  readonly quotaPerUnit: number;
  readonly units: Units;
}

export interface Money {
  readonly dollars: number;
  readonly per: string;
}

/** Quota of `count` units becomes dollars through QuotaPerUnit (requirements W10.1). */
function moneyOf(model: string, ratio: number, { quotaPerUnit, units }: MoneyScale): Money {
  const unit = unitOf(model, units);
  return { dollars: (ratio * TOKENS_OF_UNIT[unit]) / quotaPerUnit, per: UNITS[unit] };
}

/** The stored tables that others multiply. */
export interface Bases {
  readonly models: Ratios;
  readonly audio: Ratios;
  readonly image: Ratios;
  readonly units: Units;
}

/** What a table says of a model; of a tier (`gpt-5.4>272000`) it may say what it says of its model. */
function ratioIn(ratios: Ratios, name: string): number | undefined {
  return ratios[name] ?? ratios[name.split(">")[0] ?? name];
}

/** What stands between the input price and a row: sound and pictures as output are multiples of themselves as input. */
function inputRatio(key: RatioKey, name: string, { audio, image }: Bases): number {
  if (key === "AudioCompletionRatio") return ratioIn(audio, name) ?? 1;
  return key === "ImageCompletionRatio" ? (ratioIn(image, name) ?? 1) : 1;
}

/** What a row costs; undefined for groups and for models without an input price. */
export function rowMoney(
  key: RatioKey,
  { name, ratio }: { readonly name: string; readonly ratio: number },
  bases: Bases,
  quotaPerUnit: number,
): Money | undefined {
  if (key === "GroupRatio") return undefined;
  const scale = { quotaPerUnit, units: bases.units };
  if (key === "ModelRatio") return moneyOf(name, ratio, scale);
  const input = ratioIn(bases.models, name);
  if (input === undefined) return undefined;
  return moneyOf(name, input * inputRatio(key, name, bases) * ratio, scale);
}

/** The model ratio that makes this price; six decimals, as the tables keep them. */
export function ratioOfDollars(model: string, dollars: number, { quotaPerUnit, units }: MoneyScale): number {
  const count = TOKENS_OF_UNIT[unitOf(model, units)];
  return Math.round(((dollars * quotaPerUnit) / count) * 1_000_000) / 1_000_000;
}

/** `$0.15`, `$2.5`, `$0.0025`: as many digits as the price has, at most six. */
export function dollarText(dollars: number): string {
  const digits = dollars >= 1 || dollars === 0 ? 2 : 4;
  const text = dollars.toFixed(6).replace(/0+$/, "");
  const [whole = "0", part = ""] = text.split(".");
  return `$${whole}.${part.padEnd(2, "0").slice(0, Math.max(digits, part.length))}`;
}
