// The events of a response that an upstream makes in the background: of a new one, or of one that is followed again (vendors/responses-stored).
// They pass unchanged, also those of a failure; the last one is held back, so that what it costs is booked before its client reads it.

import { type AttemptLimits, limitsFor, watchTime } from "#server/upstream/call/attempt.ts";
import type { StreamReply, Trace, UpstreamTarget, WholeReply } from "#server/upstream/call/call.ts";
import { type About, answerFault, outgoing } from "#server/upstream/call/outgoing.ts";
import { Receiver } from "#server/upstream/call/receive.ts";
import type { Cancellation } from "#server/upstream/cancellation.ts";
import {
  networkFault,
  type RelayFault,
  type UpstreamError,
  unreadableFault,
} from "#server/upstream/errors/fault.ts";
import { canaryOf } from "#server/upstream/errors/mask.ts";
import { parseObject } from "#server/upstream/handlers/classify.ts";
import { EventStreamHandler } from "#server/upstream/handlers/events.ts";
import type {
  EventAction,
  ResponseHandler,
  StreamObserver,
  Whole,
} from "#server/upstream/handlers/handler.ts";
import type { SseEvent } from "#server/upstream/hub/sse.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import { UsageObserver } from "#server/upstream/usage.ts";
import { type TaskCallTools, taskDraft } from "#server/upstream/video/call.ts";
import type { VideoRequest } from "#server/upstream/video/wire.ts";

/** Is told of a response whenever an event has it. */
export type Hear = (response: JsonRecord, isEnd: boolean) => void;

export interface Streaming {
  readonly request: VideoRequest;
  readonly about: About;
  /** Those of all; the upstream's own come before them. */
  readonly limits: AttemptLimits;
  readonly trace: Trace;
  hear: Hear;
  /** Absent = what was begun is waited for. */
  readonly cancellation?: Cancellation;
}

/** `isUnsure` = the upstream may have done it all the same. */
export interface NoStream {
  readonly kind: "failed";
  readonly fault: RelayFault;
  readonly isUnsure: boolean;
}

/** Asks. Resolves with its events, or with the response as a whole where the upstream does not stream. Never throws. */
export async function streamStored(
  tools: TaskCallTools,
  target: UpstreamTarget,
  { request, about, limits: ofAll, trace, hear, cancellation }: Streaming,
): Promise<StreamReply | WholeReply | NoStream> {
  const draft = taskDraft(target, request, ["accept", "text/event-stream"]);
  const ready = await outgoing(tools, target, draft, about);
  if (ready.kind === "fault") return { kind: "failed", fault: ready, isUnsure: false };
  const { secrets, headers, body } = ready;
  const url = new URL(ready.url);
  const limits = limitsFor(ofAll, target.times);
  const { firstByteMs, idleMs, totalMs, streamMs } = limits;
  return new Promise((resolve) => {
    const receiver = new Receiver({
      handler: new StoredHandler({ quirks: undefined, hear, target }),
      dropped: [],
      secrets: [...secrets, url.host],
      credentials: secrets.filter((secret) => secret.length >= SECRET_LENGTH).map(canaryOf),
      ...{ isStream: true, totalMs, firstEventMs: firstByteMs, streamMs, trace, now: tools.now },
      deliver(result) {
        if (result.kind !== "fault") resolve(result);
        else {
          const isRefused = result.upstreamStatus >= 400 && result.upstreamStatus < 500;
          resolve({ kind: "failed", fault: result, isUnsure: flow.isSent && !isRefused });
        }
      },
    });
    const flow = tools.egress.send(
      {
        method: request.method,
        origin: url.origin,
        path: url.pathname + url.search,
        headers,
        body,
        headersTimeoutMs: firstByteMs,
        idleTimeoutMs: idleMs,
        route: target.route,
      },
      receiver,
    );
    receiver.attach(flow);
    watchTime(receiver, limits, target.times);
    cancellation?.watch(() => {
      receiver.abort();
      resolve({ kind: "failed", fault: networkFault({ code: "aborted", detail: "" }), isUnsure: true });
    });
  });
}

/** Shorter ones could be words of an answer. */
const SECRET_LENGTH = 8;

interface Options {
  readonly quirks: undefined;
  readonly hear: Hear;
  readonly target: UpstreamTarget;
}

class StoredHandler extends EventStreamHandler<Options> implements ResponseHandler {
  observer(): StreamObserver {
    return new StoredObserver(this.options.hear);
  }

  whole(body: Buffer): Whole | RelayFault {
    const response = parseObject(body);
    if (response === undefined) return unreadableFault("no JSON object", 200);
    this.options.hear(response, ENDS.has(response["status"]));
    return { kind: "body", body, usage: undefined, text: () => "" };
  }

  wholeAsStream(body: Buffer): Whole | RelayFault {
    return this.whole(body);
  }

  fault(error: UpstreamError): RelayFault {
    return answerFault(this.options.target, error);
  }
}

const RESPONSE = Buffer.from('"response"');
const ENDS: ReadonlySet<unknown> = new Set(["completed", "incomplete", "failed", "cancelled"]);
const NOTHING = new Uint8Array();

class StoredObserver implements StreamObserver {
  readonly output = new UsageObserver();
  readonly usage = undefined;
  isFinished = false;
  events = 0;
  readonly #hear: Hear;
  #last: Uint8Array = NOTHING;

  constructor(hear: Hear) {
    this.#hear = hear;
  }

  take({ bytes, start, end, data, dataStart, dataEnd }: SseEvent): EventAction {
    if (dataStart < 0) return "pass";
    this.events += 1;
    const payload = data.subarray(dataStart, dataEnd);
    if (!Buffer.from(payload.buffer, payload.byteOffset, payload.length).includes(RESPONSE)) return "pass";
    const response = asObject(parseObject(payload)?.["response"]);
    if (response === undefined) return "pass";
    const isEnd = ENDS.has(response["status"]);
    this.#hear(response, isEnd);
    if (!isEnd) return "pass";
    this.isFinished = true;
    this.#last = bytes.slice(start, end);
    return "done";
  }

  tail(): Uint8Array {
    return this.#last;
  }
}
