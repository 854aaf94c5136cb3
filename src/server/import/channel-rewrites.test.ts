// What other gateways change in requests, as ours: the bodies that leave are those of their documented semantics (requirements C37, C38).
import { describe, expect, it } from "vitest";
import { sentFor } from "#test/worlds/imported-rules.ts";
import { rulesOf } from "./channel-rewrites.ts";
import type { SourceRow } from "./row.ts";

const BODY = '{"model":"gpt-4o","temperature":1,"user":"u-1","a":{"b":2},"l":[1,2,3]}';

const outcome = (row: SourceRow) => sentFor(row, BODY);

const op = (...operations: readonly unknown[]): SourceRow => ({
  param_override: JSON.stringify({ operations }),
});
const flat = (table: unknown): SourceRow => ({ param_override: JSON.stringify(table) });
/** The body with other values of some members, at the end where they are new. */
const body = (change: Record<string, unknown>) => JSON.stringify({ ...JSON.parse(BODY), ...change });
const SET = { mode: "set", path: "x", value: 1 };
const WITH = body({ x: 1 });

describe("New API's parameters", () => {
  it.each<[string, SourceRow, string]>([
    ["flat", flat({ temperature: 0 }), body({ temperature: 0 })],
    ["flat null", flat({ user: null }), body({ user: null })],
    ["a flat name with a dot is a name", flat({ "a.b": 1 }), body({ "a.b": 1 })],
    ["a flat name with a slash", flat({ "a/b": 1 }), body({ "a/b": 1 })],
    [
      "flat before operations",
      flat({ x: 5, operations: [{ mode: "set", path: "x", value: 6 }] }),
      body({ x: 6 }),
    ],
    [
      "a malformed operation makes all flat",
      flat({ operations: [{ path: "x" }] }),
      body({ operations: [{ path: "x" }] }),
    ],
    ["set a path", op({ mode: "set", path: "a.b", value: 3 }), body({ a: { b: 3 } })],
    ["set an index", op({ mode: "set", path: "l.1", value: 9 }), body({ l: [1, 9, 3] })],
    ["set the last", op({ mode: "set", path: "l.-1", value: 9 }), body({ l: [1, 2, 9] })],
    [
      "set, keeping what is there",
      op({ mode: "set", path: "temperature", value: 0, keep_origin: true }),
      BODY,
    ],
    ["set a name with an escaped dot", op({ mode: "set", path: "a\\.b", value: 1 }), body({ "a.b": 1 })],
    [
      "delete",
      op({ mode: "delete", path: "user" }),
      '{"model":"gpt-4o","temperature":1,"a":{"b":2},"l":[1,2,3]}',
    ],
    ["delete all", op({ mode: "delete", path: "l.*" }), body({ l: [] })],
    ["move", op({ mode: "move", from: "a.b", to: "x" }), body({ a: {}, x: 2 })],
    ["move of what is missing", op({ mode: "move", from: "none", to: "x" }), "400 请求缺少字段 /none"],
    ["copy", op({ mode: "copy", from: "user", to: "x" }), body({ x: "u-1" })],
    ["append to a text", op({ mode: "append", path: "user", value: "!" }), body({ user: "u-1!" })],
    ["prepend to a list", op({ mode: "prepend", path: "l", value: [8, 9] }), body({ l: [8, 9, 1, 2, 3] })],
    [
      "append to an object",
      op({ mode: "append", path: "a", value: { b: 5, c: 1 } }),
      body({ a: { b: 5, c: 1 } }),
    ],
    [
      "append, keeping what is there",
      op({ mode: "append", path: "a", value: { b: 5, c: 1 }, keep_origin: true }),
      body({ a: { b: 2, c: 1 } }),
    ],
    ["trim_prefix", op({ mode: "trim_prefix", path: "user", value: "u-" }), body({ user: "1" })],
    ["ensure_suffix", op({ mode: "ensure_suffix", path: "user", value: "-x" }), body({ user: "u-1-x" })],
    ["to_upper", op({ mode: "to_upper", path: "user" }), body({ user: "U-1" })],
    ["replace", op({ mode: "replace", path: "user", from: "u", to: "v" }), body({ user: "v-1" })],
    ["return_error with a text", op({ mode: "return_error", value: "no" }), "400 no"],
    [
      "return_error",
      op({ mode: "return_error", value: { message: "no", status_code: 403, code: "denied" } }),
      "403 no",
    ],
    [
      "a condition that is met",
      op({ ...SET, conditions: [{ path: "model", mode: "prefix", value: "gpt" }] }),
      WITH,
    ],
    [
      "one that is not",
      op({ ...SET, conditions: [{ path: "model", mode: "prefix", value: "claude" }] }),
      BODY,
    ],
    ["case counts", op({ ...SET, conditions: [{ path: "model", mode: "prefix", value: "GPT" }] }), BODY],
    [
      "either, as it is without logic",
      op({
        ...SET,
        conditions: [
          { path: "model", mode: "full", value: "x" },
          { path: "a.b", mode: "full", value: 2 },
        ],
      }),
      WITH,
    ],
    [
      "both",
      op({
        ...SET,
        logic: "AND",
        conditions: [
          { path: "model", mode: "full", value: "x" },
          { path: "a.b", mode: "full", value: 2 },
        ],
      }),
      BODY,
    ],
    ["types count", op({ ...SET, conditions: { "a.b": "2" } }), BODY],
    ["the short form", op({ ...SET, conditions: { "a.b": 2 } }), WITH],
    [
      "a header",
      op({ ...SET, conditions: [{ path: "request_headers.x-client", mode: "contains", value: "cl" }] }),
      WITH,
    ],
    [
      "the original model",
      op({ ...SET, conditions: [{ path: "original_model", mode: "suffix", value: "4o" }] }),
      WITH,
    ],
    ["no retry", op({ ...SET, conditions: [{ path: "is_retry", mode: "full", value: false }] }), WITH],
    ["a retry", op({ ...SET, conditions: { is_retry: true } }), BODY],
  ])("%s", (_name, row, sent) => {
    expect(outcome(row)).toMatchObject({ body: sent });
  });

  it("system prompts are put where there is none, and before one where a flag says so", () => {
    expect(
      rulesOf({ setting: '{"system_prompt":"S","system_prompt_override":true}' }).rewrite?.rules,
    ).toEqual([{ id: "system_prompt", do: [{ op: "system", text: "S", before: true }] }]);
    expect(rulesOf({ system_prompt: "S" }).rewrite?.rules[0]?.do).toEqual([{ op: "system", text: "S" }]);
  });

  it.each<[string, SourceRow]>([
    ["regex_replace", op({ mode: "regex_replace", path: "user", from: "a", to: "b" })],
    ["prune_objects", op({ mode: "prune_objects", value: "thinking" })],
    ["sync_fields", op({ mode: "sync_fields", from: "json:a", to: "header:b" })],
    ["a table of a header", op({ mode: "set_header", path: "anthropic-beta", value: { a: "b" } })],
    ["a query", op({ mode: "set", path: "l.#(x==1)", value: 1 })],
    ["the stream", flat({ stream: false })],
    ["the model", op({ mode: "set", path: "model", value: "x" })],
    ["a tier", flat({ service_tier: "priority" })],
    ["numbers compared", op({ ...SET, conditions: [{ path: "a.b", mode: "gt", value: 1 }] })],
    ["turned about", op({ ...SET, conditions: [{ path: "a.b", mode: "full", value: 1, invert: true }] })],
    [
      "missing fields",
      op({ ...SET, conditions: [{ path: "a.b", mode: "full", value: 1, pass_missing_key: true }] }),
    ],
    ["the last error", op({ ...SET, conditions: { "last_error.code": "x" } })],
    ["no JSON", { param_override: "{temperature" }],
    ["429", op({ mode: "return_error", value: { message: "no", status_code: 429 } })],
  ])("has no words here: %s", (_name, row) => {
    expect(rulesOf(row).unsaid).not.toEqual([]);
  });
});

