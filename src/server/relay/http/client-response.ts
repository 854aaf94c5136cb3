// Answers to the client: bodies, streams with back-pressure, the signal that the client has left, the limit for one that does not read,
// and the set of those in flight. Knows no provider, no money.

import type { ReplyHeaders } from "#server/egress/send.ts";
import { unknownPathError } from "#server/errors.ts";
import type { StreamReply, WholeReply } from "#server/upstream/call/call.ts";
import { Cancellation } from "#server/upstream/cancellation.ts";
import { networkFault, type RelayFault } from "#server/upstream/errors/fault.ts";
import { redact } from "#server/upstream/errors/redact.ts";
import { type ErrorFormat, errorFormats } from "./error-format.ts";
import type { RelayRequest, RelayResponse } from "./exchange.ts";
import { toldIn } from "./fault-language.ts";
import type { LimitHead } from "./limit-head.ts";

/** Response headers of upstreams that clients may see (requirements T1.3, R15). */
const PASSED = new Set(["x-request-id", "request-id", "retry-after", "openai-processing-ms"]);

/** The header that names the hints of a request that its upstream did not get. */
const DROPPED = "x-tollgate-dropped";

const STREAM_HEADERS = ["cache-control", "no-cache", "x-accel-buffering", "no"] as const;

function ignore(): void {
  // Nothing is left to do.
}

export class ClientResponse {
  /** The one signal that ends the request: the client left (`hasLeft`), the process ends, or a time limit passed (`cutBy`). */
  readonly gone = new Cancellation();
  readonly requestId: string;
  /** Status sent; 0 = nothing yet. */
  status = 0;
  /** Why we ended the request ourselves; undefined = we did not. */
  cutBy: RelayFault | undefined;
  /** The error format of the client. */
  errorFormat: ErrorFormat = errorFormats.openai;
  /** What the person reads whose call it is, zh or en; "" = he chose none, and the client's headers say. */
  language = "";
  /** The deadline of a call that is no stream; 0 = none. Unit: ms since 1970. */
  deadlineMs = 0;
  /** A stream whose keep-alive may begin before its upstream has sent anything. */
  mayOpenEarly = false;
  /** What is left of the caller's limits; undefined = there are none. */
  limitHead: LimitHead | undefined;
  readonly #req: RelayRequest;
  readonly #res: RelayResponse;
  /** The head of a stream and its first piece were written. */
  #hasBegun = false;
  /** Nothing was written since the last pulse. */
  #isQuiet = false;
  #isStreaming = false;
  /** The stream is sound, which cannot carry an error event. */
  #isSound = false;
  readonly #stallMs: number;

  constructor(req: RelayRequest, res: RelayResponse, requestId: string, stallMs: number = STALL_MS) {
    this.#req = req;
    this.#res = res;
    this.requestId = requestId;
    this.#stallMs = stallMs;
    res.on("close", () => {
      if (!res.writableFinished) this.gone.cancel();
    });
    // Bytes written to a client that has just left are lost; `close` reports that it left.
    res.on("error", ignore);
  }

  /** The client has left. */
  get hasLeft(): boolean {
    return this.gone.isCancelled && this.cutBy === undefined;
  }

  /** Ends the request from our side: the upstream is aborted, and the client still gets an error. */
  cut(fault: RelayFault): void {
    if (this.gone.isCancelled) return;
    this.cutBy = fault;
    this.gone.cancel();
  }

  /** Ends the call from our side if its time is over: the upstream is aborted, and the client gets an error. */
  checkTime(nowMs: number): void {
    if (this.deadlineMs === 0 || nowMs < this.deadlineMs || this.gone.isCancelled) return;
    this.cutBy = networkFault({ code: "timeout", detail: "RELAY_TIMEOUT" });
    this.gone.expire();
  }

