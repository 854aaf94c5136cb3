// The rules of channels: what may be written, and what they make of bodies and headers (requirements C33, C34, C36). A preview is what is sent:
// the relay's test beside proves that.
import { describe, expect, it } from "vitest";
import { providers } from "#contract/providers.ts";
import { Rewrite, RewriteRule, rulesIn } from "#contract/rewrite.ts";
import { Cancellation } from "#server/upstream/cancellation.ts";
import { wholeObject } from "#server/upstream/json/object.ts";
import type { Call, Plan } from "./call.ts";
import { planCall } from "./plan.ts";
import { CompiledRules } from "./rewrite.ts";

const [provider] = providers.filter(({ slug }) => slug === "openai");
if (provider === undefined) throw new Error("no such row");
const target = { provider, key: "sk-canary-key-0123456789", baseUrl: "https://up.example", other: "" };
const plan = planCall(
  target,
  { endpoint: "chat", model: "gpt-4o", isStream: false, apiVersion: "" },
  () => "",
) as Plan; // of a row that is there

function callOf(text: string, facts: Partial<Call["facts"]> = {}, more: Partial<Call> = {}): Call {
  const bytes = Buffer.from(text);
  const object = wholeObject(bytes);
  if (object === undefined) throw new Error("no object");
  return {
    target,
    endpoint: "chat",
    body: { bytes, object, model: "gpt-4o" },
    model: "gpt-4o",
    originModel: "smart",
    isStream: false,
    isArray: false,
    apiVersion: "",
    passHeaders: [],
    seed: "req-1",
    cancellation: new Cancellation(),
    trace: { firstByteMs: 0, isSent: false },
    facts: {
      header: (name) => ({ "x-team": "red", "user-agent": "cli/1" })[name],
      attempt: 1,
      userId: 7,
      maxTokens: undefined,
      nowMs: 1_800_000_000_000,
      ...facts,
    },
    ...more,
  };
}

type Rules = readonly { readonly when?: unknown; readonly do: readonly unknown[] }[];

function compiled(rules: Rules): CompiledRules {
  const named = rules.map((rule, index) => ({ id: `r${index}`, ...rule }));
  const hash = (text: string) => Buffer.from(text.padEnd(8)).toString("base64url");
  return new CompiledRules({
    channelId: 3,
    rewrite: Rewrite.parse({ v: 1, rules: named }),
    statusMap: undefined,
    hash,
  });
}

/** What a body becomes; a refusal is its code. */
function made(rules: Rules, text: string, call = callOf(text)): string {
  const prepared = {
    kind: "prepared",
    bytes: Buffer.from(text),
    headers: [],
    dropped: [],
    handler: undefined,
  };
  // The handler is not asked for.
  const { outcome } = compiled(rules).run(call, plan, prepared as never);
  return outcome.kind === "fault"
    ? `${outcome.status} ${outcome.code}`
    : Buffer.from(outcome.bytes).toString();
}

function headersMade(rules: Rules, headers: readonly string[], call = callOf("{}")): readonly string[] {
  const prepared = {
    kind: "prepared",
    bytes: Buffer.from("{}"),
    headers: [],
    dropped: [],
    handler: undefined,
  };
  const { outcome } = compiled(rules).run(call, plan, prepared as never);
  return outcome.kind === "fault" ? [] : (outcome.rehead?.(headers) ?? headers);
}

