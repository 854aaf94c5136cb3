// Channels of New API and one-hub as operators have them, with several settings at once: the body and the headers that leave (requirements
// C37). The single settings are in the test beside.
import { describe, expect, it } from "vitest";
import { sentFor } from "#test/worlds/imported-rules.ts";
import { rulesOf } from "./channel-rewrites.ts";
import type { SourceRow } from "./row.ts";

/** A conversation with tools, as an agent sends it. */
const ASKED = {
  model: "gpt-4o",
  messages: [
    { role: "system", content: "You are kind." },
    { role: "user", content: " tell me ", name: "bob" },
  ],
  temperature: 1,
  metadata: { team: "red" },
  stop: ["END"],
};
type Asked = Record<string, unknown>;
const [SYSTEM, USER] = ASKED.messages;
const UNCHANGED: Asked = ASKED;
/** With these members, the new ones at the end. */
const withAll = (change: Asked): Asked => ({ ...ASKED, ...change });
const without = (...names: readonly string[]): Asked =>
  Object.fromEntries(Object.entries(ASKED).filter(([name]) => !names.includes(name)));
const messages = (system: object | undefined, user: object | undefined): Asked =>
  withAll({
    messages: [
      { ...SYSTEM, ...system },
      { ...USER, ...user },
    ],
  });
const parameters = (table: unknown, more: SourceRow = {}): SourceRow => ({
  param_override: JSON.stringify(table),
  ...more,
});
const ops = (...operations: readonly unknown[]): SourceRow => parameters({ operations });
const OLD = ["x-old", "1"];

type Fixture = readonly [name: string, row: SourceRow, sent: Asked | string, headers?: readonly string[]];

