// For any conversation of a client, the encoded request is one its vendor accepts: alternating roles, every call followed directly by
// exactly one result, ids and names in the vendor's characters, no blank text (vendors/claude-request, vendors/gemini-request,
// vendors/claude-messages, requirements T18.5; AWS API reference).
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { providerOf } from "#contract/providers.ts";
import { dialects } from "./dialects/index.ts";
import type { HubMessage, HubPart, HubTool } from "./hub/request.ts";
import { asList, asObject, asText, type JsonRecord } from "./json/values.ts";

/** One role's turn: the calls it makes or answers, its texts. */
interface Turn {
  readonly isAnswer: boolean;
  readonly calls: string[];
  readonly results: string[];
  readonly texts: string[];
}

const wire = providerOf(1) ?? expect.fail("no row for OpenAI");
const NAMES = ["f", "1st", "a.b", `mcp__${"x".repeat(60)}`];
const TOOLS = NAMES.map(
  (name): HubTool => ({ kind: "function", name, description: undefined, parameters: undefined }),
);
const PICTURE: HubPart = { kind: "image", source: { kind: "data", mime: "image/png", base64: "AA==" } };

const texts = fc.array(fc.constantFrom("hi", " ", "\n\n", "", "天气"), { maxLength: 2 });
const partsOf = (list: readonly string[]): HubPart[] => list.map((text) => ({ kind: "text", text }));
const call = fc.record({
  // Vendors and clients restart the numbers of calls in every turn, or use the function's name.
  id: fc.constantFrom("call_0", "call_1", "functions.f:0", "functions.f.0", "", "x".repeat(70)),
  name: fc.constantFrom(...NAMES),
  said: texts,
  isError: fc.boolean(),
  isShown: fc.boolean(),
});
const exchange = fc.record({
  asked: texts,
  answered: texts,
  proof: fc.option(fc.constant("proof"), { nil: undefined }),
  calls: fc.uniqueArray(call, { maxLength: 3, selector: ({ id }) => id }),
});

type Exchange = typeof exchange extends fc.Arbitrary<infer T> ? T : never;

function messagesOf(exchanges: readonly Exchange[]): HubMessage[] {
  return exchanges.flatMap(({ asked, answered, proof, calls }): HubMessage[] => [
    ...(asked.length > 0 ? [{ role: "user", parts: partsOf(asked) } as const] : []),
    {
      role: "assistant",
      parts: partsOf(answered),
      thoughts: proof === undefined ? [] : [{ text: "hm", signature: proof }],
      toolCalls: calls.map(({ id, name }) => ({ id, name, arguments: "{}" })),
    },
    ...calls.map(({ id, name, said, isError, isShown }) => {
      const parts = [...partsOf(said), ...(isShown ? [PICTURE] : [])];
      return { role: "tool", callId: id, name, parts, isError } as const;
    }),
    { role: "user", parts: [{ kind: "text", text: "go on" }] },
  ]);
}

const objects = (list: unknown) => asList(list).map((item) => asObject(item) ?? {});
const textIn = (record: JsonRecord | undefined, name: string) => {
  const text = asText(record?.[name]);
  return text === undefined ? [] : [text];
};

function turn(
  isAnswer: boolean,
  blocks: readonly JsonRecord[],
  read: (block: JsonRecord) => Partial<Turn>,
): Turn {
  const found = blocks.map(read);
  const all = (name: "calls" | "results" | "texts") => found.flatMap((part) => part[name] ?? []);
  return { isAnswer, calls: all("calls"), results: all("results"), texts: all("texts") };
}

/** How each wire's turns are read; the pattern of its ids (Gemini knows calls by name). */
const WIRES: Readonly<
  Record<string, { model: string; ids: RegExp; repeats?: true; turns(body: JsonRecord): Turn[] }>