  /** A whole upstream reply. */
  sendReply({ headers, body, secrets, dropped }: WholeReply): void {
    if (this.gone.isCancelled) return;
    const head = this.#sizedHead(contentTypeOf(headers) ?? "application/json", body);
    tellDropped(head, dropped);
    passHeaders(head, headers, secrets);
    this.#writeHead(200, head);
    this.#res.end(body);
    this.#limitRest();
  }

  /** Our own JSON. */
  sendJson(status: number, value: unknown): void {
    this.#sendJson(status, value, []);
  }

  sendUnknownPath(path: string): void {
    this.sendJson(404, unknownPathError(this.#req.method ?? "", path));
  }

  /** The path is for WebSockets only (RFC 9110 15.5.22). */
  sendUpgradeRequired(fault: RelayFault): void {
    this.#sendJson(fault.status, this.errorFormat.body(fault, this.requestId), ["upgrade", "websocket"]);
  }

  /** Answers a CORS preflight: any origin may call, no credentials travel (requirements W1.4, Z09). */
  sendPreflight(): void {
    this.#writeHead(204, [
      "access-control-allow-origin",
      "*",
      "access-control-allow-methods",
      "GET, POST, DELETE, OPTIONS",
      "access-control-allow-headers",
      "*, authorization",
      "access-control-max-age",
      "86400",
    ]);
    this.#res.end();
  }

