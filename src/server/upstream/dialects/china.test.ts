// Wires of vendors in China: unsupported members are refused by name, roles alternate, unknown events never throw.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { providerOf } from "#contract/providers.ts";
import { foldReply, type HubChunk } from "#server/upstream/hub/reply.ts";
import {
  type HubMessage,
  type HubPart,
  type HubRequest,
  type HubTool,
  Unmappable,
} from "#server/upstream/hub/request.ts";
import { asList, asObject } from "#server/upstream/json/values.ts";
import { ali } from "./ali.ts";
import { baidu } from "./baidu.ts";
import type { Dialect, EncodeContext, Target, WireError } from "./dialect.ts";
import { tencent } from "./tencent.ts";
import { xunfei } from "./xunfei.ts";
import { zhipu } from "./zhipu.ts";

const wire = providerOf(18) ?? expect.fail("no row");
const TOOL: HubTool = { kind: "function", name: "files.read", description: undefined, parameters: undefined };
const OTHER: HubTool = { ...TOOL, name: "files.write" };

function contextFor(model: string, change: Partial<Target> = {}): EncodeContext {
  return {
    wire,
    target: { baseUrl: "", other: "", model, apiVersion: "", isStream: true, account: "app", ...change },
  };
}

function request(model: string, change: Partial<HubRequest> = {}): HubRequest {
  const messages: HubMessage[] = [{ role: "user", parts: [{ kind: "text", text: "hi" }] }];
  return { model, isStream: true, messages, ...change };
}

const DIALECTS: readonly [name: string, dialect: Dialect, model: string][] = [
  ["baidu", baidu, "completions"],
  ["tencent", tencent, "hunyuan-pro"],
  ["ali", ali, "qwen-max"],
  ["xunfei", xunfei, "spark-max"],
  ["zhipu", zhipu, "chatglm_turbo"],
];

const IMAGE: HubPart = { kind: "image", source: { kind: "url", url: "https://x.example/a.png" } };
const FILE: HubPart = { kind: "file", source: { kind: "id", id: "f" }, filename: undefined };

describe.each(DIALECTS)("%s", (name, dialect, model) => {
  const of = (change: Partial<HubRequest>) => dialect.encode(request(model, change), contextFor(model));

  it.each<[what: string, change: Partial<HubRequest>, knows: readonly string[]]>([
    ["n", { n: 2 }, ["ali"]],
    ["logprobs", { logprobs: { top: 1 } }, ["ali"]],
    ["modalities", { extras: { modalities: ["text", "audio"] } }, []],
    ["messages[].content[].file", { messages: [{ role: "user", parts: [FILE] }] }, []],
    ["messages[].content[].image", { messages: [{ role: "user", parts: [IMAGE] }] }, ["tencent"]],
    [
      "response_format",
      { format: { kind: "schema", name: "a", schema: {}, strict: true, description: undefined } },
      ["ali"],
    ],
  ])("refuses %s by name where it does not support it", (what, change, knows) => {
    if (knows.includes(name)) expect(of(change).body).toBeDefined();
    else expect(() => of(change)).toThrow(expect.objectContaining({ what }));
  });

  it("never forces a choice among several tools, nor an unknown tool", () => {
    const several = { tools: [TOOL, OTHER], toolChoice: { kind: "any" } } as const;
    expect(() => of(several)).toThrow(Unmappable);
    const none = { tools: [TOOL], toolChoice: { kind: "tool", name: "else" } } as const;
    expect(() => of(none)).toThrow(Unmappable);
  });

  it("restores the names of renamed tools, and sends none where none may be called", () => {
    if (name === "zhipu") return;
    expect([...(of({ tools: [TOOL] }).toolNames?.values() ?? [])]).toEqual(["files.read"]);
    const body = JSON.stringify(of({ tools: [TOOL], toolChoice: { kind: "none" } }).body);
    expect(body).not.toContain("files_read");
  });

  it("reports media of tool results that it replaces by a placeholder text", () => {
    const source = { kind: "data", mime: "image/png", base64: "AA==" } as const;
    const messages: HubMessage[] = [
      { role: "user", parts: [{ kind: "text", text: "hi" }] },
      { role: "assistant", parts: [], thoughts: [], toolCalls: [{ id: "a", name: "f", arguments: "{}" }] },
      { role: "tool", callId: "a", name: "f", parts: [{ kind: "image", source }], isError: false },
    ];
    if (name === "zhipu") expect(() => of({ messages })).toThrow(Unmappable);
    else expect(of({ messages }).dropped).toContain("messages[].content[].image");
  });

  it("throws only Unmappable, for any request", () => {
    fc.assert(
      fc.property(conversations, (messages) => {
        try {
          JSON.stringify(of({ messages, tools: [TOOL] }).body);
        } catch (error) {
          expect(error).toBeInstanceOf(Unmappable);
        }
      }),
    );
  });

  it("never throws at an unknown answer", () => {
    fc.assert(
      fc.property(fc.array(strangeBody), (bodies) => {
        const decode = { wire, model, seed: "seed" };
        const decoder = dialect.decoder(decode);
        for (const body of bodies) {
          dialect.decode(body, decode);
          decoder.take({ data: JSON.stringify(body), field: () => "add" });
          decoder.take({ data: "no json", field: () => "" });
          dialect.embeddings?.decode(body);
        }
      }),
    );
  });
});

