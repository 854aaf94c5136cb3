import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { foldReply, type HubChunk } from "#server/upstream/hub/reply.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import { decodeMessage, errorIn, laterUsage, MessageDecoder, openAiUsage } from "./anthropic-reply.ts";

function whole(body: JsonRecord): readonly HubChunk[] {
  const found = decodeMessage(body);
  if ("kind" in found) throw new Error(found.message);
  return found;
}

function streamed(events: readonly unknown[]): HubChunk[] {
  const decoder = new MessageDecoder();
  return events.flatMap((event) => {
    const found = decoder.take({ data: JSON.stringify(event), field: () => "" });
    if ("kind" in found) throw new Error(found.message);
    return found;
  });
}

const stop = { type: "message_stop" };

function start(usage: JsonRecord) {
  return { type: "message_start", message: { id: "msg_1", model: "m", content: [], usage } };
}

function end(reason: string | null, usage: JsonRecord, more: JsonRecord = {}) {
  return { type: "message_delta", delta: { stop_reason: reason, stop_sequence: null, ...more }, usage };
}

describe("reply", () => {
  it("is the documented example of vendors/claude", () => {
    const { answers, usage, id } = foldReply(
      whole({
        id: "msg_1",
        type: "message",
        model: "claude-sonnet-4-6",
        content: [
          { type: "text", text: "Looking." },
          { type: "tool_use", id: "toolu_9", name: "get_weather", input: { city: "Rome" } },
        ],
        stop_reason: "tool_use",
        usage: {
          input_tokens: 50,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 20,
          output_tokens: 30,
        },
      }),
    );
    expect(id).toBe("msg_1");
    expect(answers).toMatchObject([
      {
        text: "Looking.",
        toolCalls: [{ id: "toolu_9", name: "get_weather", arguments: '{"city":"Rome"}' }],
        finish: "tool_calls",
      },
    ]);
    expect(usage).toEqual({
      prompt_tokens: 70,
      completion_tokens: 30,
      total_tokens: 100,
      prompt_tokens_details: { cached_tokens: 20 },
    });
  });

  it("decodes the stream of vendors/claude-stream", () => {
    const chunks = streamed([
      start({
        input_tokens: 12,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: 1,
      }),
      { type: "ping" },
      {
        type: "content_block_start",
        index: 0,
        content_block: { type: "tool_use", id: "toolu_01", name: "get_time", input: {} },
      },
      { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: "" } },
      {
        type: "content_block_delta",
        index: 0,
        delta: { type: "input_json_delta", partial_json: '{"tz":"UTC"}' },
      },
      { type: "content_block_stop", index: 0 },
      end("tool_use", { output_tokens: 27 }),
      stop,
    ]);
    expect(chunks.map(({ kind }) => kind)).toEqual([
      "head",
      "usage",
      "tool",
      "tool",
      "finish",
      "usage",
      "end",
    ]);
    expect(foldReply(chunks)).toMatchObject({
      answers: [{ toolCalls: [{ id: "toolu_01", arguments: '{"tz":"UTC"}' }], finish: "tool_calls" }],
      usage: { prompt_tokens: 12, completion_tokens: 27 },
    });
  });

  it("is the same whole and streamed", () => {
    const text = fc.string({ minLength: 1 });
    const place = fc.record({ type: fc.constant("web_search_result_location"), url: text, title: text });
    const block = fc.oneof(
      fc.record({ type: fc.constant("text"), text, citations: fc.array(place, { maxLength: 2 }) }),
      fc.record({ type: fc.constant("thinking"), thinking: text, signature: text }),
      fc.record({ type: fc.constant("redacted_thinking"), data: text }),
      fc.record({
        type: fc.constant("tool_use"),
        id: text,
        name: text,
        input: fc.dictionary(text, fc.integer()),
      }),
      fc.record({ type: fc.constant("server_tool_use"), id: text }),
    );
    const reason = fc.constantFrom(
      "end_turn",
      "max_tokens",
      "tool_use",
      "refusal",
      "stop_sequence",
      "news",
      null,
    );
    fc.assert(
      fc.property(fc.array(block, { maxLength: 5 }), reason, (content, stopReason) => {
        const usage = { input_tokens: 3, output_tokens: 9 };
        const body = { id: "msg_1", type: "message", model: "m", content, stop_reason: stopReason, usage };
        const events = [
          start({ input_tokens: 3, output_tokens: 1 }),
          ...content.flatMap(eventsOf),
          end(stopReason, usage),
          stop,
        ];
        expect(foldReply(streamed(events))).toEqual(foldReply(whole(body)));
      }),
      { numRuns: 200 },
    );
  });

  it("takes the newest counters, but no zero over a reported count", () => {
    const early = { input_tokens: 0, output_tokens: 0 };
    const late = { input_tokens: 40, cache_read_input_tokens: 10, output_tokens: 7 };
    expect(foldReply(streamed([start(early), end("end_turn", late), stop])).usage).toMatchObject({
      prompt_tokens: 50,
      completion_tokens: 7,
    });
    const emptied = { input_tokens: 0, cache_read_input_tokens: null, output_tokens: 7 };
    expect(foldReply(streamed([start(late), end("end_turn", emptied), stop])).usage).toMatchObject({
      prompt_tokens: 50,
    });
    const hour = { cache_creation_input_tokens: 9, cache_creation: { ephemeral_1h_input_tokens: 9 } };
    const empty = { cache_creation: { ephemeral_1h_input_tokens: 0 }, output_tokens: 7 };
    expect(foldReply(streamed([start(hour), end("end_turn", empty), stop])).usage).toMatchObject({
      prompt_tokens_details: { cache_write_tokens: 9, cache_write_1h_tokens: 9 },
    });
  });

  it("never throws at any order and any form of events", () => {
    const index = fc.constantFrom(0, 1, undefined, "x");
    const member = fc.oneof(
      fc.anything({ maxDepth: 2 }),
      fc.record({ type: fc.constantFrom("text", "tool_use") }),
    );
    const event = fc.record({
      type: fc.constantFrom(
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "news",
      ),
      index,
      delta: member,
      content_block: member,
      message: member,
      usage: member,
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 12 }), (events) => void streamed(events)),
      { numRuns: 200 },
    );
    expect(new MessageDecoder().take({ data: "not json", field: () => "" })).toEqual([]);
    expect(decodeMessage({})).toEqual([]);
  });
});

