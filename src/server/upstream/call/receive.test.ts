// A programming error while a response is read ends the call at once, and only the operator is told of it.
import { describe, expect, it } from "vitest";
import type { ResponseHandler, StreamObserver } from "#server/upstream/handlers/handler.ts";
import { PassThroughHandler } from "#server/upstream/handlers/pass-through.ts";
import { SseReader } from "#server/upstream/hub/sse.ts";
import { UsageObserver } from "#server/upstream/usage.ts";
import type { Result } from "./call.ts";
import { Receiver } from "./receive.ts";

const broken = (): never => {
  throw new TypeError("cannot read x of undefined");
};

function receive(handler: Partial<ResponseHandler>): {
  receiver: Receiver;
  results: Result[];
  aborts: number[];
} {
  const results: Result[] = [];
  const aborts: number[] = [];
  const receiver = new Receiver({
    handler: {
      quirks: undefined,
      onlyStreams: false,
      isStreamType: (type) => type === "text/event-stream",
      reader: () => new SseReader(),
      observer: broken,
      whole: broken,
      wholeAsStream: broken,
      fault: broken,
      ...handler,
    },
    dropped: [],
    secrets: [],
    credentials: [],
    isStream: true,
    totalMs: 0,
    firstEventMs: 0,
    streamMs: 0,
    now: () => 0,
    trace: { firstByteMs: 0, isSent: false },
    deliver: (result) => void results.push(result),
  });
  receiver.attach({
    isSent: true,
    pause: () => undefined,
    resume: () => undefined,
    abort: () => void aborts.push(1),
  });
  return { receiver, results, aborts };
}

const FAULT = { kind: "fault", status: 500, code: "internal_error", retry: false, blame: "none" };

describe("programming errors", () => {
  it("end a call whose events cannot be read", () => {
    const observer: StreamObserver = {
      output: new UsageObserver(),
      usage: undefined,
      isFinished: false,
      events: 0,
      take: broken,
      tail: () => new Uint8Array(0),
    };
    const { receiver, results, aborts } = receive({ observer: () => observer });
    receiver.onStart(200, { "content-type": "text/event-stream" });
    receiver.onData(Buffer.from("data: {}\n\n"));
    expect(results).toMatchObject([FAULT]);
    expect(aborts.length).toBe(1);
  });

  it.each([200, 400])("end a call whose whole answer with status %i cannot be read", (status) => {
    const { receiver, results } = receive({});
    receiver.onStart(status, { "content-type": "application/json" });
    receiver.onData(Buffer.from("{}"));
    receiver.onEnd();
    expect(results).toMatchObject([FAULT]);
  });

  it("end a call whose error cannot be read when the connection breaks off", () => {
    const { receiver, results } = receive({});
    receiver.onStart(400, { "content-type": "application/json" });
    receiver.onData(Buffer.from("{"));
    receiver.onFault({ code: "reset", detail: "" });
    expect(results).toMatchObject([FAULT]);
  });
});

describe("the bytes before the first event of a stream", () => {
  const COMMENT = Buffer.from(`: ${"x".repeat(1_000)}\n\n`);
  const EVENT = 'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n';

  it("are kept up to a limit", () => {
    const handler = new PassThroughHandler({
      endpoint: "chat",
      quirks: undefined,
      secrets: [],
      hidesUsage: true,
    });
    const { receiver, results } = receive({ observer: () => handler.observer() });
    receiver.onStart(200, { "content-type": "text/event-stream" });
    for (let count = 0; count < 1_000; count += 1) receiver.onData(COMMENT);
    expect(results).toEqual([]);
    receiver.onData(Buffer.from(EVENT));
    expect(results).toEqual([receiver]);
    const heard: Uint8Array[] = [];
    receiver.listen({ onBytes: (bytes) => void heard.push(bytes), onEnd: () => undefined });
    const text = Buffer.concat(heard).toString();
    expect(text.length).toBeLessThan(66_000);
    expect(text.endsWith(EVENT)).toBe(true);
  });
});
