// Streams for chat clients: an answer ends once, after all of its content.
import { describe, expect, it } from "vitest";
import type { HubChunk } from "#server/upstream/hub/reply.ts";
import { dataText, SseReader } from "#server/upstream/hub/sse.ts";
import { asList, asObject, readJson } from "#server/upstream/json/values.ts";
import { chat } from "./chat.ts";

function choicesOf(chunks: readonly HubChunk[]) {
  const request = { model: "m", isStream: true, messages: [] };
  const context = {
    model: "m",
    seed: "abc",
    created: 1,
    wantsUsage: false,
    isArray: false,
    request,
    body: {},
  };
  const renderer = chat.renderer(context);
  const text = chunks.map((chunk) => renderer.take([chunk])).join("") + renderer.end();
  return new SseReader()
    .push(Buffer.from(text))
    .flatMap((event) => asList(readJson(dataText(event))?.["choices"]))
    .map((choice) => asObject(choice) ?? {});
}

const STOP: HubChunk = { kind: "finish", index: 0, reason: "stop" };

describe("an upstream that sends a finish reason with every chunk", () => {
  it("ends the answer once, after its last chunk", () => {
    const choices = choicesOf([
      { kind: "text", index: 0, text: "a" },
      STOP,
      { kind: "text", index: 0, text: "b" },
      STOP,
    ]);
    expect(choices.map(({ finish_reason }) => finish_reason)).toEqual([null, null, null, "stop"]);
    expect(choices.map(({ delta }) => asObject(delta)?.["content"] ?? "").join("")).toBe("ab");
  });

  it("gives a call without arguments an empty object, not two", () => {
    const end: HubChunk = { ...STOP, reason: "tool_calls" };
    const choices = choicesOf([
      { kind: "tool", index: 0, at: 0, id: "c", name: "f", arguments: "" },
      end,
      end,
    ]);
    const pieces = choices.flatMap(({ delta }) => asList(asObject(delta)?.["tool_calls"]));
    const texts = pieces.map((call) => asObject(asObject(call)?.["function"])?.["arguments"]);
    expect(texts.join("")).toBe("{}");
  });
});