describe("actions on the body", () => {
  const BODY = '{"model":"gpt-4o", "temperature":1.0,"big":12345678901234567890,"a":{"b":[1,2,3]}}';
  it.each<[string, unknown, string, string]>([
    [
      "set",
      { op: "set", path: "/temperature", value: 0 },
      '{"temperature":1,"x":1.0}',
      '{"temperature":0,"x":1.0}',
    ],
    ["set makes what is on the way", { op: "set", path: "/a/b", value: true }, "{}", '{"a":{"b":true}}'],
    ["set at the end of a list", { op: "set", path: "/l/-", value: 4 }, '{"l":[1]}', '{"l":[1,4]}'],
    ["default leaves what is there", { op: "default", path: "/a", value: 2 }, '{"a":null}', '{"a":null}'],
    ["default fills", { op: "default", path: "/a", value: [1] }, '{"b":1}', '{"b":1,"a":[1]}'],
    ["remove", { op: "remove", path: "/a" }, '{"a":1,"b":2}', '{"b":2}'],
    [
      "remove in all",
      { op: "remove", path: "/l/*/x" },
      '{"l":[{"x":1},{"y":2,"x":3}]}',
      '{"l":[{},{"y":2}]}',
    ],
    ["remove all of a list", { op: "remove", path: "/l/*" }, '{"l":[1,2,3]}', '{"l":[]}'],
    ["remove the last", { op: "remove", path: "/l/-1" }, '{"l":[1,2,3]}', '{"l":[1,2]}'],
    ["remove the last one", { op: "remove", path: "/a" }, '{"a":1}', "{}"],
    ["rename", { op: "rename", path: "/a/b", to: "/c" }, '{"a":{"b":[1]}}', '{"a":{},"c":[1]}'],
    ["copy", { op: "copy", path: "/a", to: "/b" }, '{"a":[1]}', '{"a":[1],"b":[1]}'],
    [
      "rename a limit",
      { op: "rename", path: "/max_tokens", to: "/max_completion_tokens" },
      '{"max_tokens":5}',
      '{"max_completion_tokens":5}',
    ],
    [
      "append to a text",
      { op: "append", path: "/m/-1/c", value: "!" },
      '{"m":[{"c":"a"}]}',
      '{"m":[{"c":"a!"}]}',
    ],
    ["append to a list", { op: "append", path: "/l", value: [3, 4] }, '{"l":[1]}', '{"l":[1,3,4]}'],
    ["prepend to a list", { op: "prepend", path: "/l", value: 0 }, '{"l":[1]}', '{"l":[0,1]}'],
    ["append to an object", { op: "append", path: "/o", value: { a: 2 } }, '{"o":{"a":1}}', '{"o":{"a":2}}'],
    [
      "prepend to an object",
      { op: "prepend", path: "/o", value: { a: 2, b: 3 } },
      '{"o":{"a":1}}',
      '{"o":{"a":1,"b":3}}',
    ],
    ["cap", { op: "cap", path: "/max_tokens", value: 10 }, '{"max_tokens":100}', '{"max_tokens":10}'],
    ["cap of nothing", { op: "cap", path: "/a/b", value: 10 }, "{}", "{}"],
    ["floor", { op: "floor", path: "/temperature", value: 0.5 }, '{"temperature":0}', '{"temperature":0.5}'],
    ["text", { op: "text", path: "/user", how: "trimPrefix", value: "u-" }, '{"user":"u-1"}', '{"user":"1"}'],
    [
      "replace",
      { op: "text", path: "/user", how: "replace", value: "a", with: "$&" },
      '{"user":"aa"}',
      '{"user":"$&$&"}',
    ],
    ["a name with ~ and /", { op: "set", path: "/a~1b~0c", value: 1 }, "{}", '{"a/b~c":1}'],
    [
      "system where there is none",
      { op: "system", text: "S" },
      '{"messages":[]}',
      '{"messages":[{"role":"system","content":"S"}]}',
    ],
    [
      "system where there is one",
      { op: "system", text: "S" },
      '{"messages":[{"role":"developer","content":"D"}]}',
      '{"messages":[{"role":"developer","content":"D"}]}',
    ],
    [
      "system before one",
      { op: "system", text: "S", before: true },
      '{"messages":[{"role":"system","content":"D"}]}',
      '{"messages":[{"role":"system","content":"S\\nD"}]}',
    ],
    ["refuse", { op: "refuse", status: 403, code: "no_such", message: "no" }, "{}", "403 no_such"],
  ])("%s", (_name, action, before, after) => {
    expect(made([{ do: [action] }], before)).toBe(after);
  });

  it("leaves every other byte: numbers too large for a parser, spelling, repeated rules", () => {
    expect(made([{ do: [{ op: "set", path: "/top_p", value: 1 }] }], BODY)).toBe(
      '{"model":"gpt-4o","temperature":1.0,"big":12345678901234567890,"a":{"b":[1,2,3]},"top_p":1}',
    );
    expect(made([{ do: [{ op: "remove", path: "/nothing" }] }], BODY)).toBe(BODY);
    const list = { op: "set", path: "/l", value: [1] };
    const twice = [{ do: [list, { op: "append", path: "/l", value: 2 }] }];
    const rules = compiled(twice);
    for (let call = 0; call < 2; call += 1) {
      const prepared = { kind: "prepared", bytes: Buffer.from("{}"), headers: [], dropped: [] };
      const { outcome } = rules.run(callOf("{}"), plan, prepared as never);
      expect(outcome.kind === "prepared" && Buffer.from(outcome.bytes).toString()).toBe('{"l":[1,2]}');
    }
  });

  it("asks for no more output than was set aside", () => {
    const raise = [{ do: [{ op: "set", path: "/max_tokens", value: 4_000 }] }];
    expect(compiled(raise).raisesTo).toBe(4_000);
    const text = '{"max_tokens":5}';
    expect(made(raise, text, callOf(text, { maxTokens: 1_000 }))).toBe('{"max_tokens":1000}');
    expect(made(raise, text)).toBe('{"max_tokens":4000}');
  });
});