const part: fc.Arbitrary<HubPart> = fc.record({ kind: fc.constant("text" as const), text: fc.string() });
const parts = fc.array(part, { maxLength: 2 });
const callId = fc.constantFrom("a", "b");
const conversations: fc.Arbitrary<HubMessage[]> = fc.array(
  fc.oneof(
    parts.map((items): HubMessage => ({ role: "system", parts: items })),
    parts.map((items): HubMessage => ({ role: "user", parts: items })),
    fc.tuple(parts, fc.array(callId, { maxLength: 2 })).map(
      ([items, ids]): HubMessage => ({
        role: "assistant",
        parts: items,
        thoughts: [],
        toolCalls: ids.map((id) => ({ id, name: "files.read", arguments: "{}" })),
      }),
    ),
    fc.tuple(parts, callId).map(
      ([items, id]): HubMessage => ({
        role: "tool",
        callId: id,
        name: undefined,
        parts: items,
        isError: false,
      }),
    ),
  ),
  { maxLength: 8 },
);

const NAMES = [
  ...["id", "result", "is_end", "function_call", "usage", "error_code", "data", "success", "code", "msg"],
  ...[
    "Response",
    "Choices",
    "Delta",
    "Message",
    "ToolCalls",
    "Function",
    "Usage",
    "Error",
    "ErrorMsg",
    "Data",
  ],
  ...["output", "choices", "message", "tool_calls", "content", "finish_reason", "search_info", "embeddings"],
  ...["header", "payload", "text", "status", "header"],
];
const strangeBody = fc.dictionary(
  fc.constantFrom(...NAMES),
  fc.oneof(fc.jsonValue(), fc.dictionary(fc.constantFrom(...NAMES), fc.jsonValue())),
);

describe("turns", () => {
  it("alternate between user and model, the user first and last, for Baidu and Tencent", () => {
    fc.assert(
      fc.property(conversations, (messages) => {
        const isAnswer = (turn: object, name: string) =>
          new Map<string, unknown>(Object.entries(turn)).get(name) === "assistant";
        const roles = (body: unknown, name: string) =>
          (Array.isArray(body) ? body : []).map((turn) => isAnswer(turn, name));
        const one = baidu.encode(request("completions", { messages }), contextFor("completions"));
        const baiduRoles = roles(one.body["messages"], "role");
        expect(baiduRoles).toEqual(baiduRoles.map((_, at) => at % 2 === 1));
        expect(baiduRoles.length % 2).toBe(1);
        const { body } = tencent.encode(request("hunyuan-pro", { messages }), contextFor("hunyuan-pro"));
        const turns = roles(body["Messages"], "Role");
        expect(turns.at(0)).toBe(false);
        expect(turns.at(-1)).toBe(false);
      }),
    );
  });

  it("give each call its own result even if ids repeat, and a text for empty results", () => {
    const turns = ["first", "second", ""].flatMap((text): HubMessage[] => [
      {
        role: "assistant",
        parts: [],
        thoughts: [],
        toolCalls: [{ id: "call_0", name: "f", arguments: "{}" }],
      },
      { role: "tool", callId: "call_0", name: "f", parts: [{ kind: "text", text }], isError: false },
    ]);
    const messages: HubMessage[] = [{ role: "user", parts: [{ kind: "text", text: "hi" }] }, ...turns];
    const said = (dialect: Dialect, model: string, list: string, [role, content]: [string, string]) =>
      asList(dialect.encode(request(model, { messages }), contextFor(model)).body[list]).flatMap((turn) => {
        const told = asObject(turn);
        return ["function", "tool"].includes(String(told?.[role])) ? [told?.[content]] : [];
      });
    const results = ["first", "second", "OK"];
    expect(said(baidu, "completions", "messages", ["role", "content"])).toEqual(results);
    expect(said(tencent, "hunyuan-pro", "Messages", ["Role", "Content"])).toEqual(results);
  });

  it("keep a tool's schema except for keywords that old wires refuse", () => {
    const parameters = {
      $schema: "x",
      type: "object",
      additionalProperties: false,
      properties: {
        additionalProperties: { type: "boolean" },
        list: { type: "array", items: { type: "object", additionalProperties: false } },
        map: { type: "object", additionalProperties: { type: "string" } },
      },
    };
    const { body } = baidu.encode(
      request("completions", { tools: [{ ...TOOL, parameters }] }),
      contextFor("completions"),
    );
    expect(body["functions"]).toMatchObject([
      {
        parameters: {
          type: "object",
          properties: {
            additionalProperties: { type: "boolean" },
            list: { type: "array", items: { type: "object" } },
            map: { type: "object", additionalProperties: { type: "string" } },
          },
        },
      },
    ]);
    expect(JSON.stringify(body["functions"])).not.toContain("false");
  });
});

