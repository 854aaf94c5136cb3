// Answers that come before their request has ended: what the client still sends is not read on, and the client gets to read why it need
// not send it (requirements D01, R02). And refusals of what two servers would read in two ways, beside what Node's parser refuses: a
// proxy before us may have seen another host, or another end of the body (requirements R17).
import {
  type IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
  type RequestListener,
  ServerResponse,
} from "node:http";

/** A remainder up to this size is read and thrown away, so that the connection can go on; a longer one ends it. */
const SKIP_BYTES = 64 * 1024;
/** A short remainder must be here by then. */
const SKIP_MS = 30_000;
/** How long a connection outlives its last answer, unread: closed at once, it would be reset before its client has read the answer. */
const LINGER_MS = 500;

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

/** Whether a body is too long to be taken for nothing, or may become so. */
function isLong({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > SKIP_BYTES;
}

/** Of a long body nothing is read but what came with its head, until a handler asks for it. */
export function holdBody(req: IncomingMessage): void {
  if (isLong(req)) req.socket.pause();
}

/**
 * Ends an answer that waits for another one when their connection ends. Node does so by itself, but not once a later request has made
 * something else of the connection (CONNECT, Upgrade): then the handler would wait for ever.
 */
export function endWithConnection({ socket }: IncomingMessage, res: ServerResponse): void {
  if (res.socket !== null) return;
  const end = () => res.destroy();
  // One for each request that was sent ahead.
  socket.setMaxListeners(0).once("close", end);
  res.once("close", () => socket.off("close", end));
}

/**
 * Lets a client send the body that it asks leave for, when its turn comes: of an answer that waits for another one Node would write
 * `100 Continue` behind the head, and so into the answer (RFC 9110 10.1.1).
 */
export function continueInTurn(listener: RequestListener): RequestListener {
  return (req, res) => {
    if (res.socket !== null) res.writeContinue();
    else
      res.once("socket", () => {
        // A client that has its answer already need not send anything.
        if (!res.headersSent) res.writeContinue();
      });
    listener(req, res);
  };
}

/** An answer of our server. Where the request is here whole, as nearly always, it is Node's own. */
export class EarlyAnswer<Request extends IncomingMessage> extends ServerResponse<Request> {
  #isLingering = false;

  override writeHead(status: number, reason?: string | Headers, headers?: Headers): this {
    if (!this.req.complete && isLong(this.req)) this.shouldKeepAlive = false;
    // Node has two forms of this; either is passed on as it came.
    return super.writeHead(status, reason as string, headers);
  }

  override end(chunk?: unknown, encoding?: BufferEncoding | (() => void), done?: () => void): this {
    if (this.#isLingering) return this;
    if (!this.req.complete && !this.shouldKeepAlive) return this.#linger(chunk);
    if (!this.req.complete) this.#hangUpAfter(SKIP_MS);
    // As above, of three forms.
    return super.end(chunk, encoding as BufferEncoding, done);
  }

  /** Writes the whole answer, reads nothing, and ends the connection in a while. */
  #linger(chunk: unknown): this {
    this.#isLingering = true;
    this.req.socket.pause();
    if (typeof chunk === "string" || chunk instanceof Uint8Array) this.write(chunk);
    this.flushHeaders();
    this.#hangUpAfter(LINGER_MS);
    return this;
  }

  /** Waits for the answers before this one, which still need the connection (RFC 9112 9.3.2). */
  #hangUpAfter(delayMs: number): void {
    if (this.socket === null) {
      this.once("socket", () => this.#hangUpAfter(delayMs));
      return;
    }
    const timer = setTimeout(() => {
      if (this.#isLingering) super.end();
      if (!this.req.complete) this.req.destroy();
    }, delayMs);
    this.req.once("close", () => clearTimeout(timer));
  }
}

/** Whether a head leaves open for which host it is, or where its body ends (RFC 9112 3.2 and 6.1). */
export function isAmbiguous({ headers, rawHeaders, httpVersion }: IncomingMessage): boolean {
  const coding = headers["transfer-encoding"];
  // Of codings we know one, and its name alone; before HTTP/1.1 there was none.
  if (coding !== undefined && (coding.trim().toLowerCase() !== "chunked" || httpVersion === "1.0"))
    return true;
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  return hosts > 1;
}

/** Listens to what can be read in one way only. What follows anything else on its connection belongs to no request, and is dropped. */
export function clearOnly(listener: RequestListener, refuse: RequestListener): RequestListener {
  const refused = new WeakSet<IncomingMessage["socket"]>();
  return (req, res) => {
    if (refused.has(req.socket)) return;
    if (!isAmbiguous(req)) {
      listener(req, res);
      return;
    }
    refused.add(req.socket);
    // Node's parser may be about to refuse it too: then Node answers, and `refuse` only if it did not.
    setImmediate(refuse, req, res);
  };
}
