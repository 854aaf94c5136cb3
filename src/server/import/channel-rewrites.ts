// What other gateways change in a channel's requests, said with our rules (requirements C37, C38): New API's `param_override`, `header_override`,
// `system_prompt` and `status_code_mapping`, one-hub's `custom_parameter` and `model_headers`. What cannot be said is told, part by part.
import { Rewrite, type RewriteAction, RewriteRule, StatusMap } from "#contract/rewrite.ts";
import { literal } from "#contract/rewrite-law.ts";
import { asObject, asText, type JsonRecord, readJson } from "#server/upstream/json/values.ts";
import { conditionsOf, type When } from "./channel-conditions.ts";
import { operationOf } from "./channel-operations.ts";
import { type ChannelSettings, settingsOf } from "./channel-settings.ts";
import { intOf, objectOf, type SourceRow, textOf } from "./row.ts";
import { headerText, plainValue, settingActions } from "./rule-values.ts";

export interface ImportedRules {
  readonly rewrite: Rewrite | undefined;
  readonly statusMap: StatusMap | undefined;
  /** What has no words here, as it stood: its channel must not serve without it. */
  readonly unsaid: readonly string[];
  /** What was left out and changes no request. */
  readonly ignored: readonly string[];
}

/** A rule to be checked, or a part that has none. */
type Made =
  | { readonly when?: When | undefined; readonly do: readonly unknown[] }
  | { readonly unsaid: string };

interface Named {
  readonly id: string;
  /** As it stands in the source. */
  readonly text: string;
  readonly made: Made;
}

export function rulesOf(row: SourceRow, settings: ChannelSettings = settingsOf(row)): ImportedRules {
  const ignored: string[] = [];
  const named = [
    // In New API's order.
    ...(settings.passesBody ? [] : [...systemPrompt(row), ...removals(settings), ...parameters(row)]),
    ...customParameter(row),
    ...organization(row),
    ...headers(row, "header_override"),
    ...headers(row, "model_headers"),
  ];
  const rules: RewriteRule[] = [];
  const unsaid: string[] = [];
  for (const { id, text, made } of named) {
    if ("unsaid" in made) {
      unsaid.push(`${id}: ${made.unsaid}: ${text}`);
      continue;
    }
    if (made.do.length === 0) continue;
    const { when, do: actions } = made;
    const checked = RewriteRule.safeParse({ id, ...(when !== undefined && { when }), do: actions });
    if (checked.success) rules.push(checked.data);
    else unsaid.push(`${id}: ${checked.error.issues[0]?.message ?? ""}: ${text}`);
  }
  const statusMap = statuses(row, ignored);
  if (rules.length === 0) return { rewrite: undefined, statusMap, unsaid, ignored };
  const rewrite = Rewrite.safeParse({ v: 1, rules });
  if (!rewrite.success) unsaid.push(`${rewrite.error.issues[0]?.message ?? ""}: ${JSON.stringify(rules)}`);
  return { rewrite: rewrite.data, statusMap, unsaid, ignored };
}

/** What New API takes out of the bodies of these formats unless a switch allows it. */
function removals({ takenOut, takesStoreOut }: ChannelSettings): Named[] {
  const formats = ["chat", "completions", "messages", "responses"] as const;
  const fields: Made = {
    when: { formats: [...formats] },
    do: takenOut.map((path) => ({ op: "remove", path })),
  };
  const store: Made = {
    when: { formats: ["chat"], has: ["/messages"] },
    do: takesStoreOut ? [{ op: "remove", path: "/store" }] : [],
  };
  return [
    { id: "settings", text: takenOut.join(" "), made: fields },
    { id: "disable_store", text: "disable_store", made: store },
  ];
}

const OPENAI = 1;

/** OpenAI's organization goes by a header; other types do not send it. */
function organization(row: SourceRow): Named[] {
  const id = "open_ai_organization";
  const value = textOf(row, id) || textOf(row, "openai_organization");
  if (value === "" || intOf(row, "type") !== OPENAI) return [];
  return [
    {
      id,
      text: value,
      made: { do: [{ op: "setHeader", name: "OpenAI-Organization", value: literal(value) }] },
    },
  ];
}

function systemPrompt(row: SourceRow): Named[] {
  const setting = objectOf(row, "setting");
  const text = asText(setting["system_prompt"]) || textOf(row, "system_prompt");
  if (text.trim() === "") return [];
  const before = setting["system_prompt_override"] === true;
  const action = { op: "system", text: literal(text), ...(before && { before }) };
  return [{ id: "system_prompt", text, made: { do: [action] } }];
}