describe("Spark's versions", () => {
  it.each([
    [{ model: "Spark-Max" }, "/v3.5/chat"],
    [{ model: "generalv3" }, "/v3.1/chat"],
    [{ model: "SparkDesk-v3.1-128K" }, "/chat/pro-128k"],
    [{ model: "SparkDesk", apiVersion: "v4.0", other: "v2.1" }, "/v4.0/chat"],
    [{ model: "SparkDesk", other: "v2.1" }, "/v2.1/chat"],
    [{ model: "SparkDesk" }, "/v1.1/chat"],
    [{ model: "SparkDesk-v9" }, "/v9/chat"],
    [{ model: "x1" }, "/v1/x1"],
  ])("%j is spoken to at %s", (target, path) => {
    expect(xunfei.address("chat", wire, contextFor("", target).target)).toBe(path);
  });

  it("without functions refuse tools by name", () => {
    expect(() => xunfei.encode(request("x", { tools: [TOOL] }), contextFor("Spark-Lite"))).toThrow(
      expect.objectContaining({ what: "tools" }),
    );
  });
});

describe("DashScope", () => {
  const body = (model: string, change: Partial<HubRequest>) =>
    JSON.stringify(ali.encode(request(model, change), contextFor(model)).body);
  const reasoning = { effort: "none", budgetTokens: undefined, isShown: undefined } as const;

  it("gets the switch of thinking for models that know it", () => {
    expect(body("qwen-plus", { reasoning })).toContain('"enable_thinking":false');
    const budget = { effort: undefined, budgetTokens: 2000, isShown: undefined };
    expect(body("qwen3-max", { reasoning: budget })).toContain(
      '"enable_thinking":true,"thinking_budget":2000',
    );
    expect(body("qwen-long", { reasoning })).not.toContain("enable_thinking");
  });

  it("streams for an open model with thinking, even if the client wants the answer whole", () => {
    const { headers } = ali.encode(
      request("qwen3-32b", { isStream: false, reasoning: { ...reasoning, effort: "low" } }),
      contextFor("qwen3-32b"),
    );
    expect(headers).toEqual(["x-dashscope-sse", "enable"]);
  });

  it.each([
    ["qwen-vl-max", "multimodal"],
    ["qwen2.5-vl-72b-instruct", "multimodal"],
    ["qwen3-omni-flash", "multimodal"],
    ["qvq-max", "multimodal"],
    ["qwen3.5-plus", "multimodal"],
    ["qwen3.8-max", "multimodal"],
    ["qwen3.8-flash", "multimodal"],
    ["qwen3.7-max", "text"],
    ["qwen3-max", "text"],
    ["deepseek-v3.2", "text"],
  ])("serves %s at its %s endpoint", (model, kind) => {
    const row = { ...wire, paths: { chat: "/text-generation/generation" } };
    expect(ali.address("chat", row, contextFor(model).target)).toBe(`/${kind}-generation/generation`);
  });

  it("cites its web search results once", () => {
    const decoder = ali.decoder({ wire, model: "m", seed: "s" });
    const event = (content: string, finish: string) => ({
      data: JSON.stringify({
        output: {
          choices: [{ message: { content }, finish_reason: finish }],
          search_info: { search_results: [{ url: "https://x.example", title: "X" }, {}] },
        },
      }),
      field: () => "",
    });
    const found = [event("a", "null"), event("b", "stop")].flatMap((item): readonly HubChunk[] => {
      const taken: readonly HubChunk[] | WireError = decoder.take(item);
      return "kind" in taken ? [] : taken;
    });
    const [answer] = foldReply(found).answers;
    expect(answer).toMatchObject({ text: "ab", finish: "stop" });
    expect(answer?.annotations).toHaveLength(1);
  });
});
