// Options whose text is a JSON table: ratios by name, and the groups that users may choose.
import { z } from "zod";
import { GroupName } from "./group.ts";
import { CHANNEL_STRATEGIES, type ChannelStrategy, isStrategy } from "./strategy.ts";
import { repeatedName } from "./wire.ts";

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
  const table = readTable(value);
  if (table === undefined) return `${label}不是合法的 JSON 字符串`;
  const wrong = Object.entries(table).find(([, ratio]) => !isRatio(ratio));
  if (wrong) return `${label}里“${wrong[0]}”的值须为不小于 0 的数字`;
  const repeated = repeatedName(value);
  return repeated === undefined ? undefined : `${label}里“${repeated}”出现了不止一次`;
}

/** JSON text of name → ratio, finite and ≥ 0, each name once; broken JSON is refused before it is stored (requirements W6.3). */
export function ratios(label: string) {
  const check: z.core.CheckFn<string> = ({ value, issues }) => {
    const message = ratiosFault(label, value);
    if (message !== undefined) issues.push({ code: "custom", input: value, message });
  };
  return z.codec(z.string().check(check), z.record(z.string(), z.number()), {
    // Just found to be a table of numbers.
    decode: (value) => (readTable(value) ?? {}) as Record<string, number>,
    encode: (table) => JSON.stringify(table, null, 2),
  });
}
export const groupRatios = ratios("分组倍率").refine(
  (table) => "default" in table,
  "分组倍率必须包含 default 分组",
);

/** Why a text is no table by group; undefined = it is one. `faultOf` = why a value does not fit. */
function groupsFault(
  label: string,
  value: string,
  faultOf: (name: string, value: unknown) => string | undefined,
): string | undefined {
  const table = readTable(value);
  if (table === undefined) return `${label}不是合法的 JSON 字符串`;
  for (const [name, entry] of Object.entries(table)) {
    if (!GroupName.safeParse(name).success) return `${label}里“${name}”不是可用的分组名`;
    const fault = faultOf(name, entry);
    if (fault !== undefined) return fault;
  }
  const repeated = repeatedName(value);
  return repeated === undefined ? undefined : `${label}里“${repeated}”出现了不止一次`;
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

const checkTexts: z.core.CheckFn<string> = ({ value, issues }) => {
  const message = textsFault(value);
  if (message !== undefined) issues.push({ code: "custom", input: value, message });
};

/** JSON text of group → what users are told of it. */
export const groupTexts = z.codec(z.string().check(checkTexts), z.record(z.string(), z.string()), {
  // Just found to be a table of texts.
  decode: (value) => (readTable(value) ?? {}) as Record<string, string>,
  encode: (table) => JSON.stringify(table, null, 2),
});

const DAY = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/;

/** A day of the calendar, `2026-12-31`. */
function isDay(value: unknown): boolean {
  if (typeof value !== "string" || !DAY.test(value)) return false;
  const at = new Date(`${value}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(value);
}

/** Why a text is no table of days by model; undefined = it is one. */
function daysFault(value: string): string | undefined {
  const table = readTable(value);
  if (table === undefined) return "模型停用日期不是合法的 JSON 字符串";
  const wrong = Object.entries(table).find(([, day]) => !isDay(day));
  if (wrong) return `模型停用日期里“${wrong[0]}”的日期须形如 2026-12-31`;
  const repeated = repeatedName(value);
  return repeated === undefined ? undefined : `模型停用日期里“${repeated}”出现了不止一次`;
}

const checkDays: z.core.CheckFn<string> = ({ value, issues }) => {
  const message = daysFault(value);
  if (message !== undefined) issues.push({ code: "custom", input: value, message });
};

/** JSON text of model → the last day it is served. */
export const modelDays = z.codec(z.string().check(checkDays), z.record(z.string(), z.string()), {
  // Just found to be a table of days.
  decode: (value) => (readTable(value) ?? {}) as Record<string, string>,
  encode: (table) => JSON.stringify(table, null, 2),
});

const checkStrategies: z.core.CheckFn<string> = ({ value, issues }) => {
  const message = strategiesFault(value);
  if (message !== undefined) issues.push({ code: "custom", input: value, message });
};

/** JSON text of group → how calls of it are shared among channels. */
export const groupStrategies = z.codec(
  z.string().check(checkStrategies),
  z.record(z.string(), z.enum(CHANNEL_STRATEGIES)),
  {
    // Just found to be a table of strategies.
    decode: (value) => (readTable(value) ?? {}) as Record<string, ChannelStrategy>,
    encode: (table) => JSON.stringify(table, null, 2),
  },
);
