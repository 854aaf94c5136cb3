import { describe, expect, it } from "vitest";
import type { Quirks } from "#contract/providers.ts";
import { SseReader } from "#server/upstream/hub/sse.ts";
import { ChatStreamObserver, wholeAsEvents } from "./pass-through.ts";

function follow(quirks: Quirks | undefined, ...payloads: readonly unknown[]) {
  const observer = new ChatStreamObserver({
    endpoint: "chat",
    quirks,
    secrets: ["sk-secret"],
    hidesUsage: true,
  });
  const reader = new SseReader();
  const actions = payloads.map((payload) => {
    const text = typeof payload === "string" ? payload : JSON.stringify(payload);
    const [event] = reader.push(Buffer.from(`data: ${text}\n\n`));
    if (event === undefined) throw new Error("no event");
    const action = observer.take(event);
    return action instanceof Uint8Array ? JSON.parse(Buffer.from(action).toString().slice(6)) : action;
  });
  return { observer, actions };
}

const delta = (content: string) => ({ choices: [{ index: 0, delta: { content } }] });

describe("ChatStreamObserver", () => {
  it("passes chunks, hides our usage chunk and sees the end", () => {
    const usage = { prompt_tokens: 1 };
    const { observer, actions } = follow(undefined, delta("a"), { choices: [], usage }, "[DONE]");
    expect(actions).toEqual(["pass", "drop", "done"]);
    // The usage of a stream with a terminator is final, although the stream names no finish reason.
    expect(observer.isFinished).toBe(true);
    expect(observer.usage).toEqual(usage);
    expect(observer.output.text()).toBe("a");
  });

  it("keeps empty chunks, except for rows whose empty chunks crash clients", () => {
    const filter = { choices: [], prompt_filter_results: [] };
    expect(follow(undefined, filter).actions).toEqual(["pass"]);
    expect(follow({ dropsEmptyChunks: true }, filter, delta("a")).actions).toEqual(["drop", "pass"]);
  });

  it("finds usage where a row hides it", () => {
    const groq = follow(
      { usageIn: "x_groq.usage" },
      { choices: [{}], x_groq: { usage: { prompt_tokens: 3 } } },
    );
    expect(groq.observer.usage).toEqual({ prompt_tokens: 3 });
    const moonshot = follow({ usageIn: "choices[0].usage" }, { choices: [{ usage: { prompt_tokens: 4 } }] });
    expect(moonshot.observer.usage).toEqual({ prompt_tokens: 4 });
  });

  it("keeps the usage that comes with an error", () => {
    const usage = { prompt_tokens: 9, completion_tokens: 4 };
    const { observer } = follow(undefined, delta("a"), {
      error: { message: "x", code: 502 },
      choices: [],
      usage,
    });
    expect(observer.usage).toEqual(usage);
  });

  it("makes a chunk of a whole reply at the end, without its text", () => {
    const whole = {
      object: "chat.completion",
      choices: [{ index: 0, finish_reason: "stop", message: { content: "ab" } }],
      usage: { total_tokens: 9 },
      base_resp: { status_code: 0 },
    };
    const { actions, observer } = follow({ endsWithWholeReply: true }, delta("ab"), whole);
    expect(actions[1]).toMatchObject({
      object: "chat.completion.chunk",
      choices: [{ index: 0, finish_reason: "stop", delta: {} }],
      usage: { total_tokens: 9 },
    });
    expect(JSON.stringify(actions[1])).not.toContain('ab"');
    expect(observer.isFinished).toBe(true);
    // Without reported usage the observed text is charged.
    expect(observer.output.text()).toBe("ab");
  });

  it("recognizes errors with status 200 by the row's kind", () => {
    const minimax: Quirks = { errorIn200: "base-resp", faultStatus: { "1008": 402, "1002": 429 } };
    const refusal = (code: number) =>
      follow(minimax, { base_resp: { status_code: code, status_msg: "no sk-secret" } }).actions[0];
    expect(refusal(1008)).toMatchObject({ upstreamStatus: 402, blame: "credential", status: 502 });
    expect(refusal(1002)).toMatchObject({ upstreamStatus: 429, status: 429, publicMessage: "no ***" });
    expect(refusal(0)).toBe("pass");
    expect(
      follow({ errorIn200: "status-text" }, { code: 514, statusText: "unAuth", message: "x" }).actions[0],
    ).toMatchObject({ upstreamStatus: 514 });
    expect(follow(undefined, { error: { message: "x", code: 402 } }).actions[0]).toMatchObject({
      upstreamStatus: 402,
    });
    expect(follow(undefined, { error: null, choices: [] }).actions[0]).toBe("pass");
  });
});

describe("wholeAsEvents", () => {
  it("keeps everything a streaming client needs", () => {
    const reply = {
      id: "1",
      object: "chat.completion",
      choices: [{ index: 0, message: { role: "assistant", content: "x" }, finish_reason: "stop" }],
      usage: { total_tokens: 1 },
    };
    const events = (wants: boolean) =>
      Buffer.from(wholeAsEvents(reply, wants))
        .toString()
        .trim()
        .split("\n\n")
        .map((event) => JSON.parse(event.slice(6)));
    expect(events(false)).toEqual([
      {
        id: "1",
        object: "chat.completion.chunk",
        choices: [{ index: 0, delta: { role: "assistant", content: "x" }, finish_reason: "stop" }],
      },
    ]);
    expect(events(true)[1]).toMatchObject({ choices: [], usage: { total_tokens: 1 } });
  });
});
