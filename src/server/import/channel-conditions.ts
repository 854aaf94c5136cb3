// The conditions of New API's operations as ours; a list of them is met there when one is, unless `logic` says AND.
import type { RewriteWhen } from "#contract/rewrite.ts";
import { asObject, asText, type JsonRecord } from "#server/upstream/json/values.ts";
import { pointerOf } from "./channel-operations.ts";

export type When = RewriteWhen;
type Unsaid = { readonly unsaid: string };

/** undefined = it always applies. `hasMapping` = the channel gives models other names upstream. */
export function conditionsOf(operation: JsonRecord, hasMapping: boolean): When | Unsaid | undefined {
  const { conditions, logic } = operation;
  const list = listOf(conditions);
  if (list === undefined)
    return conditions === undefined || conditions === null ? undefined : { unsaid: "条件无法识别" };
  if (list.length === 0) return undefined;
  const read = list.map((one) => conditionOf(one, hasMapping));
  const found: Omit<When, "any">[] = [];
  for (const one of read) {
    if ("unsaid" in one) return one;
    found.push(one);
  }
  if (found.length === 1) return found[0];
  if (String(logic).toUpperCase() === "AND") return together(found);
  return { any: found };
}

function listOf(conditions: unknown): readonly JsonRecord[] | undefined {
  if (Array.isArray(conditions)) {
    const list = conditions.map(asObject);
    return list.every((one) => one !== undefined) ? list : undefined;
  }
  const short = asObject(conditions);
  return short && Object.entries(short).map(([path, value]) => ({ path, value, mode: "full" }));
}

/** All of them in one; the same place twice cannot be said. */
function together(list: readonly Omit<When, "any">[]): When | Unsaid {
  const whole: Record<string, unknown> = {};
  for (const [name, value] of list.flatMap((one) => Object.entries(one))) {
    const before = asObject(whole[name]);
    const now = asObject(value);
    const isTwice =
      before === undefined ? whole[name] !== undefined : Object.keys(now ?? {}).some((key) => key in before);
    if (isTwice) return { unsaid: "同一处有几个条件" };
    whole[name] = before === undefined ? value : { ...before, ...now };
  }
  return whole as When; // made of conditions, each name once
}

function conditionOf(condition: JsonRecord, hasMapping: boolean): Omit<When, "any"> | Unsaid {
  const { mode = "full", value, invert, pass_missing_key: passes } = condition;
  const path = asText(condition["path"]) ?? "";
  if (invert === true) return { unsaid: "取反的条件" };
  if (passes === true) return { unsaid: "字段缺失也算满足的条件" };
  const attempt = mode === "full" ? attemptOf(path, value) : undefined;
  if (attempt !== undefined) return { attempt };
  if (/^(is_retry|last_error|is_channel_test|retry_index|request_path)/.test(path))
    return { unsaid: `条件 ${path}` };
  const pattern = patternOf(String(mode), value);
  if (path.startsWith("request_headers.")) {
    const name = path.slice("request_headers.".length);
    return pattern === undefined ? { unsaid: `条件 ${path}` } : { header: { [name]: pattern } };
  }
  if (path === "original_model") {
    // Ours looks at both names.
    return hasMapping || pattern === undefined ? { unsaid: "重定向之前的模型名" } : { models: [pattern] };
  }
  return bodyCondition(path === "upstream_model" ? "model" : path, { mode, value, pattern });
}

function attemptOf(path: string, value: unknown): "first" | "retry" | undefined {
  if (path === "is_retry" && typeof value === "boolean") return value ? "retry" : "first";
  return path === "retry_index" && value === 0 ? "first" : undefined;
}

function bodyCondition(
  path: string,
  {
    mode,
    value,
    pattern,
  }: { readonly mode: unknown; readonly value: unknown; readonly pattern: string | undefined },
): Omit<When, "any"> | Unsaid {
  const pointer = pointerOf(path);
  if (pointer === undefined || pointer.includes("*")) return { unsaid: `条件的路径 ${path}` };
  if (mode === "full" && isScalar(value)) return { equals: { [pointer]: value } };
  return pattern === undefined ? { unsaid: `条件 ${String(mode)}` } : { like: { [pointer]: pattern } };
}

function isScalar(value: unknown): value is string | number | boolean | null {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}

function patternOf(mode: string, value: unknown): string | undefined {
  if (typeof value !== "string" || value === "" || value.includes("*")) return undefined;
  if (mode === "full") return value;
  if (mode === "prefix") return `${value}*`;
  if (mode === "suffix") return `*${value}`;
  return mode === "contains" ? `*${value}*` : undefined;
}
