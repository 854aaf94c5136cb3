import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeMessage, MessageDecoder } from "#server/upstream/dialects/anthropic-reply.ts";
import { foldReply, type HubChunk } from "#server/upstream/hub/reply.ts";
import { asObject, type JsonRecord, readJson } from "#server/upstream/json/values.ts";
import { cpuMsOf } from "#test/worlds/cpu-time.ts";
import type { RenderContext } from "./client.ts";
import { messages, messagesNative } from "./messages.ts";

const context: RenderContext = {
  model: "claude-opus-5",
  seed: "abc",
  created: 0,
  wantsUsage: true,
  isArray: false,
  request: { model: "m", isStream: true, messages: [] },
  body: {},
};

function eventsOf(chunks: readonly HubChunk[]): JsonRecord[] {
  const renderer = messages.renderer(context);
  const text = chunks.map((chunk) => renderer.take([chunk])).join("") + renderer.end();
  return text
    .split("\n\n")
    .slice(0, -1)
    .map((event) => {
      const [, type, data] = /^event: (\S+)\ndata: (.*)$/.exec(event) ?? [];
      const json = readJson(data ?? "");
      expect(json?.["type"]).toBe(type);
      return json ?? {};
    });
}

function fold(events: readonly JsonRecord[]) {
  const decoder = new MessageDecoder();
  return foldReply(
    events.flatMap((event) => {
      const found = decoder.take({ data: JSON.stringify(event), field: () => "" });
      if ("kind" in found) throw new Error(found.message);
      return found;
    }),
  );
}

/** One answer with thinking, text and a call: the fixture of requirements T27.6. */
const FOUR_WAY: readonly HubChunk[] = [
  { kind: "head", id: "chatcmpl-1" },
  { kind: "thought", index: 0, text: "T" },
  { kind: "text", index: 0, text: "A" },
  { kind: "tool", index: 0, at: 0, id: "c1", name: "f", arguments: "" },
  { kind: "tool", index: 0, at: 0, arguments: '{"x":' },
  { kind: "tool", index: 0, at: 0, arguments: "1}" },
  { kind: "finish", index: 0, reason: "tool_calls" },
  {
    kind: "usage",
    usage: {
      prompt_tokens: 10,
      completion_tokens: 7,
      total_tokens: 17,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 3 },
    },
  },
  { kind: "end" },
];

describe("reply", () => {
  const usage = {
    input_tokens: 6,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 4,
    output_tokens: 7,
    output_tokens_details: { thinking_tokens: 3 },
  };

  it("is one message", () => {
    expect(messages.render(foldReply(FOUR_WAY), context)).toEqual({
      id: "msg_chatcmpl-1",
      type: "message",
      role: "assistant",
      model: "claude-opus-5",
      content: [
        { type: "thinking", thinking: "T", signature: "" },
        { type: "text", text: "A" },
        { type: "tool_use", id: "c1", name: "f", input: { x: 1 } },
      ],
      stop_reason: "tool_use",
      stop_sequence: null,
      usage,
    });
  });

  it("streams as blocks one after another", () => {
    const events = eventsOf(FOUR_WAY);
    expect(
      events.map(({ type, index }) => [type, index].filter((item) => item !== undefined).join(" ")),
    ).toEqual([
      "message_start",
      "content_block_start 0",
      "content_block_delta 0",
      "content_block_stop 0",
      "content_block_start 1",
      "content_block_delta 1",
      "content_block_stop 1",
      "content_block_start 2",
      "content_block_delta 2",
      "content_block_delta 2",
      "content_block_stop 2",
      "message_delta",
      "message_stop",
    ]);
    expect(events[0]).toMatchObject({
      message: { id: "msg_chatcmpl-1", model: "claude-opus-5", content: [] },
    });
    expect(events.at(-2)).toEqual({
      type: "message_delta",
      delta: { stop_reason: "tool_use", stop_sequence: null },
      usage,
    });
  });

  it("reports a stop sequence, and tool_use where the upstream says stop", () => {
    const finish = { kind: "finish", index: 0, reason: "stop" } as const;
    const met = foldReply([{ ...finish, stopSequence: "END" }]);
    expect(messages.render(met, context)).toMatchObject({
      content: [],
      stop_reason: "stop_sequence",
      stop_sequence: "END",
    });
    const call = { kind: "tool", index: 0, at: 0, id: "c", name: "f", arguments: "{" } as const;
    expect(messages.render(foldReply([call, finish]), context)).toMatchObject({
      content: [{ input: { INVALID_JSON: "{" } }],
      stop_reason: "tool_use",
    });
  });

  it("never lets blocks overlap, in any order, and loses nothing", () => {
    const text = fc.string({ minLength: 1 });
    const spoken = fc.oneof(
      fc.record({ kind: fc.constantFrom("text" as const, "thought" as const), index: fc.constant(0), text }),
      fc.record({ kind: fc.constant("signature" as const), index: fc.constant(0), signature: text }),
      fc.record({ kind: fc.constant("redacted" as const), index: fc.constant(0), data: text }),
    );
    const inputs = fc.array(fc.dictionary(text, fc.oneof(text, fc.constant('}"{'))), { maxLength: 3 });
    fc.assert(
      fc.property(
        inputs,
        fc.array(spoken, { maxLength: 6 }),
        fc.infiniteStream(fc.nat()),
        (calls, said, chance) => {
          const chunks = interleaved(calls, said, () => chance.next().value);
          const events = eventsOf(chunks);
          let open: unknown;
          for (const { type, index } of events) {
            if (type === "content_block_start") {
              expect(open).toBeUndefined();
              open = index;
            } else if (type === "content_block_delta") expect(index).toBe(open);
            else if (type === "content_block_stop") open = undefined;
          }
          const [answer] = fold(events).answers;
          const [expected] = foldReply(chunks).answers;
          expect(answer?.text).toBe(expected?.text);
          expect(answer?.thoughts.map((item) => item.text).join("")).toBe(
            expected?.thoughts.map((item) => item.text).join(""),
          );
          const byId = (list = expected?.toolCalls) =>
            Object.fromEntries((list ?? []).map((call) => [call.id, call.arguments]));
          expect(byId(answer?.toolCalls)).toEqual(byId());
        },
      ),
      { numRuns: 300 },
    );
  });

  it("round trips Anthropic's own reply", () => {
    const body = {
      id: "msg_1",
      type: "message",
      content: [
        { type: "thinking", thinking: "T", signature: "S" },
        { type: "redacted_thinking", data: "R" },
        { type: "text", text: "A" },
        { type: "tool_use", id: "t", name: "f", input: { x: 1 } },
      ],
      stop_reason: "tool_use",
      stop_sequence: null,
      usage: {
        input_tokens: 1,
        cache_creation_input_tokens: 2,
        cache_read_input_tokens: 3,
        output_tokens: 4,
      },
    };
    const chunks = decodeMessage(body);
    if ("kind" in chunks) throw new Error(chunks.message);
    const rendered = messages.render(foldReply(chunks), context);
    expect(rendered).toMatchObject(body);
    expect(fold(eventsOf(chunks))).toMatchObject({ ...foldReply(chunks), model: "claude-opus-5" });
  });
});