const NEW_API: readonly Fixture[] = [
  [
    "a flat table with a dotted name, a header and a status",
    parameters(
      { temperature: 0, "extra.body": { a: 1 }, stop: null },
      { header_override: '{"X-Team":"red","X-Key":"{api_key}"}', status_code_mapping: '{"429":"503"}' },
    ),
    withAll({ temperature: 0, stop: null, "extra.body": { a: 1 } }),
    [...OLD, "X-Team", "red", "X-Key", "sk-key-0123456789"],
  ],
  [
    "one good operation beside one without a mode: all of it is a flat table",
    parameters({ temperature: 0, operations: [{ mode: "set", path: "seed", value: 1 }, { path: "x" }] }),
    withAll({ temperature: 0, operations: [{ mode: "set", path: "seed", value: 1 }, { path: "x" }] }),
  ],
  [
    "an operation that is no object: the same",
    parameters({ operations: ["set", { mode: "delete", path: "stop" }] }),
    withAll({ operations: ["set", { mode: "delete", path: "stop" }] }),
  ],
  [
    "operations that are no list: the same",
    parameters({ operations: "none" }),
    withAll({ operations: "none" }),
  ],
  ["an empty list of operations", parameters({ seed: 7, operations: [] }), withAll({ seed: 7 })],
  [
    "three conditions without logic: one of them is enough",
    ops({
      mode: "delete",
      path: "metadata",
      conditions: [
        { path: "model", mode: "prefix", value: "claude" },
        { path: "temperature", mode: "full", value: 1 },
        { path: "stop.0", mode: "full", value: "STOP" },
      ],
    }),
    without("metadata"),
  ],
  [
    "three conditions that must all be met, and one is not",
    ops({
      mode: "delete",
      path: "metadata",
      logic: "and",
      conditions: [
        { path: "model", mode: "prefix", value: "gpt" },
        { path: "temperature", mode: "full", value: 1 },
        { path: "stop.0", mode: "full", value: "STOP" },
      ],
    }),
    UNCHANGED,
  ],
  [
    "an empty list of conditions",
    ops({ mode: "delete", path: "metadata", conditions: [] }),
    without("metadata"),
  ],
  [
    "names and texts of messages",
    ops(
      { mode: "delete", path: "messages.*.name" },
      { mode: "trim_space", path: "messages.-1.content" },
      { mode: "append", path: "messages.0.content", value: " Be brief." },
    ),
    withAll({
      messages: [
        { ...SYSTEM, content: "You are kind. Be brief." },
        { role: "user", content: "tell me" },
      ],
    }),
  ],
  [
    "texts one after the other",
    ops(
      { mode: "trim_suffix", path: "messages.0.content", value: "." },
      { mode: "ensure_prefix", path: "messages.0.content", value: "# " },
      { mode: "to_lower", path: "messages.0.content" },
      { mode: "replace", path: "messages.1.content", from: "me", to: "us" },
    ),
    messages({ content: "# you are kind" }, { content: " tell us " }),
  ],
  [
    "a list that gets more, before and after; a list is spread",
    ops({ mode: "append", path: "stop", value: ["A", "B"] }, { mode: "prepend", path: "stop", value: "0" }),
    withAll({ stop: ["0", "END", "A", "B"] }),
  ],
  [
    "an object that is merged, where what is there stays",
    ops({ mode: "prepend", path: "metadata", value: { team: "blue", of: "x" }, keep_origin: true }),
    withAll({ metadata: { team: "red", of: "x" } }),
  ],
  [
    "carried on: a later operation finds what an earlier one made",
    ops(
      { mode: "move", from: "metadata.team", to: "user" },
      { mode: "copy", from: "user", to: "safety_identifier" },
      { mode: "delete", path: "metadata" },
    ),
    { ...without("metadata"), user: "red", safety_identifier: "red" },
  ],
  [
    "a copy of what is missing ends the call",
    ops({ mode: "copy", from: "none.at", to: "x" }),
    "400 请求缺少字段 /none/at",
    [],
  ],
  [
    "a refusal for a header, which is met",
    ops({
      mode: "return_error",
      value: { message: "not for you", status_code: 403, code: "denied", skip_retry: true },
      conditions: { "request_headers.x-client": "cli" },
    }),
    "403 not for you",
    [],
  ],
  [
    "a system prompt, a flat table and operations, in this order",
    parameters(
      { temperature: 0.5, operations: [{ mode: "set", path: "temperature", value: 0.2 }] },
      { setting: '{"system_prompt":"Rules.","system_prompt_override":true}' },
    ),
    withAll({ temperature: 0.2, messages: [{ ...SYSTEM, content: "Rules.\nYou are kind." }, USER] }),
  ],
  [
    "a value that is an object, below one that is made",
    ops({ mode: "set", path: "response_format.json_schema", value: { name: "s", strict: true } }),
    withAll({ response_format: { json_schema: { name: "s", strict: true } } }),
  ],
  [
    "braces of its own, which mean nothing there (as they may stand in a prompt, a value, a header)",
    parameters(
      {
        user: "{{model}} {{date}} {{raw:model}} {{{key}}} {{",
        metadata: { to: ["{{user_hash}}"] },
        operations: [
          { mode: "append", path: "stop", value: "{{upstream_model}}" },
          { mode: "set", path: "seed", value: "{{channel_id}}", keep_origin: true },
        ],
      },
      {
        setting: '{"system_prompt":"You are {{model}}, say {{name}}.","system_prompt_override":true}',
        header_override: '{"X-Team":"{{model}}-{{api_key}}-{api_key}"}',
      },
    ),
    {
      ...messages({ content: "You are {{model}}, say {{name}}.\nYou are kind." }, {}),
      metadata: { to: ["{{user_hash}}"] },
      stop: ["END", "{{upstream_model}}"],
      user: "{{model}} {{date}} {{raw:model}} {{{key}}} {{",
      seed: "{{channel_id}}",
    },
    [...OLD, "X-Team", "{{model}}-{sk-key-0123456789}-sk-key-0123456789"],
  ],
  [
    "a refusal with braces",
    ops({ mode: "return_error", value: { message: "not {{model}}", status_code: 403 } }),
    "403 not {{model}}",
    [],
  ],
  [
    "an object with a limit of output",
    parameters({
      generationConfig: { topK: 3, maxOutputTokens: 900 },
      operations: [{ mode: "set", path: "options", value: { num_predict: 900 } }],
    }),
    withAll({ generationConfig: { topK: 3, maxOutputTokens: 900 }, options: { num_predict: 900 } }),
  ],
  [
    "headers of operations, after those that are fixed",
    {
      ...ops(
        { mode: "set_header", path: "X-Old", value: "2" },
        { mode: "pass_headers", value: ["X-Client"] },
      ),
      header_override: '{"X-New":"3"}',
    },
    UNCHANGED,
    ["X-Old", "2", "X-Client", "cli", "X-New", "3"],
  ],
];