describe("conditions", () => {
  const TEXT = '{"a":1,"name":"gpt-4o-mini","n":null}';
  it.each<[unknown, boolean]>([
    [{ models: ["sm*"] }, true],
    [{ models: ["gpt-4o"] }, true],
    [{ models: ["GPT-4o", "x"] }, false],
    [{ formats: ["chat"] }, true],
    [{ formats: ["messages"] }, false],
    [{ stream: true }, false],
    [{ attempt: "first" }, true],
    [{ attempt: "retry" }, false],
    [{ has: ["/a"], lacks: ["/b"] }, true],
    [{ lacks: ["/a"] }, false],
    [{ has: ["/n"] }, true],
    [{ equals: { "/a": 1 } }, true],
    [{ equals: { "/a": "1" } }, false],
    [{ like: { "/name": "gpt-*-mini" } }, true],
    [{ like: { "/a": "*" } }, false],
    [{ header: { "X-Team": "r*" } }, true],
    [{ header: { "x-none": "*" } }, false],
    [{ any: [{ has: ["/b"] }, { equals: { "/a": 1 } }] }, true],
    [{ stream: true, any: [{ has: ["/a"] }] }, false],
  ])("%j: %s", (when, applies) => {
    const fired = made([{ when, do: [{ op: "set", path: "/fired", value: true }] }], TEXT);
    expect(fired.includes("fired")).toBe(applies);
  });
});

describe("headers and templates", () => {
  it("are set in place of others, taken out, and handed on", () => {
    const rules = [
      {
        do: [
          { op: "setHeader", name: "Authorization", value: "Key {{key}}" },
          { op: "removeHeader", name: "X-Old" },
          { op: "passHeader", name: "User-Agent" },
          { op: "passHeader", name: "X-None" },
        ],
      },
    ];
    const before = ["authorization", "Bearer x", "x-old", "1", "user-agent", "Tollgate", "accept", "*/*"];
    expect(headersMade(rules, before)).toEqual([
      "accept",
      "*/*",
      "Authorization",
      "Key sk-canary-key-0123456789",
      "User-Agent",
      "cli/1",
    ]);
  });

  it("fill in what they name and nothing else", () => {
    const value =
      "{{request_id}} {{model}} {{upstream_model}} {{channel_id}} {{date}} {{header:X-Team}} {{header:x-none}}";
    expect(made([{ do: [{ op: "set", path: "/user", value }] }], "{}")).toBe(
      '{"user":"req-1 smart gpt-4o 3 2027-01-15 red "}',
    );
    const hashes = made([{ do: [{ op: "set", path: "/user", value: "{{user_hash}}{{key_hash}}" }] }], "{}");
    expect(hashes).not.toContain("canary");
    const prompt = [{ do: [{ op: "system", text: "say {{name}}" }] }];
    expect(made(prompt, '{"messages":[]}')).toContain("say {{name}}");
  });
});

