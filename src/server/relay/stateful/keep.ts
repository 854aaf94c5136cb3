// Notes which channel and key made a response that its upstream keeps, before the client can ask for it: ahead of the end of a whole answer,
// and while a stream runs.
import type { LiveChannel } from "#server/channels/live-channel.ts";
import type { Context } from "#server/context.ts";
import type { Caller } from "#server/relay/admission/admit.ts";
import { insertStoredResponse } from "#server/store/stored-responses.ts";
import type { StreamListener, StreamReply, WholeReply } from "#server/upstream/call/call.ts";
import { parseObject } from "#server/upstream/handlers/classify.ts";
import { asObject } from "#server/upstream/json/values.ts";

/** How long OpenAI keeps a response. Unit: seconds. */
const KEPT_SEC = 30 * 86_400;
/** The first events of a stream name its response; longer no text of them is looked at. */
const MOST_LOOKED_AT = 64 * 1024;
const LONGEST_ID = 256;

export interface Made {
  readonly caller: Caller;
  readonly channel: LiveChannel;
  readonly model: string;
}

type Parts = Pick<Context, "db" | "clock">;

/** Notes a response by its object; one that is not kept is not noted. */
export async function keepResponse({ db, clock }: Parts, made: Made, object: unknown): Promise<void> {
  const response = asObject(object);
  const id = response?.["id"];
  if (response?.["store"] !== true || typeof id !== "string" || id === "" || id.length > LONGEST_ID) return;
  await noteMade({ db, clock }, made, id);
}

/** Notes who made something that an upstream keeps, or that it alone can read. */
export async function noteMade(
  { db, clock }: Parts,
  { caller, channel, model }: Made,
  response_id: string,
): Promise<void> {
  await insertStoredResponse(db, {
    response_id,
    user_id: caller.userId,
    payer_id: caller.payerId,
    channel_id: channel.id,
    key_id: channel.keyId,
    model,
    expires_at: clock.seconds() + KEPT_SEC,
  });
}

/** The answer, of which the response is noted, and when that is done. */
export interface Kept<Reply> {
  readonly reply: Reply;
  done(): Promise<void>;
}

export function keepReply(
  parts: Parts,
  made: Made,
  reply: WholeReply | StreamReply,
): Kept<WholeReply | StreamReply> {
  if (reply.kind === "whole") {
    const noted = keepResponse(parts, made, parseObject(reply.body));
    return { reply, done: () => noted };
  }
  let noted = Promise.resolve();
  const overheard = new Overheard(reply, (object) => {
    noted = keepResponse(parts, made, object);
    // Told where it is awaited.
    noted.catch(() => undefined);
  });
  return { reply: overheard, done: () => noted };
}

/** A stream whose first event with a response is looked at on its way. */
class Overheard implements StreamReply {
  readonly kind = "stream";
  readonly #stream: StreamReply;
  readonly #hear: (object: unknown) => void;
  /** undefined = nothing more is looked for. */
  #text: string | undefined = "";

  constructor(stream: StreamReply, hear: (object: unknown) => void) {
    this.#stream = stream;
    this.#hear = hear;
  }

  get headers() {
    return this.#stream.headers;
  }
  get output() {
    return this.#stream.output;
  }
  get isFinished() {
    return this.#stream.isFinished;
  }
  get usage() {
    return this.#stream.usage;
  }
  get quirks() {
    return this.#stream.quirks;
  }
  get secrets() {
    return this.#stream.secrets;
  }
  get dropped() {
    return this.#stream.dropped;
  }
  text(): string {
    return this.#stream.text();
  }
  tail(): Uint8Array {
    return this.#stream.tail();
  }
  pause(): void {
    this.#stream.pause();
  }
  resume(): void {
    this.#stream.resume();
  }
  abort(): void {
    this.#stream.abort();
  }

  listen(listener: StreamListener): void {
    this.#stream.listen({
      onBytes: (bytes) => {
        if (this.#text !== undefined) this.#look(bytes);
        listener.onBytes(bytes);
      },
      onEnd: (fault) => listener.onEnd(fault),
    });
  }

  #look(bytes: Uint8Array): void {
    const text = (this.#text ?? "") + Buffer.from(bytes).toString();
    const [, data] = /^data: ?(\{.*"response".*\})\r?$/m.exec(text) ?? [];
    const response = data === undefined ? undefined : parseObject(Buffer.from(data))?.["response"];
    this.#text = response !== undefined || text.length > MOST_LOOKED_AT ? undefined : text;
    if (response !== undefined) this.#hear(response);
  }
}
