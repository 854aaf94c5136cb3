// The rules of a channel as the form has them ⇄ its config, which may hold other settings too. Pure.
import { readPairs } from "#console/base/json.ts";
import { placeOf, Rewrite, StatusMap } from "#contract/rewrite.ts";

export interface RuleTexts {
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

export function ruleTexts(config: string): RuleTexts {
  const { rewrite, status_map: statuses } = configObject(config);
  const { rules } = typeof rewrite === "object" && rewrite !== null && "rules" in rewrite ? rewrite : {};
  const map = StatusMap.safeParse(statuses);
  const pairs = map.success ? Object.entries(map.data).map(([from, to]) => [from, String(to)]) : [];
  return {
    rewrite: rules === undefined ? "" : JSON.stringify(rules, null, 2),
    status_map: pairs.length === 0 ? "" : JSON.stringify(Object.fromEntries(pairs), null, 2),
  };
}

function rulesOf(text: string): unknown {
  try {
    return { v: 1, rules: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** Why a text is no list of rules; undefined = it is one, or empty. */
export function rulesFault(text: string): string | undefined {
  if (text.trim() === "") return undefined;
  const rules = rulesOf(text);
  if (rules === undefined) return "规则必须是合法的 JSON 数组";
  const [issue] = Rewrite.safeParse(rules).error?.issues ?? [];
  return issue && `${placeOf(["rewrite", ...issue.path])}：${issue.message}`;
}

/** The rules of a text that has some. */
export function readRules(text: string): Rewrite | undefined {
  return Rewrite.safeParse(rulesOf(text)).data;
}

function statusesOf(text: string): Readonly<Record<string, number>> {
  return Object.fromEntries((readPairs(text) ?? []).map(([from, to]) => [from.trim(), Number(to)]));
}

export function statusesFault(text: string): string | undefined {
  if (text.trim() === "") return undefined;
  return StatusMap.safeParse(statusesOf(text)).error?.issues[0]?.message;
}

/** The config with these rules; other settings stay. */
export function configWith(config: string, { rewrite, status_map }: RuleTexts): string {
  const { rewrite: _rules, status_map: _statuses, ...kept } = configObject(config);
  const statuses = statusesOf(status_map);
  const rules = readRules(rewrite);
  if (rules === undefined && Object.keys(statuses).length === 0 && Object.keys(kept).length === 0)
    return /"(rewrite|status_map)"/.test(config) ? "" : config;
  return JSON.stringify({
    ...kept,
    ...(rules !== undefined && rules.rules.length > 0 && { rewrite: rules }),
    ...(Object.keys(statuses).length > 0 && { status_map: statuses }),
  });
}