/** Chunks of calls and of text in a random order; each call begins with its name. */
function interleaved(calls: readonly object[], said: readonly HubChunk[], chance: () => number): HubChunk[] {
  const lanes: HubChunk[][] = calls.map((input, at) => {
    const json = JSON.stringify(input);
    const cut = chance() % (json.length + 1);
    return [
      { kind: "tool", index: 0, at, id: `c${at}`, name: "f", arguments: "" },
      { kind: "tool", index: 0, at, arguments: json.slice(0, cut) },
      { kind: "tool", index: 0, at, arguments: json.slice(cut) },
    ];
  });
  lanes.push([...said]);
  const chunks: HubChunk[] = [];
  for (;;) {
    const left = lanes.filter((lane) => lane.length > 0);
    const piece = left[chance() % Math.max(1, left.length)]?.shift();
    if (piece === undefined) return [...chunks, { kind: "finish", index: 0, reason: "stop" }];
    chunks.push(piece);
  }
}

describe("native", () => {
  it("reads usage, finish, end and errors", () => {
    const { news, usage } = messagesNative;
    const start = { type: "message_start", message: { usage: { input_tokens: 5, output_tokens: 1 } } };
    expect(news(start)).toEqual({ usage: { input_tokens: 5, output_tokens: 1 } });
    const delta = {
      type: "message_delta",
      delta: { stop_reason: "end_turn" },
      usage: { input_tokens: 0, output_tokens: 9 },
    };
    expect(news(delta)).toEqual({ usage: { output_tokens: 9 }, isFinish: true });
    expect(news({ type: "message_stop" })).toEqual({ isFinish: true, isEnd: true });
    expect(news({ type: "error", error: { type: "rate_limit_error", message: "slow" } })).toMatchObject({
      error: { status: 429, message: "slow" },
    });
    expect(usage({ input_tokens: 5, output_tokens: 9 })).toMatchObject({
      prompt_tokens: 5,
      completion_tokens: 9,
    });
    expect(asObject(usage({ input_tokens: -1 }))).toEqual({});
  });
});

const PIECE = { kind: "tool", index: 0, at: 0, arguments: "{" } as const;

it.each([
  ["that never end", (at: number): HubChunk => ({ ...PIECE, at, id: `c${at}`, name: "f" })],
  ["of one call that is never named", (): HubChunk => PIECE],
])("the time for very many pieces of calls %s does not grow with their square", (_, piece) => {
  const renderer = messages.renderer(context);
  const costMs = cpuMsOf(() => {
    for (let at = 0; at < 50_000; at += 1) renderer.take([piece(at)]);
  });
  // With quadratic work this takes twenty seconds and more.
  expect(costMs).toBeLessThan(5_000);
});