const custom = (table: unknown, more: SourceRow = {}): SourceRow => ({
  custom_parameter: typeof table === "string" ? table : JSON.stringify(table),
  ...more,
});

const ONE_HUB: readonly Fixture[] = [
  ["only what is absent", custom({ temperature: 0, seed: 1 }), withAll({ seed: 1 })],
  [
    "everything",
    custom({ overwrite: true, temperature: 0, stop: [] }),
    withAll({ temperature: 0, stop: [] }),
  ],
  ["not everything", custom({ overwrite: false, temperature: 0, top_p: 1 }), withAll({ top_p: 1 })],
  ["never the stream, whatever is said", custom({ overwrite: true, stream: true }), UNCHANGED],
  [
    "for its model",
    custom({
      per_model: true,
      overwrite: true,
      "gpt-4o": { temperature: 0 },
      "gpt-4o-mini": { temperature: 2 },
    }),
    withAll({ temperature: 0 }),
  ],
  ["for other models", custom({ per_model: true, "gpt-4o-mini": { seed: 2 } }), UNCHANGED],
  ["for its model, where that is no table", custom({ per_model: true, "gpt-4o": 5 }), UNCHANGED],
  ["a flat name with a dot", custom({ "extra.body": 1 }), withAll({ "extra.body": 1 })],
  [
    "an object is set whole",
    custom({ overwrite: true, metadata: { of: "x" } }),
    withAll({ metadata: { of: "x" } }),
  ],
  ["null", custom({ overwrite: true, stop: null }), withAll({ stop: null })],
  [
    "with headers",
    custom({ seed: 1 }, { model_headers: '{"X-Team":"red","X-Old":"2"}' }),
    withAll({ seed: 1 }),
    ["X-Team", "red", "X-Old", "2"],
  ],
  ["nothing but flags", custom({ overwrite: true, per_model: false }), UNCHANGED],
];

describe.each([
  ["New API", NEW_API],
  ["one-hub", ONE_HUB],
])("%s", (_name, fixtures) => {
  const cases = fixtures.map(([title, row, sent, headers = OLD]) => ({ title, row, sent, headers }));
  it.each(cases)("$title", ({ row, sent, headers }) => {
    const body = typeof sent === "string" ? sent : JSON.stringify(sent);
    expect(sentFor(row, JSON.stringify(ASKED))).toEqual({ body, headers });
  });
});

describe("what has no words here is told with its own, whatever can be said beside it", () => {
  it.each<[string, SourceRow, string]>([
    ["a header that is copied", ops({ mode: "copy_header", from: "X-A", to: "X-B" }), "copy_header"],
    ["a header that is moved", ops({ mode: "move_header", from: "X-A", to: "X-B" }), "move_header"],
    ["an unknown operation", ops({ mode: "explode", path: "x" }), "explode"],
    ["a price in a flat table", parameters({ temperature: 0, service_tier: "priority" }), "service_tier"],
    [
      "the same place twice, both to be met",
      ops({
        mode: "delete",
        path: "stop",
        logic: "AND",
        conditions: [
          { path: "model", mode: "prefix", value: "gpt" },
          { path: "model", mode: "suffix", value: "4o" },
        ],
      }),
      "同一处有几个条件",
    ],
    ["conditions that are none", ops({ mode: "delete", path: "stop", conditions: "always" }), "always"],
    ["a limit of output that is a text", parameters({ max_tokens: "900" }), "max_tokens"],
    ["no limit of output", ops({ mode: "set", path: "max_tokens", value: -1 }), "max_tokens"],
    [
      "a limit in an object that is merged",
      ops({ mode: "append", path: "options", value: { num_predict: 900 } }),
      "num_predict",
    ],
    ["one-hub's table that is no JSON", custom("{temperature:0}"), "{temperature:0}"],
    ["one-hub's number of answers", custom({ overwrite: true, n: 4 }), '"n":4'],
  ])("%s", (_case, row, words) => {
    const { unsaid } = rulesOf({ header_override: '{"X-A":"1"}', ...row });
    expect(unsaid).toHaveLength(1);
    expect(unsaid[0]).toContain(words);
  });
});
