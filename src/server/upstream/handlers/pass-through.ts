// The handler of OpenAI's own wire: bodies and events pass through and are only observed.
import type { Quirks } from "#contract/providers.ts";
import {
  type RelayFault,
  statusFault,
  type UpstreamError,
  unreadableFault,
} from "#server/upstream/errors/fault.ts";
import type { SseEvent } from "#server/upstream/hub/sse.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import { findUsage } from "#server/upstream/usage.ts";
import { ChatStreamObserver, type ChatStreamOptions, wholeAsEvents } from "./chat-stream.ts";
import { judgeReply, parseObject, readReply } from "./classify.ts";
import { EventStreamHandler } from "./events.ts";
import { errorAtFirst } from "./first-event.ts";
import type { ResponseHandler, StreamObserver, Whole } from "./handler.ts";
import { tidied } from "./normalize.ts";
import { UsageObserver } from "./usage-observer.ts";

export class PassThroughHandler extends EventStreamHandler<ChatStreamOptions> implements ResponseHandler {
  observer(): StreamObserver {
    return new ChatStreamObserver(this.options);
  }

  whole(body: Buffer): Whole | RelayFault {
    const { quirks } = this.options;
    // The body is parsed completely only if a quirk concerns the choices.
    const isAll =
      quirks?.usageIn === "choices[0].usage" ||
      quirks?.ownWords === true ||
      quirks?.answerEvents !== undefined;
    const reply = isAll ? parseObject(body) : readReply(body);
    const fault = judgeReply(reply, this.options);
    if (fault !== undefined || reply === undefined) return fault ?? unreadableFault("no JSON object", 200);
    const plain = tidied(reply, quirks);
    const bytes = plain === undefined ? body : Buffer.from(JSON.stringify(plain));
    return {
      kind: "body",
      body: bytes,
      usage: findUsage(reply, quirks),
      text: () => textIn(answerOf(bytes, reply, quirks)),
    };
  }

  wholeAsStream(body: Buffer): { observer: StreamObserver; bytes: Uint8Array } | RelayFault {
    const reply = parseObject(body);
    const fault = judgeReply(reply, this.options);
    if (fault !== undefined || reply === undefined) return fault ?? unreadableFault("no JSON object", 200);
    const observer = new ChatStreamObserver(this.options);
    observer.usage = findUsage(reply, this.options.quirks);
    observer.output.scan(body, 0, body.length);
    const plain = tidied(reply, this.options.quirks) ?? reply;
    return { observer, bytes: wholeAsEvents(plain, !this.options.hidesUsage) };
  }

  first(event: SseEvent): RelayFault | undefined {
    const { endpoint, secrets } = this.options;
    const error = errorAtFirst(event, endpoint === "completions" ? endpoint : "chat");
    return error && this.fault({ ...error, secrets });
  }

  fault(error: UpstreamError): RelayFault {
    return statusFault(error);
  }
}

/** The generated part of a whole reply. */
function answerOf(body: Buffer, { choices }: JsonRecord, quirks: Quirks | undefined): Buffer {
  return quirks?.answerEvents === undefined ? body : Buffer.from(JSON.stringify({ choices }));
}

/** The generated text of a whole reply on OpenAI's wire. */
function textIn(body: Buffer): string {
  const observer = new UsageObserver();
  observer.scan(body, 0, body.length);
  return observer.text();
}
