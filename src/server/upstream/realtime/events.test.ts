import { describe, expect, it } from "vitest";
import { faultIn, heardTokens, readEvent, withFault, withModel } from "./events.ts";

describe("events with a price", () => {
  const second = Buffer.alloc(48_000).toString("base64");

  it.each([
    [{ type: "response.output_audio.delta", response_id: "r", delta: second }, 20, true],
    [{ type: "response.audio.delta", response_id: "r", delta: second }, 20, true],
    [{ type: "response.output_audio_transcript.delta", response_id: "r", delta: "abcdefgh" }, 2, false],
    [{ type: "response.function_call_arguments.delta", response_id: "r", delta: "{}" }, 1, false],
  ])("%s has the tokens of a second of audio, or of its text", (event, tokens, isAudio) => {
    expect(readEvent(event, false)).toEqual({ kind: "output", response: "r", tokens, isAudio });
  });

  it("recognizes narrow-band audio in both API versions", () => {
    const old = { type: "session.updated", session: { output_audio_format: "g711_ulaw" } };
    expect(readEvent(old, false)).toMatchObject({ kind: "session", isNarrow: true });
    const format = { type: "audio/pcma" };
    const audio = { output: { format }, input: { transcription: { model: "whisper-1" } } };
    const current = { type: "session.created", session: { audio } };
    expect(readEvent(current, false)).toEqual({ kind: "session", isNarrow: true, transcriber: "whisper-1" });
    const event = { type: "response.audio.delta", response_id: "r", delta: "A".repeat(10_668) };
    expect(readEvent(event, true)).toMatchObject({ tokens: 21 });
  });

  it("reads a done response with and without usage, and nothing in other events", () => {
    const usage = { input_tokens: 1 };
    expect(readEvent({ type: "response.done", response: { id: "r", usage } }, false)).toEqual({
      kind: "done",
      response: "r",
      usage,
      hasFailed: false,
    });
    expect(readEvent({ type: "response.done" }, false)).toEqual({
      kind: "done",
      response: "",
      usage: undefined,
      hasFailed: false,
    });
    expect(readEvent({ type: "rate_limits.updated", usage }, false)).toBeUndefined();
    expect(readEvent({ type: 7, delta: [] }, false)).toBeUndefined();
  });
});

it("a client's audio and text count by their length", () => {
  const append = { type: "input_audio_buffer.append", audio: Buffer.alloc(48_000).toString("base64") };
  const { tokens, isAudio } = heardTokens(Buffer.from(JSON.stringify(append)), false, false);
  expect({ tokens, isAudio }).toEqual({ tokens: 11, isAudio: true });
  expect(heardTokens(Buffer.from("12345678"), false, false)).toEqual({ tokens: 2, isAudio: false });
  expect(heardTokens(Buffer.alloc(64_000), true, false)).toEqual({ tokens: 10, isAudio: true });
});

describe("events that are changed", () => {
  it("a client's settings get the selected model's name", () => {
    const event = { type: "session.update", session: { model: "gpt-realtime", voice: "ash" } };
    const data = Buffer.from(JSON.stringify(event));
    expect(withModel(data, "gpt-realtime")).toBeUndefined();
    expect(JSON.parse(String(withModel(data, "up-1")))).toEqual({
      type: "session.update",
      session: { model: "up-1", voice: "ash" },
    });
    expect(
      withModel(Buffer.from('{"type":"session.update","session":{"voice":"ash"}}'), "m"),
    ).toBeUndefined();
    expect(withModel(Buffer.from('{"type":"response.create"}'), "m")).toBeUndefined();
  });

  it("errors contain neither account nor host", () => {
    const error = { message: "limit of org-abcdef12 at secret.host" };
    const shown = (event: object, secrets: readonly string[]) => {
      const fault = faultIn({ ...event }, secrets);
      return fault && String(withFault({ ...event }, fault, secrets));
    };
    expect(shown({ type: "error", error }, ["secret.host"])).not.toMatch(/abcdef|secret/);
    const response = { status: "failed", status_details: { type: "failed", error } };
    expect(shown({ type: "response.done", response }, [])).not.toContain("abcdef");
    // In the form of some compatible servers.
    expect(shown({ type: "error", ...error }, ["secret.host"])).toMatch(
      /"message":"limit of (?!.*(abcdef|secret))/,
    );
    expect(shown({ type: "error", error: error.message }, ["secret.host"])).not.toMatch(/abcdef|secret/);
    expect(shown({ type: "response.done", response: { usage: {} } }, [])).toBeUndefined();
  });

  it("a flat error tells nothing of the operator's account", () => {
    const event = { type: "error", event_id: "e", code: "insufficient_quota", message: "check your plan" };
    const fault = faultIn(event, []);
    expect(fault).toMatchObject({ upstreamStatus: 429, blame: "channel" });
    const told = fault && String(withFault(event, { ...fault, publicMessage: "busy" }, []));
    expect(JSON.parse(told ?? "")).toMatchObject({
      type: "error",
      event_id: "e",
      error: { message: "busy" },
    });
    expect(told).not.toContain("plan");
  });
});
