// Requests to OpenAI's Responses: outputs have the type of their calls, errors of tools are sent even with media.
import { describe, expect, it } from "vitest";
import type { HubMessage, HubPart, HubToolCall } from "#server/upstream/hub/request.ts";
import { responsesBody } from "./responses-request.ts";

const PICTURE: HubPart = { kind: "image", source: { kind: "data", mime: "image/png", base64: "AA==" } };

function turn(call: HubToolCall, parts: readonly HubPart[], isError = false): HubMessage[] {
  return [
    { role: "assistant", parts: [], thoughts: [], toolCalls: [call] },
    { role: "tool", callId: call.id, name: call.name, parts, isError },
  ];
}

function inputOf(messages: readonly HubMessage[]): unknown {
  return responsesBody({ model: "m", isStream: false, messages }).body["input"];
}

describe("a history of calls", () => {
  it("answers custom tools with their own type of output", () => {
    const said: HubPart[] = [{ kind: "text", text: "done" }];
    const messages = [
      ...turn({ id: "a", name: "patch", arguments: "*** Begin", isCustom: true }, said),
      ...turn({ id: "b", name: "f", arguments: "{}" }, said),
    ];
    expect(inputOf(messages)).toEqual([
      { type: "custom_tool_call", call_id: "a", name: "patch", input: "*** Begin" },
      { type: "custom_tool_call_output", call_id: "a", output: "done" },
      { type: "function_call", call_id: "b", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "b", output: "done" },
    ]);
  });

  it("reports that a tool failed, even if its result has an image", () => {
    const messages = turn({ id: "a", name: "f", arguments: "{}" }, [PICTURE], true);
    expect(inputOf(messages)).toMatchObject([
      {},
      { output: [{ type: "input_text", text: "Error:" }, { type: "input_image" }] },
    ]);
  });

  it("shortens ids that OpenAI refuses, in calls and outputs", () => {
    const messages = turn({ id: `functions.${"x".repeat(64)}:0`, name: "f", arguments: "{}" }, []);
    const text = JSON.stringify(inputOf(messages));
    const ids = [...text.matchAll(/"call_id":"([^"]*)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(1);
    expect(ids[0]).toMatch(/^[\w-]{64}$/);
  });
});
