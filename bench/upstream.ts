// An upstream that costs next to nothing: prepared bytes over node:net, an answer or a stream of 50 events, each event
// its own write in its own round of the event loop. Ends with the process that started it.
import { createServer, type Socket } from "node:net";
import { MessageReader } from "./http-reader.ts";
import {
  ANSWER_MARK,
  EVENTS,
  MODEL,
  monotonicUs,
  type Pace,
  paceOf,
  STAMP_DIGITS,
  STAMP_MARK,
} from "./wire.ts";

const USAGE = {
  prompt_tokens: 42,
  completion_tokens: 48,
  total_tokens: 90,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
};
const IDENTITY = { id: "chatcmpl-BenchBenchBenchBenchBench01", created: 1_790_000_000, model: MODEL };
const WORDS = [" the", " bridge", " and", " a", " driver", " pays", " for", " its", " upkeep", "."];
const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: ";
const STREAM_HEAD = Buffer.from(
  `${HEAD}text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n`,
);
const STREAM_END = Buffer.from("0\r\n\r\n");

const ANSWER = answer();
const PLAIN_STREAM = stream(false);
const USAGE_STREAM = stream(true);
const STAMPED = chunk(delta(STAMP_MARK + "0".repeat(STAMP_DIGITS))).toString();
const STAMP_AT = STAMPED.indexOf(STAMP_MARK) + STAMP_MARK.length;
const BEFORE_STAMP = STAMPED.slice(0, STAMP_AT);
const AFTER_STAMP = STAMPED.slice(STAMP_AT + STAMP_DIGITS);
const PACED_END = [usageEvent(), chunk("[DONE]"), STREAM_END];

function answer(): Buffer {
  const body = JSON.stringify({
    ...IDENTITY,
    object: "chat.completion",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: `${ANSWER_MARK}${WORDS.join("")}`, refusal: null },
        logprobs: null,
        finish_reason: "stop",
      },
    ],
    usage: USAGE,
    service_tier: "default",
  });
  return Buffer.from(`${HEAD}application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

function chunk(data: string): Buffer {
  const event = `data: ${data}\n\n`;
  return Buffer.from(`${Buffer.byteLength(event).toString(16)}\r\n${event}\r\n`);
}

function delta(content: string, finish: "stop" | null = null): string {
  const choice = { index: 0, delta: { content }, logprobs: null, finish_reason: finish };
  return JSON.stringify({ ...IDENTITY, object: "chat.completion.chunk", choices: [choice], usage: null });
}

function usageEvent(): Buffer {
  return chunk(JSON.stringify({ ...IDENTITY, object: "chat.completion.chunk", choices: [], usage: USAGE }));
}

function stampedEvent(): string {
  return BEFORE_STAMP + String(monotonicUs()).padStart(STAMP_DIGITS, "0") + AFTER_STAMP;
}

/** The events of a stream: 50 with usage, 49 without. */
function stream(withUsage: boolean): Buffer[] {
  const contents = EVENTS - 2;
  const events = Array.from({ length: contents }, (_, at) =>
    chunk(delta(WORDS[at % WORDS.length] ?? "", at === contents - 1 ? "stop" : null)),
  );
  return [...events, ...(withUsage ? [usageEvent()] : []), chunk("[DONE]")];
}

function sendStream(socket: Socket, events: readonly Buffer[]): void {
  socket.write(STREAM_HEAD);
  let at = 0;
  const next = () => {
    if (socket.destroyed) return;
    const event = events[at++];
    socket.write(event ?? STREAM_END);
    if (event !== undefined) setImmediate(next);
  };
  setImmediate(next);
}

/** One event per beat, each with the time it was sent; the clock, not the last event, says when the next is due. */
function sendPaced(socket: Socket, { events, everyMs }: Pace): void {
  socket.write(STREAM_HEAD);
  const start = performance.now();
  let sent = 0;
  const next = () => {
    if (socket.destroyed) return;
    const end = PACED_END[sent - events];
    socket.write(end ?? stampedEvent());
    if (end === STREAM_END) return;
    sent += 1;
    setTimeout(next, Math.max(0, start + sent * everyMs - performance.now()));
  };
  next();
}

function reply(socket: Socket, body: Buffer): void {
  if (!body.includes('"stream":true')) {
    socket.write(ANSWER);
    return;
  }
  const pace = paceOf(body.toString());
  if (pace) sendPaced(socket, pace);
  else sendStream(socket, body.includes('"include_usage":true') ? USAGE_STREAM : PLAIN_STREAM);
}

function serve(socket: Socket): void {
  let pieces: Buffer[] = [];
  const reader = new MessageReader({
    onHead: () => {
      pieces = [];
    },
    onBody: (piece) => pieces.push(piece),
    onEnd: () => {
      const [first] = pieces;
      reply(socket, pieces.length === 1 && first ? first : Buffer.concat(pieces));
    },
  });
  socket.setNoDelay(true);
  // The other side ends connections as it likes.
  socket.on("error", () => socket.destroy());
  socket.on("data", (data: Buffer) => reader.push(data));
}

const server = createServer(serve);
server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => {
  const address = server.address();
  if (address !== null && typeof address === "object") process.send?.({ port: address.port });
});
process.on("disconnect", () => process.exit(0));
