// Options whose text is a JSON table: ratios by name, and the groups that users may choose.
import { z } from "zod";
import { GroupName } from "./group.ts";
import { repeatedName } from "./json-names.ts";
import { PRICE_UNITS } from "./price-unit.ts";
import { CHANNEL_STRATEGIES, isStrategy } from "./strategy.ts";

function readTable(value: string): object | undefined {
  try {
    const table: unknown = JSON.parse(value);
    return typeof table === "object" && table !== null && !Array.isArray(table) ? table : undefined;
  } catch {
    return undefined;
  }
}

function isRatio(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

/** Why a text is no table of ratios; undefined = it is one. */
function ratiosFault(label: string, value: string): string | undefined {
  return tableFault(label, value, (name, ratio) =>
    isRatio(ratio) ? undefined : `${label}里“${name}”的值须为不小于 0 的数字`,
  );
}

/** JSON text of a table. `faultOf` = why a text is none; undefined = it is one. */
function tableText<Entry extends string | number>(
  faultOf: (text: string) => string | undefined,
  entry: z.ZodType<Entry, Entry>,
) {
  const check: z.core.CheckFn<string> = ({ value, issues }) => {
    const message = faultOf(value);
    if (message !== undefined) issues.push({ code: "custom", input: value, message });
  };
  return z.codec(z.string().check(check), z.record(z.string(), entry), {
    // Just found to be a table of such entries.
    decode: (value) => (readTable(value) ?? {}) as Record<string, Entry>,
    encode: (table) => JSON.stringify(table, null, 2),
  });
}

/** JSON text of name → ratio, finite and ≥ 0, each name once; broken JSON is refused before it is stored (requirements W6.3). */
export function ratios(label: string) {
  return tableText((text) => ratiosFault(label, text), z.number());
}
export const groupRatios = ratios("分组倍率").refine(
  (table) => "default" in table,
  "分组倍率必须包含 default 分组",
);

type EntryFault = (name: string, value: unknown) => string | undefined;

/** Why a text is no table; undefined = it is one. `faultOf` = why a value does not fit. */
function tableFault(label: string, value: string, faultOf: EntryFault): string | undefined {
  const table = readTable(value);
  if (table === undefined) return `${label}不是合法的 JSON 字符串`;
  for (const [name, entry] of Object.entries(table)) {
    const fault = faultOf(name, entry);
    if (fault !== undefined) return fault;
  }
  const repeated = repeatedName(value);
  return repeated === undefined ? undefined : `${label}里“${repeated}”出现了不止一次`;
}

/** The same of a table by group. */
function groupsFault(label: string, value: string, faultOf: EntryFault): string | undefined {
  return tableFault(label, value, (name, entry) =>
    GroupName.safeParse(name).success ? faultOf(name, entry) : `${label}里“${name}”不是可用的分组名`,
  );
}

function textsFault(value: string): string | undefined {
  return groupsFault("可选分组", value, (name, text) =>
    typeof text === "string" && text.length <= 200
      ? undefined
      : `可选分组里“${name}”的说明须为最多 200 个字符的文字`,
  );
}

function strategiesFault(value: string): string | undefined {
  return groupsFault("分组的选择策略", value, (name, strategy) =>
    isStrategy(strategy)
      ? undefined
      : `分组的选择策略里“${name}”的值须为 ${CHANNEL_STRATEGIES.join("、")} 之一`,
  );
}

/** JSON text of group → what users are told of it. */
export const groupTexts = tableText(textsFault, z.string());

const DAY = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/;

/** A day of the calendar, `2026-12-31`. */
function isDay(value: unknown): boolean {
  if (typeof value !== "string" || !DAY.test(value)) return false;
  const at = new Date(`${value}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(value);
}

/** Why a text is no table of days by model; undefined = it is one. */
function daysFault(value: string): string | undefined {
  return tableFault("模型停用日期", value, (name, day) =>
    isDay(day) ? undefined : `模型停用日期里“${name}”的日期须形如 2026-12-31`,
  );
}

/** JSON text of model → the last day it is served. */
export const modelDays = tableText(daysFault, z.string());

/** Why a text is no table of units by model; undefined = it is one. */
function unitsFault(value: string): string | undefined {
  return tableFault("模型计费方式", value, (name, unit) =>
    PRICE_UNITS.some((one) => one === unit)
      ? undefined
      : `模型计费方式里“${name}”的值须为 ${PRICE_UNITS.join("、")} 之一`,
  );
}

/** JSON text of model → what its price counts. */
export const modelUnits = tableText(unitsFault, z.enum(PRICE_UNITS));

/** Why a text is no table of names; undefined = it is one. */
function namesFault(value: string): string | undefined {
  return tableFault("价目表中的模型名称", value, (model, name) =>
    typeof name === "string" && name.trim() !== "" && name.length <= 200
      ? undefined
      : `价目表中的模型名称里“${model}”的值须为 1 到 200 个字符的名称`,
  );
}

/** JSON text of model → its name in price lists. */
export const priceNames = tableText(namesFault, z.string());

const MOST_SOURCES = 10;

/** Why a text is no table of sources; undefined = it is one. */
function sourcesFault(value: string): string | undefined {
  return tableFault("价目表的先后", value, (pattern, text) => {
    const sources = typeof text === "string" ? text.split(",").map((one) => one.trim()) : [];
    const isList =
      pattern.trim() !== "" &&
      sources.length > 0 &&
      sources.length <= MOST_SOURCES &&
      new Set(sources).size === sources.length &&
      sources.every((source) => /^https?:\/\/\S{1,200}$/.test(source));
    return isList ? undefined : `价目表的先后里“${pattern}”的值须为 1 到 ${MOST_SOURCES} 个地址，用逗号分隔`;
  });
}

/** JSON text of a pattern of models → addresses of price lists, the first before the next. */
export const priceSources = tableText(sourcesFault, z.string());

/** JSON text of group → how calls of it are shared among channels. */
export const groupStrategies = tableText(strategiesFault, z.enum(CHANNEL_STRATEGIES));