describe("what may not be written (requirements C33, C34, C36)", () => {
  it.each<[unknown]>([
    ...[
      "model",
      "Model",
      "MODEL",
      "\u017ftream",
      "\uff4dodel",
      "stream",
      "Stream_Options",
      "n",
      "best_of",
      "store",
      "background",
      "previous_response_id",
    ].map((name) => [{ op: "set", path: `/${name}`, value: 1 }] as [unknown]),
    ...[
      "service_tier",
      "serviceTier",
      "speed",
      "size",
      "quality",
      "seconds",
      "tools",
      "web_search_options",
      "generationConfig/candidateCount",
      "parameters/n",
      "__proto__",
      "a/constructor",
    ].map((name) => [{ op: "default", path: `/${name}`, value: 1 }] as [unknown]),
    [{ op: "set", path: "/generationConfig", value: { candidate_count: 8 } }],
    [{ op: "append", path: "/a", value: [{ b: { stream: true } }] }],
    [{ op: "set", path: "", value: {} }],
    [{ op: "set", path: "a", value: 1 }],
    [{ op: "set", path: "/a~2", value: 1 }],
    [{ op: "set", path: "/*", value: 1 }],
    [{ op: "set", path: "/1/2/3/4/5/6/7/8/9", value: 1 }],
    [{ op: "remove", path: "/model" }],
    [{ op: "remove", path: "/max_tokens" }],
    [{ op: "rename", path: "/x", to: "/model" }],
    [{ op: "rename", path: "/model", to: "/x" }],
    [{ op: "rename", path: "/max_tokens", to: "/x" }],
    [{ op: "rename", path: "/x", to: "/max_tokens" }],
    [{ op: "copy", path: "/x", to: "/max_tokens" }],
    [{ op: "set", path: "/user", value: "{{key}}" }],
    [{ op: "set", path: "/user", value: "{{header:authorization}}" }],
    [{ op: "set", path: "/user", value: "{{header:X-Api-Key}}" }],
    [{ op: "set", path: "/user", value: "{{secret}}" }],
    ...[
      "Host",
      "content-length",
      "Transfer-Encoding",
      "proxy-authorization",
      "cookie",
      "sec-websocket-key",
      "expect",
      "a b",
      "x\ny",
      "",
    ].map((name) => [{ op: "setHeader", name, value: "1" }] as [unknown]),
    [{ op: "setHeader", name: "x-a", value: "1\r\nx-b: 2" }],
    [{ op: "setHeader", name: "x-a", value: "中" }],
    [{ op: "setHeader", name: "Authorization", value: "Bearer other" }],
    [{ op: "removeHeader", name: "X-Api-Key" }],
    [{ op: "passHeader", name: "Authorization" }],
    [{ op: "passHeader", name: "X-Forwarded-For" }],
    [{ op: "refuse", status: 200, code: "ok", message: "x" }],
    [{ op: "unknown" }],
  ])("%j", (action) => {
    expect(RewriteRule.safeParse({ id: "r", do: [action] }).success).toBe(false);
    // As it stands in a config, also with escapes.
    const escaped = JSON.stringify({ rewrite: { v: 1, rules: [{ id: "r", do: [action] }] } }).replace(
      '"model"',
      '"\\u006dodel"',
    );
    expect(rulesIn(escaped)).toHaveProperty("refusal");
  });

  it("more rules, bytes, values or depth than there is room for", () => {
    const rule = (index: number, value: unknown = 1) => ({
      id: `r${index}`,
      do: [{ op: "set", path: "/a", value }],
    });
    const isGood = (rules: readonly unknown[]) => Rewrite.safeParse({ v: 1, rules }).success;
    expect(isGood(Array.from({ length: 50 }, (_, index) => rule(index)))).toBe(true);
    expect(isGood(Array.from({ length: 51 }, (_, index) => rule(index)))).toBe(false);
    expect(isGood([rule(1), rule(1)])).toBe(false);
    expect(isGood([rule(1, "x".repeat(17 * 1_024))])).toBe(false);
    expect(
      isGood([
        rule(
          1,
          Array.from({ length: 201 }, () => 1),
        ),
      ]),
    ).toBe(false);
    const deep = (depth: number): unknown => (depth === 0 ? 1 : { a: deep(depth - 1) });
    expect([isGood([rule(1, deep(8))]), isGood([rule(1, deep(9))])]).toEqual([true, false]);
    expect(isGood([rule(1, JSON.parse('{"__proto__":{"x":1}}'))])).toBe(false);
  });
});
