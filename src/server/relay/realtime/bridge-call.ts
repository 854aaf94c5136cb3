// One call on a socket of Responses, in the shape of a request and an answer of node:http: so it takes the very path of a call by HTTP, and
// its events, or its error, leave as messages (vendors/responses-socket).
import { Readable, Writable } from "node:stream";
import type { RelayRequest, RelayResponse, UpgradeRequest } from "#server/relay/http/exchange.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import { dataText, SseReader } from "#server/upstream/hub/sse.ts";
import { asObject, readJson } from "#server/upstream/json/values.ts";

/** The path of a call by HTTP, which each call on a socket takes. */
export interface Calls {
  serve(req: RelayRequest, res: RelayResponse): void;
  /** Answers a call that is not taken. */
  turnAway(req: RelayRequest, res: RelayResponse, fault: RelayFault): void;
}

/** Of the handshake's headers those that say nothing of a call. */
const OF_HANDSHAKE = /^(connection|upgrade|sec-websocket-.*|content-encoding|transfer-encoding|expect)$/;
/** The beta by which clients ask for the socket: upstreams are called without one. */
const BETA_OF_SOCKET = /^responses_websockets(=|$)/;

/** A message as a request: the headers are those of the handshake. */
export class MessageRequest extends Readable implements RelayRequest {
  readonly method = "POST";
  readonly url: string | undefined;
  readonly headers: RelayRequest["headers"];
  readonly socket: RelayRequest["socket"];

  constructor({ url, headers, socket }: UpgradeRequest, body: Buffer) {
    super({ read: () => undefined });
    this.url = url;
    this.headers = headersOf(headers, body.length);
    this.socket = socket;
    this.push(body);
    this.push(null);
  }
}

function headersOf(handshake: UpgradeRequest["headers"], length: number): RelayRequest["headers"] {
  const own = Object.entries(handshake).filter(([name]) => !OF_HANDSHAKE.test(name));
  const beta = String(handshake["openai-beta"] ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "" && !BETA_OF_SOCKET.test(name));
  return {
    ...Object.fromEntries(own),
    "openai-beta": beta.length === 0 ? undefined : beta.join(", "),
    "content-type": "application/json",
    "content-length": String(length),
  };
}

/** Whom the messages of an answer go to. */
export interface MessageReader {
  /** Sends a message; `done` when it has left. */
  send(text: string, done: () => void): void;
  /** Cuts the client off. */
  hangUp(): void;
  /** Emits `timeout` at the answer when nothing has moved for so long; 0 = no more. */
  limit(answer: MessageResponse, ms: number): void;
}

/** An answer as messages: one for each event of a stream, one for an error. */
export class MessageResponse extends Writable implements RelayResponse {
  shouldKeepAlive = true;
  headersSent = false;
  readonly chunkedEncoding = false;
  readonly socket = null;
  readonly #reader: MessageReader;
  readonly #pieces: Uint8Array[] = [];
  #status = 0;
  #head: readonly string[] = [];
  /** undefined = the answer is one body. */
  #events: SseReader | undefined;

  constructor(reader: MessageReader) {
    super();
    this.#reader = reader;
  }

  writeHead(status: number, head: readonly string[]): void {
    this.headersSent = true;
    this.#status = status;
    this.#head = head;
    if (head[1]?.startsWith("text/event-stream") === true) this.#events = new SseReader();
  }

  setTimeout(ms: number): void {
    this.#reader.limit(this, ms);
  }

  override _write(bytes: Buffer, _encoding: string, done: () => void): void {
    if (this.#events === undefined) {
      this.#pieces.push(bytes);
      done();
      return;
    }
    this.#send(this.#events.push(bytes).map(dataText), done);
    if (this.#events.isOverflown) this.destroy();
  }

  override _final(done: () => void): void {
    const last = this.#events?.end();
    if (this.#events === undefined) this.#send([this.#whole()], done);
    else this.#send(last === undefined ? [] : [dataText(last)], done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.writableFinished) this.#reader.hangUp();
    done(error);
  }

  #send(texts: readonly string[], done: () => void): void {
    const told = texts.filter((text) => text.startsWith("{"));
    const last = told.pop();
    for (const text of told) this.#reader.send(text, nothing);
    if (last === undefined) done();
    else this.#reader.send(last, done);
  }

  /** An error, with the headers that HTTP has for it; or the response of an upstream that did not stream. */
  #whole(): string {
    const body = readJson(Buffer.concat(this.#pieces).toString()) ?? {};
    if (this.#status < 400) return JSON.stringify({ type: "response.completed", response: body });
    const error = asObject(body["error"]) ?? body;
    return JSON.stringify({ type: "error", status: this.#status, error, headers: headersTold(this.#head) });
  }
}

function nothing(): void {
  // The last message of a piece says when all have left.
}

/** Names and values in turn. */
function headersTold(head: readonly string[]): Record<string, string> {
  const told: Record<string, string> = {};
  for (let at = 0; at < head.length; at += 2) {
    const name = head[at] ?? "";
    if (!/^(content|access-control)-/.test(name)) told[name] = head[at + 1] ?? "";
  }
  return told;
}
