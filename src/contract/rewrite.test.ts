// What rules of channels may say (requirements C33, C34, C36).
import { describe, expect, it } from "vitest";
import { Rewrite, RewriteRule, rulesIn, StatusMap } from "./rewrite.ts";

const configOf = (...actions: readonly unknown[]) =>
  JSON.stringify({ rewrite: { v: 1, rules: [{ id: "r", do: actions }] } });

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
    [{ op: "remove", path: "/store" }],
    [{ op: "remove", path: "/Store" }],
    [{ op: "remove", path: "/stream_options" }],
    [{ op: "remove", path: "/stream_options/include_usage" }],
    [{ op: "rename", path: "/store", to: "/x" }],
    [{ op: "rename", path: "/x", to: "/model" }],
    [{ op: "rename", path: "/model", to: "/x" }],
    [{ op: "rename", path: "/max_tokens", to: "/x" }],
    [{ op: "rename", path: "/x", to: "/max_tokens" }],
    [{ op: "copy", path: "/x", to: "/max_tokens" }],
    [{ op: "set", path: "/user", value: "{{key}}" }],
    [{ op: "set", path: "/user", value: "{{header:authorization}}" }],
    [{ op: "set", path: "/user", value: "{{header:X-Api-Key}}" }],
    [{ op: "set", path: "/user", value: "{{secret}}" }],
    [{ op: "set", path: "/user", value: ["{{header:Sec-WebSocket-Protocol}}"] }],
    [{ op: "system", text: "the key is {{key}}" }],
    [{ op: "system", text: "say {{header:authorization}}" }],
    [{ op: "refuse", status: 400, code: "no", message: "{{key}}" }],
    [{ op: "refuse", status: 400, code: "no", message: "{{header:x-goog-api-key}}" }],
    ...[
      "sec-websocket-protocol",
      "Proxy-Authorization",
      "host",
      "cookie",
      "authorization",
      "x-forwarded-for",
    ].map((name) => [{ op: "setHeader", name: "x-a", value: `{{header:${name}}}` }] as [unknown]),
    [{ op: "setHeader", name: "x-a", value: "{{secret}}" }],
    [{ op: "set", path: "/max_tokens", value: "65536" }],
    [{ op: "default", path: "/Max_Tokens", value: null }],
    [{ op: "set", path: "/options/num_predict", value: -1 }],
    [{ op: "set", path: "/max_tokens", value: 0 }],
    [{ op: "set", path: "/max_tokens", value: 1.5 }],
    [{ op: "cap", path: "/max_tokens", value: -1 }],
    [{ op: "floor", path: "/generationConfig/maxOutputTokens", value: 0 }],
    [{ op: "set", path: "/max_tokens/x", value: 1 }],
    [{ op: "append", path: "/max_tokens", value: 65536 }],
    [{ op: "prepend", path: "/max_completion_tokens", value: 65536 }],
    [{ op: "text", path: "/max_tokens", how: "replace", value: "5", with: "65536" }],
    [{ op: "set", path: "/generationConfig", value: { maxOutputTokens: 65536 } }],
    [{ op: "default", path: "/options", value: { num_predict: 65536 } }],
    [{ op: "append", path: "/options", value: { num_predict: "65536" } }],
    [{ op: "prepend", path: "/a", value: [{ b: { MAX_TOKENS: null } }] }],
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
    // As it stands in a config.
    expect(rulesIn(configOf(action))).toHaveProperty("refusal");
  });

  it("a name with escapes in JSON", () => {
    const escaped = configOf({ op: "set", path: "/model", value: 1 }).replace("/model", "/\\u006dodel");
    expect(escaped).toContain("u006d");
    for (const isStored of [false, true]) expect(rulesIn(escaped, { isStored })).toHaveProperty("refusal");
  });

  it.each([
    [{ op: "system", text: "for {{model}}: {{raw:key}} {{raw:header:authorization}} {one}" }],
    [{ op: "refuse", status: 400, code: "no", message: "no {{model}} on {{date}}" }],
    [{ op: "setHeader", name: "x-a", value: "{{key}} {{header:user-agent}} {{raw:key}}" }],
    [{ op: "set", path: "/max_tokens", value: 65536 }],
    [{ op: "cap", path: "/options/num_predict", value: 1 }],
    // The schema of a tool.
    [{ op: "set", path: "/x", value: { properties: { max_tokens: { type: "integer" } } } }],
    [{ op: "text", path: "/user", how: "toLower" }],
    [{ op: "append", path: "/options", value: { num_ctx: 1 } }],
  ])("but these may: %j", (action) => {
    expect(RewriteRule.safeParse({ id: "r", do: [action] }).error?.issues).toBeUndefined();
  });

  it("what is refused only when it is saved is at its field, and ends no channel that has it", () => {
    const actions = [
      { op: "set", path: "/user", value: 1 },
      { op: "system", text: "{{key}}" },
      { op: "refuse", status: 400, code: "no", message: "{{key}}" },
      { op: "set", path: "/max_tokens", value: "65536" },
      { op: "text", path: "/max_tokens", how: "toLower" },
    ];
    const { error } = Rewrite.safeParse({ v: 1, rules: [{ id: "r", do: actions }] });
    expect(error?.issues.map(({ path }) => path.join("/"))).toEqual([
      "rules/0/do/1/text",
      "rules/0/do/2/message",
      "rules/0/do/3/value",
      "rules/0/do/4/path",
    ]);
    expect(rulesIn(configOf(...actions), { isStored: true })).toMatchObject({ rewrite: { v: 1 } });
    const barred = configOf(...actions, { op: "set", path: "/model", value: "x" });
    expect(rulesIn(barred, { isStored: true })).toHaveProperty("refusal");
  });

  it.each([
    "authorization",
    "X-Api-Key",
    "x-goog-api-key",
    "Api-Key",
    "x-amz-security-token",
    "cookie",
    "Proxy-Authorization",
    "Sec-WebSocket-Protocol",
  ])("a condition that asks about %s, when it is saved", (name) => {
    for (const [when, place] of [
      [{ header: { "x-team": "red", [name]: "*" } }, `rules/0/when/header/${name}`],
      [
        { any: [{ has: ["/a"] }, { header: { [name]: "Bearer sk-a*" } }] },
        `rules/0/when/any/1/header/${name}`,
      ],
    ] as const) {
      const rewrite = { v: 1, rules: [{ id: "r", when, do: [{ op: "set", path: "/user", value: 1 }] }] };
      expect(Rewrite.safeParse(rewrite).error?.issues).toMatchObject([
        {
          path: place.split("/").map((part) => (/^\d+$/.test(part) ? Number(part) : part)),
          message: `不能使用请求头 ${name}`,
        },
      ]);
      const config = JSON.stringify({ rewrite });
      expect(rulesIn(config)).toHaveProperty("refusal");
      expect(rulesIn(config, { isStored: true })).toMatchObject({ rewrite: { v: 1 } });
    }
  });

  it("statuses that are no errors, and texts (requirements C38)", () => {
    const isGood = (table: unknown) =>
      StatusMap.safeParse(table).success && !("refusal" in rulesIn(JSON.stringify({ status_map: table })));
    expect(isGood({ "429": 503 })).toBe(true);
    for (const table of [
      { "200": 500 },
      { "429": 200 },
      { abc: 500 },
      { "429": "abc" },
      { "429": "503" },
      { "99": 500 },
      { "429": 99 },
      { "429": 600 },
      { "600": 429 },
      { "429": 503.5 },
      { " 429": 503 },
      { "429": null },
    ])
      expect([table, isGood(table)]).toEqual([table, false]);
  });

  it("store is taken out where there are messages, since Responses have none; obfuscation anywhere", () => {
    const rule = (path: string, has?: readonly string[]) =>
      RewriteRule.safeParse({ id: "r", ...(has && { when: { has } }), do: [{ op: "remove", path }] }).success;
    expect(rule("/store", ["/messages"])).toBe(true);
    expect(rule("/store", ["/input"])).toBe(false);
    expect(rule("/stream_options/include_obfuscation")).toBe(true);
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