/** A name of the top, which may have any character. */
function top(name: string): string {
  return `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** New API's: a flat table of names, or operations after one. An operation that is none makes the whole table a flat one there. */
function parameters(row: SourceRow): Named[] {
  const text = textOf(row, "param_override").trim();
  if (text === "" || text === "{}") return [];
  const table = readJson(text);
  if (table === undefined) return [{ id: "param_override", text, made: { unsaid: "不是 JSON 对象" } }];
  const { operations, ...flat } = table;
  const list = Array.isArray(operations) ? operations.map(asObject) : undefined;
  const isList = list?.every((one) => typeof one?.["mode"] === "string") === true;
  const flatRules = Object.entries(isList ? flat : table).map(
    ([name, value], index): Named => ({
      id: `param_override ${index + 1}`,
      text: JSON.stringify({ [name]: value }),
      made: { do: settingActions(top(name), value) },
    }),
  );
  const hasMapping = Object.keys(objectOf(row, "model_mapping")).length > 0;
  const operated = isList ? (list ?? []) : [];
  return [
    ...merged(flatRules),
    ...operated.flatMap((one, index) => operationRules(one ?? {}, { index, hasMapping })),
  ];
}

/** Plain settings in one rule, unless one of them cannot be said. */
function merged(rules: readonly Named[]): readonly Named[] {
  const actions = rules.flatMap(({ made }) => ("unsaid" in made ? [] : made.do));
  const isSaid = RewriteRule.safeParse({ id: "param_override", do: actions }).success;
  const text = rules.map((rule) => rule.text).join(" ");
  return isSaid ? [{ id: "param_override", text, made: { do: actions } }] : rules;
}

function operationRules(
  one: JsonRecord,
  { index, hasMapping }: { readonly index: number; readonly hasMapping: boolean },
): Named[] {
  const id = `operation ${index + 1}`;
  const text = JSON.stringify(one);
  const when = conditionsOf(one, hasMapping);
  if (when !== undefined && "unsaid" in when) return [{ id, text, made: when }];
  const found = operationOf(one);
  if ("unsaid" in found) return [{ id, text, made: found }];
  // There a source that is missing ends the call.
  const { needs, actions } = found;
  const refusal: RewriteAction = {
    op: "refuse",
    status: 400,
    code: "invalid_request",
    message: literal(`请求缺少字段 ${needs ?? ""}`),
  };
  const guard =
    needs === undefined
      ? []
      : [{ id: `${id} source`, text, made: { when: { ...when, lacks: [needs] }, do: [refusal] } }];
  return [...guard, { id, text, made: { when, do: actions } }];
}

const FLAGS = new Set(["overwrite", "per_model", "pre_add", "stream"]);

/** one-hub's: sets what is absent, or everything with `overwrite`; a table for each model with `per_model`. */
function customParameter(row: SourceRow): Named[] {
  const text = textOf(row, "custom_parameter").trim();
  if (text === "") return [];
  const id = "custom_parameter";
  const table = readJson(text);
  if (table === undefined) return [{ id, text, made: { unsaid: "不是 JSON 对象" } }];
  if (table["pre_add"] === true) return [{ id, text, made: { unsaid: "在转换格式之前改写（pre_add）" } }];
  const op = table["overwrite"] === true ? "set" : "default";
  const actions = (of: JsonRecord) =>
    Object.entries(of)
      .filter(([name]) => !FLAGS.has(name))
      .flatMap(([name, value]) =>
        op === "set" ? settingActions(top(name), value) : [{ op, path: top(name), value: plainValue(value) }],
      );
  if (table["per_model"] !== true) return [{ id, text, made: { do: actions(table) } }];
  return Object.entries(table)
    .filter(([name]) => !FLAGS.has(name))
    .map(([model, value], index) => ({
      id: `${id} ${index + 1}`,
      text: JSON.stringify({ [model]: value }),
      made: { when: { models: [model] }, do: actions(asObject(value) ?? {}) },
    }));
}

/** Fixed headers; `{api_key}` is the channel's key, `{client_header:NAME}` a header of the client, where it has it. */
function headers(row: SourceRow, column: "header_override" | "model_headers"): Named[] {
  const text = textOf(row, column).trim();
  if (text === "" || text === "{}") return [];
  const table = readJson(text);
  if (table === undefined) return [{ id: column, text, made: { unsaid: "不是 JSON 对象" } }];
  return Object.entries(table).map(([name, value], index) => ({
    id: `${column} ${index + 1}`,
    text: JSON.stringify({ [name]: value }),
    made: headerOf(name.trim(), value),
  }));
}

function headerOf(name: string, value: unknown): Made {
  if (typeof value !== "string") return { unsaid: "请求头的值不是文本" };
  if (name === "*" || /^(re|regex):/i.test(name)) return { unsaid: "按模式转发客户端的请求头" };
  // It is sent anyway.
  if (/^content-type$/i.test(name) && /^application\/json\b/i.test(value.trim())) return { do: [] };
  const client = /^\{client_header:([^{}]+)\}$/.exec(value.trim())?.[1]?.trim();
  if (client === undefined) return { do: [{ op: "setHeader", name, value: headerText(value) }] };
  if (client.toLowerCase() === name.toLowerCase()) return { do: [{ op: "passHeader", name }] };
  const when = { header: { [client]: "*" } };
  return { when, do: [{ op: "setHeader", name, value: `{{header:${client}}}` }] };
}

/** Entries that are no error statuses count for nothing there either. */
function statuses(row: SourceRow, ignored: string[]): StatusMap | undefined {
  const text = textOf(row, "status_code_mapping").trim();
  if (text === "" || text === "{}") return undefined;
  const table = readJson(text);
  if (table === undefined) ignored.push(`status_code_mapping: ${text}`);
  const entries = Object.entries(table ?? {}).map(([from, to]) => [from.trim(), Number(to)] as const);
  const good = entries.filter(([from, to]) => StatusMap.safeParse({ [from]: to }).success);
  if (good.length < entries.length) ignored.push(`status_code_mapping: ${text}`);
  return good.length === 0 ? undefined : Object.fromEntries(good);
}