> = {
  anthropic: {
    model: "claude-sonnet-4-6",
    ids: /^[A-Za-z0-9_-]+$/,
    turns: ({ messages }) =>
      objects(messages).map(({ role, content }) =>
        turn(role === "assistant", objects(content), (block) => ({
          calls: block["type"] === "tool_use" ? textIn(block, "id") : [],
          results: textIn(block, "tool_use_id"),
          texts: block["type"] === "text" ? textIn(block, "text") : [],
        })),
      ),
  },
  converse: {
    model: "amazon.nova-pro-v1:0",
    ids: /^[A-Za-z0-9_-]{1,64}$/,
    turns: ({ messages }) =>
      objects(messages).map(({ role, content }) =>
        turn(role === "assistant", objects(content), (block) => ({
          calls: textIn(asObject(block["toolUse"]), "toolUseId"),
          results: textIn(asObject(block["toolResult"]), "toolUseId"),
          texts: textIn(block, "text"),
        })),
      ),
  },
  gemini: {
    model: "gemini-2.5-flash",
    ids: /^[A-Za-z_][\w.:-]{0,63}$/,
    repeats: true,
    turns: ({ contents }) =>
      objects(contents).map(({ role, parts }) =>
        turn(role === "model", objects(parts), (part) => ({
          calls: textIn(asObject(part["functionCall"]), "name"),
          results: textIn(asObject(part["functionResponse"]), "name"),
        })),
      ),
  },
  openai: {
    model: "gpt-4o",
    ids: /^.{0,40}$/,
    repeats: true,
    turns: ({ messages }) =>
      objects(messages).map((message) => ({
        isAnswer: message["role"] === "assistant",
        calls: objects(message["tool_calls"]).flatMap((item) => textIn(item, "id")),
        results: textIn(message, "tool_call_id"),
        texts: [],
      })),
  },
  responses: {
    model: "gpt-5.4",
    ids: /^.{0,64}$/,
    repeats: true,
    turns: ({ input }) =>
      objects(input).map((item) => {
        const isCall = item["type"] === "function_call";
        const ids = textIn(item, "call_id");
        const isAnswer = isCall || item["role"] === "assistant";
        return { isAnswer, calls: isCall ? ids : [], results: isCall ? [] : ids, texts: [] };
      }),
  },
};

/** Adjacent items of one role as one turn, for wires that write each item on its own. */
function joined(turns: readonly Turn[]): Turn[] {
  const out: Turn[] = [];
  for (const one of turns) {
    const last = out.at(-1);
    if (last?.isAnswer !== one.isAnswer)
      out.push({ ...one, calls: [...one.calls], results: [...one.results] });
    else {
      last.calls.push(...one.calls);
      last.results.push(...one.results);
    }
  }
  return out;
}

/** Every call is answered exactly once, in the next turn, and no other id is; no text is blank. */
function expectAnswered(turns: readonly Turn[], ids: RegExp): void {
  for (const [at, { calls, texts: said }] of turns.entries()) {
    const results = at + 1 < turns.length ? turns[at + 1]?.results : [];
    expect(results?.toSorted()).toEqual(calls.toSorted());
    for (const id of calls) expect(id).toMatch(ids);
    for (const text of said) expect(text.trim()).not.toBe("");
  }
}

describe.each(Object.entries(WIRES))("%s", (name, { model, ids, repeats, turns: read }) => {
  const target = { baseUrl: "https://a.example", other: "", model, apiVersion: "", isStream: false };
  const dialect = Object.entries(dialects).find(([known]) => known === name)?.[1];
  const writesSingly = name === "openai" || name === "responses";

  it("gets only conversations that it accepts", () => {
    fc.assert(
      fc.property(fc.array(exchange, { minLength: 1, maxLength: 4 }), (exchanges) => {
        const request = { model, isStream: false, messages: messagesOf(exchanges), tools: TOOLS };
        const encoded = dialect?.encode(request, { wire, target });
        const told = read(asObject(JSON.parse(JSON.stringify(encoded?.body))) ?? {});
        const turns = writesSingly ? joined(told) : told;
        expectAnswered(turns, ids);
        if (!writesSingly)
          expect(turns.map(({ isAnswer }) => isAnswer)).toEqual(turns.map((_, at) => at % 2 === 1));
        const all = turns.flatMap(({ calls }) => calls);
        if (repeats !== true) expect(new Set(all).size).toBe(all.length);
      }),
      { numRuns: 100 },
    );
  });
});

it.each([
  ["anthropic", "claude-sonnet-4-6"],
  ["anthropic", "claude-opus-5-5"],
  ["gemini", "gemini-3.8-flash"],
  ["gemini", "gemini-3.5-flash-lite"],
])("%s: %s is never asked to go on with an answer that was begun", (name, model) => {
  const target = { baseUrl: "https://a.example", other: "", model, apiVersion: "", isStream: false };
  const dialect = Object.entries(dialects).find(([known]) => known === name)?.[1];
  fc.assert(
    fc.property(fc.array(exchange, { maxLength: 2 }), texts, (exchanges, begun) => {
      const messages: HubMessage[] = [
        { role: "user", parts: [{ kind: "text", text: "hi" }] },
        ...messagesOf(exchanges),
        { role: "assistant", parts: partsOf(begun), thoughts: [], toolCalls: [] },
      ];
      const encoded = dialect?.encode({ model, isStream: false, messages, tools: TOOLS }, { wire, target });
      const turns = WIRES[name]?.turns(asObject(JSON.parse(JSON.stringify(encoded?.body))) ?? {}) ?? [];
      expect(turns.map(({ isAnswer }) => isAnswer)).toEqual(turns.map((_, at) => at % 2 === 1));
      expect(turns.at(-1)?.isAnswer).toBe(false);
    }),
    { numRuns: 50 },
  );
});