describe("headers and statuses", () => {
  it.each<[string, SourceRow, readonly string[]]>([
    ["fixed", { header_override: '{"X-A":"1"}' }, ["x-old", "1", "X-A", "1"]],
    [
      "the key",
      { header_override: '{"Authorization":"Key {api_key}"}' },
      ["x-old", "1", "Authorization", "Key sk-key-0123456789"],
    ],
    [
      "of the client",
      { header_override: '{"X-Client":"{client_header:X-Client}"}' },
      ["x-old", "1", "X-Client", "cli"],
    ],
    [
      "of the client by another name",
      { header_override: '{"X-B":"{client_header:X-Client}"}' },
      ["x-old", "1", "X-B", "cli"],
    ],
    ["one that the client has not", { header_override: '{"X-B":"{client_header:X-None}"}' }, ["x-old", "1"]],
    ["the content type of JSON", { header_override: '{"Content-Type":"application/json"}' }, ["x-old", "1"]],
    [
      "operations",
      op({ mode: "delete_header", path: "X-Old" }, { mode: "pass_headers", value: ["X-Client"] }),
      ["X-Client", "cli"],
    ],
    ["one-hub's", { model_headers: '{"X-A":"1"}' }, ["x-old", "1", "X-A", "1"]],
  ])("%s", (_name, row, sent) => {
    expect(outcome(row)).toMatchObject({ headers: sent });
  });

  it.each([
    '{"Host":"x"}',
    '{"*":""}',
    '{"re:^x-":""}',
    '{"Authorization":"Bearer other"}',
    '{"X-A":1}',
    "[",
    '{"Cookie":"{client_header:Cookie}"}',
  ])("has no words here: %s", (text) => {
    expect(rulesOf({ header_override: text }).unsaid).not.toEqual([]);
  });

  it("statuses that are errors are taken, others are told and change nothing", () => {
    expect(rulesOf({ status_code_mapping: '{"429":"503","500":502}' }).statusMap).toEqual({
      "429": 503,
      "500": 502,
    });
    const odd = rulesOf({ status_code_mapping: '{"200":"500","429":"abc","500":99,"503":"500"}' });
    expect(odd).toMatchObject({ statusMap: { "503": 500 }, unsaid: [] });
    expect(odd.ignored).toHaveLength(1);
    expect(rulesOf({ status_code_mapping: "[" })).toMatchObject({ statusMap: undefined, unsaid: [] });
  });
});

describe("one-hub's custom parameters", () => {
  const custom = (table: unknown): SourceRow => ({ custom_parameter: JSON.stringify(table) });
  it.each<[string, SourceRow, string]>([
    ["only what is absent", custom({ temperature: 0, x: 1 }), body({ x: 1 })],
    ["everything", custom({ temperature: 0, overwrite: true }), body({ temperature: 0 })],
    ["never the stream", custom({ stream: true, x: 1 }), body({ x: 1 })],
    [
      "by model",
      custom({ per_model: true, overwrite: true, "gpt-4o": { x: 1 }, other: { x: 2 } }),
      body({ x: 1 }),
    ],
    ["nothing", custom({}), BODY],
  ])("%s", (_name, row, sent) => {
    expect(outcome(row)).toMatchObject({ body: sent });
  });

  it("has no words here before a conversion", () => {
    expect(rulesOf(custom({ pre_add: true, x: 1 })).unsaid).toHaveLength(1);
  });
});
