// For any conversation of a client, a request on a vendor's own wire has no empty turn, its calls have JSON arguments and their results
// follow directly, and roles alternate where they must (vendors/baidu, vendors/zhipu-v3, vendors/spark-socket, vendors/hunyuan,
// vendors/coze, vendors/cohere).
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { providerOf } from "#contract/providers.ts";
import { ali } from "./dialects/ali.ts";
import { baidu } from "./dialects/baidu.ts";
import { cohere } from "./dialects/cohere.ts";
import { coze } from "./dialects/coze.ts";
import type { Dialect } from "./dialects/dialect.ts";
import { tencent } from "./dialects/tencent.ts";
import { xunfei } from "./dialects/xunfei.ts";
import { zhipu } from "./dialects/zhipu.ts";
import type { HubMessage, HubPart, HubTool } from "./hub/request.ts";
import { asList, asObject, type JsonRecord, readJson } from "./json/values.ts";

const wire = providerOf(17) ?? expect.fail("no row for Ali");
const TOOL: HubTool = { kind: "function", name: "f", description: undefined, parameters: undefined };
const PICTURE: HubPart = { kind: "image", source: { kind: "data", mime: "image/png", base64: "AA==" } };

interface Wire {
  readonly dialect: Dialect;
  readonly model: string;
  /** The turns of the body. */
  turns(body: JsonRecord): unknown;
  readonly takesTools?: true;
  readonly takesPictures?: true;
  /** Roles need not alternate. */
  readonly isFree?: true;
}

const WIRES: Readonly<Record<string, Wire>> = {
  baidu: {
    dialect: baidu,
    model: "completions",
    turns: ({ messages }) => messages,
    takesTools: true,
  },
  tencent: {
    dialect: tencent,
    model: "hunyuan-pro",
    turns: ({ Messages }) => Messages,
    takesTools: true,
    takesPictures: true,
  },
  xunfei: {
    dialect: xunfei,
    model: "Spark-Max",
    turns: ({ payload }) => asObject(asObject(payload)?.["message"])?.["text"],
    takesTools: true,
  },
  zhipu: { dialect: zhipu, model: "chatglm_turbo", turns: ({ prompt }) => prompt },
  ali: {
    dialect: ali,
    model: "qwen-max",
    turns: ({ input }) => asObject(input)?.["messages"],
    takesTools: true,
    isFree: true,
  },
  cohere: {
    dialect: cohere,
    model: "command-a-03-2025",
    turns: ({ messages }) => messages,
    takesTools: true,
    isFree: true,
  },
  coze: { dialect: coze, model: "bot-1", turns: (body) => body["additional_messages"], isFree: true },
};

const text = fc.constantFrom("hi", "天气", " ", "\n", "");
const exchange = fc.record({
  asked: text,
  isShown: fc.boolean(),
  answered: text,
  calls: fc.array(fc.constantFrom("{}", '{"a":1}', '{"a":', "[]"), { maxLength: 2 }),
});
type Exchange = typeof exchange extends fc.Arbitrary<infer T> ? T : never;

const said = (words: string): HubPart => ({ kind: "text", text: words });

function messagesOf(exchanges: readonly Exchange[], { takesTools, takesPictures }: Wire): HubMessage[] {
  return exchanges.flatMap(({ asked, isShown, answered, calls }, at): HubMessage[] => {
    const toolCalls = (takesTools === true ? calls : []).map((args, place) => ({
      id: `call_${at}_${place}`,
      name: "f",
      arguments: args,
    }));
    // A user turn has text, perhaps after a blank part.
    const parts = [said(asked), takesPictures === true && isShown ? PICTURE : said("go on")];
    return [
      { role: "user", parts },
      { role: "assistant", parts: [said(answered)], thoughts: [], toolCalls },
      ...toolCalls.map(
        ({ id }) => ({ role: "tool", callId: id, name: "f", parts: [said("21")], isError: false }) as const,
      ),
    ];
  });
}

/** One vendor-neutral turn. */
function plain(turn: unknown) {
  const { Role, role = Role, Content, content = Content, Contents, ...rest } = asObject(turn) ?? {};
  const parts = asList(Contents ?? (Array.isArray(content) ? content : undefined)).map((part) =>
    asObject(part),
  );
  const texts = [content, ...parts.map((part) => part?.["Text"] ?? part?.["text"])];
  const calls = [rest["function_call"], ...asList(rest["ToolCalls"] ?? rest["tool_calls"])].flatMap(
    (item) => {
      const call = asObject(item);
      const fn = asObject(call?.["Function"] ?? call?.["function"]) ?? call;
      return fn === undefined ? [] : [fn["Arguments"] ?? fn["arguments"]];
    },
  );
  return { role, texts: texts.filter((item) => typeof item === "string"), calls };
}

type Plain = ReturnType<typeof plain>;

/** Every turn has text or calls, and each call is followed by its result. */
function expectSound(turns: readonly Plain[]): void {
  for (const [at, { texts, calls }] of turns.entries()) {
    if (calls.length === 0) expect(texts.filter((words) => words.trim() === "")).toEqual([]);
    for (const args of calls) expect(readJson(String(args))).toBeDefined();
    const others = turns.slice(at + 1);
    const end = others.findIndex(({ role }) => role !== "tool" && role !== "function");
    if (calls.length > 0) expect(end < 0 ? others.length : end).toBe(calls.length);
  }
}

describe.each(Object.entries(WIRES))("%s", (_, one) => {
  const { dialect, model } = one;
  const target = { baseUrl: "", other: "", model, apiVersion: "", isStream: true, account: "app" };
  const tools = one.takesTools === true ? [TOOL] : undefined;

  it("gets only conversations that it accepts", () => {
    fc.assert(
      fc.property(fc.array(exchange, { minLength: 1, maxLength: 4 }), (exchanges) => {
        const messages = messagesOf(exchanges, one);
        const { body } = dialect.encode({ model, isStream: true, messages, tools }, { wire, target });
        const turns = asList(one.turns(asObject(JSON.parse(JSON.stringify(body))) ?? {})).map(plain);
        expectSound(turns);
        if (one.isFree === true) return;
        const isAnswer = turns.map(({ role }) => role === "assistant");
        expect([isAnswer[0], isAnswer.at(-1)]).toEqual([false, false]);
        expect(isAnswer.some((side, at) => side && isAnswer[at - 1] === true)).toBe(false);
      }),
    );
  });

  it("is encoded in time linear in the conversation", () => {
    const messages = Array.from(
      { length: 4_000 },
      (): HubMessage => ({ role: "user", parts: [said("x".repeat(300))] }),
    );
    const startedMs = performance.now();
    JSON.stringify(dialect.encode({ model, isStream: true, messages }, { wire, target }).body);
    // Copied again with each message it would take half a minute.
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });
});
