// One answer in the four stream formats, and the twelve translations between them (requirements T27.6): a client of one format reads the
// upstream's answer in another unchanged.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { GenerationEndpoint } from "#contract/provider.ts";
import { providerOf } from "#contract/providers.ts";
import { clients } from "./clients/index.ts";
import type { Dialect } from "./dialects/dialect.ts";
import { dialects } from "./dialects/index.ts";
import { foldReply, type HubChunk } from "./hub/reply.ts";
import { dataText, fieldOf, SseReader } from "./hub/sse.ts";
import { asObject, type JsonRecord } from "./json/values.ts";

/** Each format with the dialect that reads it. */
const WAYS = {
  chat: dialects.openai,
  messages: dialects.anthropic,
  generate: dialects.gemini,
  responses: dialects.responses,
} as const;
type Way = keyof typeof WAYS;
const names = ["chat", "messages", "generate", "responses"] as const satisfies readonly GenerationEndpoint[];

const wire = providerOf(1);
if (wire === undefined) throw new Error("no row for OpenAI");
const decoding = { wire, model: "m", seed: "abc" };
const rendering = {
  model: "m",
  seed: "abc",
  created: 1,
  wantsUsage: true,
  isArray: false,
  request: {
    model: "m",
    isStream: true,
    messages: [],
    // Gemini's clients get thoughts only on request.
    reasoning: { effort: undefined, budgetTokens: undefined, isShown: true },
  },
  body: {},
};

/** The bytes an upstream of this format would send for these chunks. */
function written(way: Way, chunks: readonly HubChunk[]): string {
  const renderer = clients[way].renderer(rendering);
  return chunks.map((chunk) => renderer.take([chunk])).join("") + renderer.end();
}

function read(way: Way, text: string): HubChunk[] {
  const dialect: Dialect | undefined = WAYS[way];
  const decoder = dialect?.decoder(decoding);
  const reader = new SseReader();
  const last = reader.end();
  return [...reader.push(Buffer.from(text)), ...(last === undefined ? [] : [last])].flatMap((event) => {
    const found = decoder?.take({ data: dataText(event), field: (name) => fieldOf(event, name) }) ?? [];
    if ("kind" in found) throw new Error(`${way}: ${found.message}`);
    return found;
  });
}

/** The parts of an answer that every format can express. */
function gist(chunks: readonly HubChunk[]) {
  const { answers, usage } = foldReply(chunks);
  const [answer] = answers;
  return {
    text: answer?.text,
    thinking: answer?.thoughts.map(({ text }) => text).join(""),
    calls: answer?.toolCalls.map((call) => [call.name, JSON.parse(call.arguments)]),
    finish: answer?.finish,
    prompt: usage?.["prompt_tokens"],
    completion: usage?.["completion_tokens"],
    cached: detail(usage, "prompt_tokens_details", "cached_tokens"),
    reasoning: detail(usage, "completion_tokens_details", "reasoning_tokens"),
  };
}

function detail(usage: JsonRecord | undefined, part: string, name: string): unknown {
  return asObject(usage?.[part])?.[name] ?? 0;
}

const usage = {
  prompt_tokens: 10,
  completion_tokens: 7,
  total_tokens: 17,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 3 },
};

const FIXTURE: readonly HubChunk[] = [
  { kind: "head", id: "id1" },
  { kind: "thought", index: 0, text: "T" },
  { kind: "text", index: 0, text: "A" },
  { kind: "tool", index: 0, at: 0, id: "c1", name: "f", arguments: "" },
  { kind: "tool", index: 0, at: 0, arguments: '{"x":1}' },
  { kind: "finish", index: 0, reason: "tool_calls" },
  { kind: "usage", usage },
  { kind: "end" },
];

const pairs = names.flatMap((from) => names.map((to) => ({ from, to })));

describe.each(pairs)("from $from to $to", ({ from, to }) => {
  it("says the same", () => {
    expect(gist(read(to, written(to, read(from, written(from, FIXTURE)))))).toEqual(gist(FIXTURE));
  });

  it("says the same of any answer", () => {
    const text = fc.string({ minLength: 1, unit: "grapheme" });
    const input = fc.dictionary(fc.string(), fc.oneof(text, fc.integer(), fc.constant(null)), {
      noNullPrototype: true,
    });
    const answer = fc.record({
      thoughts: fc.array(text, { maxLength: 2 }),
      texts: fc.array(text, { maxLength: 3 }),
      calls: fc.array(input, { maxLength: 3 }),
      isCut: fc.boolean(),
    });
    fc.assert(
      fc.property(answer, ({ thoughts, texts, calls, isCut }) => {
        const reason = isCut ? "length" : calls.length > 0 ? "tool_calls" : "stop";
        const chunks: HubChunk[] = [
          { kind: "head", id: "id1" },
          ...thoughts.map((thought) => ({ kind: "thought", index: 0, text: thought }) as const),
          ...texts.map((piece) => ({ kind: "text", index: 0, text: piece }) as const),
          ...calls.map(
            (call, at) =>
              ({
                kind: "tool",
                index: 0,
                at,
                id: `c${at}`,
                name: "f",
                arguments: JSON.stringify(call),
              }) as const,
          ),
          { kind: "finish", index: 0, reason },
          { kind: "usage", usage },
          { kind: "end" },
        ];
        expect(gist(read(to, written(to, read(from, written(from, chunks)))))).toEqual(gist(chunks));
      }),
      { numRuns: 60 },
    );
  });
});
