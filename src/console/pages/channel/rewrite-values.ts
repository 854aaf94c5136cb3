// The rules of a channel as the form has them ⇄ its config, which may hold other settings too. Pure.
import { readPairs } from "#console/base/json.ts";
import { placeOf, Rewrite, StatusMap } from "#contract/rewrite.ts";
import { type RuleRow, rowsOfRules, rulesOfRows } from "./rewrite-rows.ts";

export interface RewriteValues {
  /** Where the rules are edited; the other one follows when it is chosen. */
  readonly rules_in: "rows" | "text";
  readonly rules: readonly Partial<RuleRow>[];
  /** The rules as a JSON list; "" = none. */
  readonly rewrite: string;
  /** A JSON object of statuses; "" = none. */
  readonly status_map: string;
}

function configObject(config: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(config || "{}");
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

export function rewriteValues(config: string): RewriteValues {
  const { rewrite: stored, status_map: statuses } = configObject(config);
  const { rules } = typeof stored === "object" && stored !== null && "rules" in stored ? stored : {};
  const map = StatusMap.safeParse(statuses);
  const pairs = map.success ? Object.entries(map.data).map(([from, to]) => [from, String(to)]) : [];
  const rewrite = rules === undefined ? "" : JSON.stringify(rules, null, 2);
  const rows = rowsOfText(rewrite);
  const isText = typeof rows === "string";
  return {
    rules_in: isText ? "text" : "rows",
    rules: isText ? [] : rows,
    rewrite,
    status_map: pairs.length === 0 ? "" : JSON.stringify(Object.fromEntries(pairs), null, 2),
  };
}

function listOf(text: string): unknown {
  try {
    return text.trim() === "" ? [] : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The rules of a text as rows, or why they are not shown so. */
export function rowsOfText(text: string): readonly RuleRow[] | string {
  const list = listOf(text);
  if (!Array.isArray(list)) return NO_LIST;
  const rows = rowsOfRules(list);
  return "unshown" in rows ? `第 ${rows.unshown} 条规则有表单不能显示的内容，请用 JSON 编辑` : rows;
}

const NO_LIST = "规则必须是合法的 JSON 数组";

/** The rules of rows as text; "" = none. */
export function textOfRows(rows: RewriteValues["rules"]): string {
  return rows.length === 0 ? "" : JSON.stringify(rulesOfRows(rows), null, 2);
}

/** Why a text is no list of rules; undefined = it is one, or empty. */
export function rulesFault(text: string): string | undefined {
  const rules = listOf(text);
  if (rules === undefined) return NO_LIST;
  const [issue] = Rewrite.safeParse({ v: 1, rules }).error?.issues ?? [];
  return issue && `${placeOf(["rewrite", ...issue.path])}：${issue.message}`;
}

/** The rules as they are edited; undefined = they are wrong. */
export function rewriteOf({ rules_in, rules, rewrite }: RewriteValues): Rewrite | undefined {
  return Rewrite.safeParse({ v: 1, rules: rules_in === "rows" ? rulesOfRows(rules) : listOf(rewrite) }).data;
}

function statusesOf(text: string): Readonly<Record<string, number>> {
  return Object.fromEntries((readPairs(text) ?? []).map(([from, to]) => [from.trim(), Number(to)]));
}

export function statusesFault(text: string): string | undefined {
  if (text.trim() === "") return undefined;
  return StatusMap.safeParse(statusesOf(text)).error?.issues[0]?.message;
}

/** The config with these rules; other settings stay. */
export function configWith(config: string, values: RewriteValues): string {
  const { rewrite: _rules, status_map: _statuses, ...kept } = configObject(config);
  const statuses = statusesOf(values.status_map);
  const rules = rewriteOf(values)?.rules ?? [];
  if (rules.length === 0 && Object.keys(statuses).length === 0 && Object.keys(kept).length === 0)
    return /"(rewrite|status_map)"/.test(config) ? "" : config;
  return JSON.stringify({
    ...kept,
    ...(rules.length > 0 && { rewrite: { v: 1, rules } }),
    ...(Object.keys(statuses).length > 0 && { status_map: statuses }),
  });
}
