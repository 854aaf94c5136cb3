// OpenAI's chat wire for clients of other formats: call ids fit its limits, media of tool results are sent, calls without ids get one.
import { describe, expect, it } from "vitest";
import { asList, asObject } from "#server/upstream/json/values.ts";
import { chatBody } from "./chat-body.ts";
import { ChatStream } from "./chat-reply.ts";
import type { HubMessage, HubPart } from "./request.ts";

const BASE64 = "JVBERi0=";
const PICTURE: HubPart = { kind: "image", source: { kind: "data", mime: "image/png", base64: BASE64 } };
const FILE: HubPart = {
  kind: "file",
  source: { kind: "data", mime: "application/pdf", base64: BASE64 },
  filename: "a.pdf",
};
const DISTANT: HubPart = { ...FILE, source: { kind: "url", url: "https://a.example/a.pdf" } };

function written(callId: string, parts: readonly HubPart[] = []) {
  const messages: HubMessage[] = [
    { role: "user", parts: [{ kind: "text", text: "hi" }] },
    {
      role: "assistant",
      parts: [],
      thoughts: [],
      toolCalls: [{ id: callId, name: "f", arguments: "{}" }],
    },
    { role: "tool", callId, name: "f", parts, isError: false },
  ];
  const { body, dropped } = chatBody({ model: "m", isStream: false, messages }, { keepsThoughts: false });
  const [, called, result, shown] = asList(body["messages"]).map(asObject);
  const [call] = asList(called?.["tool_calls"]).map(asObject);
  return { ids: [call?.["id"], result?.["tool_call_id"]], result, shown, dropped };
}

describe("a chat body", () => {
  it("shortens call ids that OpenAI refuses, and equally those of their results", () => {
    expect(written("call_1").ids).toEqual(["call_1", "call_1"]);
    const [call, result] = written(`functions.${"x".repeat(64)}:0`).ids;
    expect(call).toMatch(/^[\w-]{40}$/);
    expect(result).toBe(call);
  });

  it("sends images and files of tool results after the results, and reports what it drops", () => {
    const { result, shown, dropped } = written("a", [PICTURE, FILE, DISTANT]);
    expect(result?.["content"]).toBe("[image]\n[file]\n[file]");
    expect(asList(shown?.["content"]).map((part) => asObject(part)?.["type"])).toEqual(["image_url", "file"]);
    expect(dropped).toEqual(["messages[].content[].file"]);
  });
});

describe("turns with nothing but thoughts", () => {
  const thoughts = [{ text: "Hm", signature: undefined }];
  const messages: HubMessage[] = [
    { role: "user", parts: [{ kind: "text", text: "hi" }] },
    { role: "assistant", parts: [{ kind: "text", text: "" }], thoughts, toolCalls: [] },
    { role: "user", parts: [{ kind: "text", text: "still there?" }] },
  ];
  const write = (keepsThoughts: boolean) =>
    chatBody({ model: "m", isStream: false, messages }, { keepsThoughts });

  it("are dropped and reported, since many vendors refuse a message without content", () => {
    const { body, dropped } = write(false);
    expect(asList(body["messages"]).map((message) => asObject(message)?.["role"])).toEqual(["user", "user"]);
    expect(dropped).toEqual(["messages[].reasoning_content"]);
  });

  it("are sent where the wire takes thoughts", () => {
    const { body, dropped } = write(true);
    expect(asList(body["messages"])[1]).toMatchObject({ role: "assistant", reasoning_content: "Hm" });
    expect(dropped).toEqual([]);
  });
});

describe("calls without an id", () => {
  const take = (seed: string) => {
    const call = { index: 0, function: { name: "f", arguments: "{}" } };
    const chunks = new ChatStream(undefined, seed).take(
      JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: [call] } }] }),
    );
    return "kind" in chunks ? expect.fail(chunks.message) : chunks.find(({ kind }) => kind === "tool");
  };

  it("get one that no other turn of the conversation has", () => {
    expect(take("abc")).toMatchObject({ id: "call_abcx0" });
    expect(take("def")).toMatchObject({ id: "call_defx0" });
  });
});