  /**
   * A fault: as an error body, or once a stream runs as its last event, without the terminator (requirements R10). Sound is cut with a
   * reset, so that no client takes it for complete.
   */
  sendFault(given: RelayFault): void {
    if (this.hasLeft || this.#res.writableEnded) return;
    const fault = toldIn(given, this.language, this.#req.headers);
    if (this.#isSound) {
      // A reset: for some clients any other end of the connection ends the answer (HTTP/1.0).
      this.#res.socket?.resetAndDestroy();
      this.#res.destroy();
      return;
    }
    if (this.status === 0 && this.errorFormat.isEvent?.(fault) === true) this.#openEvents();
    if (this.status !== 0) {
      this.#res.end(this.errorFormat.lastEvent(fault, this.requestId));
      this.#limitRest();
      return;
    }
    const retryAfterSec = Math.ceil(fault.retryAfterMs / 1000);
    const more = retryAfterSec > 0 ? ["retry-after", String(retryAfterSec)] : [];
    // The SDKs of both go by it, and so need not wait for a whole second.
    if (fault.status === 429 && retryAfterSec > 0 && fault.retryAfterMs < 60_000)
      more.push("retry-after-ms", String(Math.ceil(fault.retryAfterMs)));
    // The SDKs of OpenAI and Anthropic obey this header before any status.
    if (fault.isFinal === true) more.push("x-should-retry", "false");
    this.#sendJson(this.errorFormat.status(fault), this.errorFormat.body(fault, this.requestId), more);
  }

  /** Begins an event stream, unless a keep-alive did so. */
  openStream({ headers, secrets, dropped }: StreamReply, isArray: boolean): void {
    this.#isStreaming = true;
    if (this.status !== 0) return;
    const plainType = isArray ? "application/json" : contentTypeOf(headers);
    this.#isSound = !isArray && plainType !== undefined;
    const head = this.#head(plainType ?? "text/event-stream");
    head.push(...STREAM_HEADERS);
    tellDropped(head, dropped);
    passHeaders(head, headers, secrets);
    this.#writeHead(200, head);
  }

  /** Begins a body of bytes that no error can be added to: what breaks it off cuts it. `head`: names and values in turn. */
  openBody(status: number, head: readonly string[]): void {
    this.#isSound = true;
    const [, type = ""] = head;
    this.#writeHead(status, [...this.#head(type), ...head.slice(2), "cache-control", "private, no-store"]);
  }

  /** Called at intervals: a stream that was silent since the last call sends a keep-alive (vendors/claude-code). */
  keepAlive(): void {
    const wasQuiet = this.#isQuiet;
    this.#isQuiet = true;
    if (!wasQuiet || this.gone.isCancelled || this.#res.writableEnded || this.#res.writableNeedDrain) return;
    if (this.status === 0 && this.mayOpenEarly) this.#openEvents();
    if (this.#isStreaming && !this.#isSound && this.errorFormat.ping !== "")
      this.#res.write(this.errorFormat.ping);
  }

  #openEvents(): void {
    this.#isStreaming = true;
    this.#writeHead(200, [...this.#head("text/event-stream"), ...STREAM_HEADERS]);
  }

  /** Ends a stream that is complete with its last bytes. */
  closeStream(tail: Uint8Array): void {
    if (this.hasLeft) return;
    this.#res.end(tail);
    this.#limitRest();
  }

  /** Resolves when the client has read all of an ended answer, or is cut off; undefined = it has. */
  taken(): Promise<void> | undefined {
    if (this.gone.isCancelled || this.#res.writableLength === 0) return undefined;
    return new Promise((resolve) => {
      this.#res.once("close", resolve);
      this.gone.watch(resolve);
    });
  }

  /** Writes a piece of a stream. Returns whether the client keeps up. */
  write(bytes: Uint8Array): boolean {
    this.#isQuiet = false;
    const { socket } = this.#res;
    // The head goes out with the first piece.
    if (this.#hasBegun && socket && this.#isDirect(socket, bytes.length)) return socket.write(chunkOf(bytes));
    this.#hasBegun = true;
    return this.#res.write(bytes);
  }

  /** Whether so many bytes may go to the socket past the response: it holds nothing back, and no drain will be waited for. */
  #isDirect(socket: NonNullable<RelayResponse["socket"]>, size: number): boolean {
    const isFree = this.#res.chunkedEncoding && socket.writableCorked === 0;
    return isFree && size > 0 && socket.writableLength + size + FRAME_BYTES < socket.writableHighWaterMark;
  }

  /** Calls back once when the client has read what was written; until then it may not stall for too long. */
  onDrain(listener: () => void): void {
    limitStall(this.#res, this.#stallMs);
    this.#res.once("drain", listener);
  }

  /** Calls back once when the answer is over, however it ends. */
  onOver(listener: () => void): void {
    this.#res.once("close", listener);
  }

  /** The connection ends with the answer; its header says so unless the answer has begun. */
  endConnection(): void {
    if (!this.#res.headersSent) this.#res.shouldKeepAlive = false;
  }

  /** Cuts the client off. */
  hangUp(): void {
    this.#res.destroy();
    this.gone.cancel();
  }

  /** The unread rest of an ended answer waits for the client only so long. Mostly there is none. */
  #limitRest(): void {
    if (this.#res.writableLength > 0) limitStall(this.#res, this.#stallMs);
  }

  /** Throws: Error for a value that no header can hold; then nothing was sent, and a fault still can be. */
  #writeHead(status: number, head: string[]): void {
    this.#res.writeHead(status, head);
    this.status = status;
  }

  #head(contentType: string): string[] {
    const head = [
      "content-type",
      contentType,
      "x-oneapi-request-id",
      this.requestId,
      "access-control-allow-origin",
      "*",
      // Without it scripts in browsers could read neither the id nor `Retry-After`.
      "access-control-expose-headers",
      "*",
    ];
    if (this.limitHead !== undefined) head.push(...this.limitHead.headers(this.errorFormat.rateNames));
    return head;
  }

  /** The headers of a whole answer. */
  #sizedHead(contentType: string, { length }: Buffer): string[] {
    const head = this.#head(contentType);
    head.push("content-length", String(length));
    return head;
  }

  #sendJson(status: number, value: unknown, more: readonly string[]): void {
    const body = Buffer.from(JSON.stringify(value));
    const head = [...this.#sizedHead("application/json; charset=utf-8", body), ...more];
    this.#writeHead(status, head);
    this.#res.end(body);
    this.#limitRest();
  }
}

/** Room for a chunk's length and its two line ends. */
const FRAME_BYTES = 12;

/**
 * One chunk of the chunked transfer coding (RFC 9112 7.1) as one buffer: node:http hands four to the system for each, which was a fifth
 * of what an event costs.
 */
function chunkOf(bytes: Uint8Array): Buffer {
  const head = `${bytes.length.toString(16)}\r\n`;
  const chunk = Buffer.allocUnsafe(head.length + bytes.length + 2);
  chunk.write(head, "latin1");
  chunk.set(bytes, head.length);
  chunk[chunk.length - 2] = 0x0d;
  chunk[chunk.length - 1] = 0x0a;
  return chunk;
}

/** Types of answers that are neither JSON nor events: sound, subtitles, plain text. No type that a browser would run. */
const PLAIN_TYPE =
  /^(audio\/[\w.+-]+|video\/mp4|text\/(plain|vtt|srt)|application\/(x-subrip|octet-stream))\s*(;.*)?$/i;

function contentTypeOf(headers: ReplyHeaders): string | undefined {
  const type = headers["content-type"];
  return typeof type === "string" && PLAIN_TYPE.test(type) ? type : undefined;
}

/** Names of hints that a header can hold as they are; clients can send any name. */
const PLAIN_NAME = /^[\w.$[\]-]{1,64}$/;
const MOST_NAMES = 20;

/** Adds the names of dropped hints. */
function tellDropped(head: string[], dropped: readonly string[]): void {
  if (dropped.length === 0) return;
  const names = dropped.filter((name) => PLAIN_NAME.test(name)).slice(0, MOST_NAMES);
  if (names.length > 0) head.push(DROPPED, names.join(", "));
}

/** Adds the upstream's headers that clients may see, without secrets. */
function passHeaders(head: string[], headers: ReplyHeaders, secrets: readonly string[]): void {
  for (const name in headers) {
    // Not those about rates: they are the operator's account's.
    const value = PASSED.has(name) ? headers[name] : undefined;
    if (typeof value === "string") head.push(name, redact(value, secrets));
  }
}

/** A client that reads nothing is cut off within this time (requirements R03). */
export const STALL_MS = 120_000;
/** Node checks so often whether anything was sent; bytes that the system took at once count at the first check. */
const LOOKS = 2;

/** From now on, until its answer is sent, a client that reads nothing is cut off. Unit: ms. */
export function limitStall(res: RelayResponse, stallMs: number): void {
  if (res.listenerCount("timeout") === 0) {
    res.on("timeout", () => {
      if (res.writableLength > 0) res.destroy();
    });
    // The next answer on the connection has its own limit.
    res.prependOnceListener("finish", () => res.setTimeout(0));
  }
  res.setTimeout(stallMs / LOOKS);
}

/** An entry of the set; remove it once. */
export interface InFlightEntry<Item> {
  readonly item: Item;
  at: number;
}

/**
 * Adds and removes in constant time. Instead of a Set, because V8's hash tables point to their successors: once one
 * table has grown old, the garbage collector takes every later table, and with it every request that was running when
 * the table was replaced, for reachable until the next full collection (measured: 6 KB a request and a third of all CPU).
 */
export class InFlight<Item> {
  readonly #entries: InFlightEntry<Item>[] = [];

  get size(): number {
    return this.#entries.length;
  }

  add(item: Item): InFlightEntry<Item> {
    const entry = { item, at: this.#entries.length };
    this.#entries.push(entry);
    return entry;
  }

  /** Does nothing for an entry that was removed already. */
  remove(entry: InFlightEntry<Item>): void {
    if (this.#entries[entry.at] !== entry) return;
    const last = this.#entries.pop();
    if (last === undefined || last === entry) return;
    last.at = entry.at;
    this.#entries[entry.at] = last;
  }

  /** A copy of the present items. Order: none. */
  list(): Item[] {
    return this.#entries.map((entry) => entry.item);
  }
}