/** A whole block as stream events. */
function eventsOf(block: JsonRecord, index: number): unknown[] {
  const empty: Record<string, unknown> = { ...block };
  const deltas: unknown[] = [];
  const move = (name: string, type: string, member = name) => {
    if (typeof block[name] !== "string") return;
    empty[name] = "";
    const text = block[name];
    for (const piece of [text.slice(0, 2), text.slice(2)]) deltas.push({ type, [member]: piece });
  };
  move("text", "text_delta");
  move("thinking", "thinking_delta");
  if (typeof block["signature"] === "string") {
    empty["signature"] = "";
    deltas.push({ type: "signature_delta", signature: block["signature"] });
  }
  if (block["type"] === "tool_use") {
    empty["input"] = {};
    deltas.push({ type: "input_json_delta", partial_json: JSON.stringify(block["input"]) });
  }
  if (Array.isArray(block["citations"])) {
    empty["citations"] = null;
    for (const citation of block["citations"]) deltas.push({ type: "citations_delta", citation });
  }
  return [
    { type: "content_block_start", index, content_block: empty },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
}

describe("usage", () => {
  it("counts the cache into the prompt and separates writes for an hour", () => {
    expect(
      openAiUsage({
        input_tokens: 6,
        cache_read_input_tokens: 4,
        cache_creation_input_tokens: 5,
        cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 2 },
        output_tokens: 7,
        output_tokens_details: { thinking_tokens: 3 },
      }),
    ).toEqual({
      prompt_tokens: 15,
      completion_tokens: 7,
      total_tokens: 22,
      prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 5, cache_write_1h_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 3 },
    });
  });

  it("is undefined when a counter is impossible", () => {
    expect(openAiUsage({ input_tokens: -5, output_tokens: 3 })).toBeUndefined();
    expect(openAiUsage({ input_tokens: "5" })).toBeUndefined();
    expect(laterUsage({ input_tokens: 5 }, { input_tokens: null, output_tokens: 0 })).toEqual({
      input_tokens: 5,
      output_tokens: 0,
    });
  });
});

describe("errors", () => {
  it("have the status of their type, and low credit blames the account", () => {
    const decoder = new MessageDecoder();
    const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    expect(decoder.take({ data: JSON.stringify(overloaded), field: () => "error" })).toEqual({
      kind: "error",
      status: 529,
      message: "Overloaded",
      code: "overloaded_error",
      type: "overloaded_error",
    });
    const poor = { error: { type: "invalid_request_error", message: "Your credit balance is too low to …" } };
    expect(errorIn(poor, 400)).toMatchObject({ status: 402, code: "billing_error" });
    expect(errorIn({ error: { message: "x", code: 5 } }, 400)).toBeUndefined();
  });
});
