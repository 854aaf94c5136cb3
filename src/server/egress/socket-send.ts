// One call over a WebSocket, for upstreams that work this way: the body is the first message, and every message from the server is one
// line of the answer. To its sink it looks like any other call.
import type { WebSocket } from "ws";
import type { EgressFault, EgressRequest, Flow, Sink } from "./send.ts";
import { type Handshake, openSocket, type SocketResult, type SocketWay } from "./socket.ts";

/** Source: requirements T2.6. */
const HANDSHAKE_TIMEOUT_MS = 5_000;
/** One event of an answer. */
const MESSAGE_LIMIT_BYTES = 16 * 1024 * 1024;
const LINES = { "content-type": "application/x-ndjson" } as const;
const LF = 0x0a;
const SPACE = 0x20;
/** Close codes of a regular end: normal closure, or no code. */
const GOOD_ENDS: ReadonlySet<number> = new Set([1000, 1005]);

/** Starts a call at an address with the scheme `ws:` or `wss:`. Never throws. */
export function sendBySocket(way: SocketWay, request: EgressRequest, sink: Sink): Flow {
  return new SocketCall(way, request, sink);
}

class SocketCall implements Flow {
  isSent = false;
  readonly #request: EgressRequest;
  readonly #handshake: Handshake;
  #sink: Sink | undefined;
  #socket: WebSocket | undefined;
  #isStarted = false;
  #isPaused = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(way: SocketWay, request: EgressRequest, sink: Sink) {
    this.#request = request;
    this.#sink = sink;
    const { origin, path, headers, route } = request;
    this.#handshake = openSocket(way, {
      url: origin + path,
      headers: withoutBody(headers),
      handshakeTimeoutMs: HANDSHAKE_TIMEOUT_MS,
      maxMessageBytes: MESSAGE_LIMIT_BYTES,
      route,
    });
    void this.#handshake.result.then((result) => this.#onResult(result));
  }

  pause(): void {
    this.#isPaused = true;
    clearTimeout(this.#timer);
    this.#socket?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#socket?.resume();
    if (this.#socket !== undefined) this.#wait(this.#isStarted ? "idle" : "timeout");
  }

  /** Closes the connection: the server does not. */
  finish(): void {
    this.#take();
    this.#socket?.close(1000);
  }

  abort(): void {
    this.#take();
    this.#handshake.abort();
    this.#socket?.terminate();
  }

  #onResult(result: SocketResult): void {
    if (result.kind === "open") {
      if (this.#sink === undefined) result.socket.terminate();
      else this.#ask(result.socket);
    } else if (result.kind === "refused") {
      const sink = this.#take();
      sink?.onStart(result.status, result.headers);
      sink?.onData(result.body);
      sink?.onEnd();
    } else this.#take()?.onFault(result);
  }

  #ask(socket: WebSocket): void {
    this.#socket = socket;
    socket.on("message", (data: Buffer) => this.#onMessage(data));
    socket.once("close", (code) => this.#onClose(code));
    socket.send(this.#request.body ?? "", { binary: false });
    this.isSent = true;
    this.#wait("timeout");
    if (!this.#isPaused) socket.resume();
  }

  #onMessage(data: Buffer): void {
    if (!this.#isStarted) {
      this.#isStarted = true;
      this.#sink?.onStart(200, LINES);
    }
    this.#wait("idle");
    this.#sink?.onData(lineOf(data));
  }

  #onClose(code: number): void {
    const sink = this.#take();
    if (this.#isStarted && GOOD_ENDS.has(code)) sink?.onEnd();
    else sink?.onFault({ code: "reset", detail: `WebSocket closed with ${code}` });
  }

  /** Sets the time limit of the next message; it does not run while the call is paused. */
  #wait(code: EgressFault["code"] & ("timeout" | "idle")): void {
    const { headersTimeoutMs, idleTimeoutMs } = this.#request;
    const ms = code === "timeout" ? headersTimeoutMs : idleTimeoutMs;
    clearTimeout(this.#timer);
    if (ms === 0 || this.#isPaused || this.#sink === undefined) return;
    this.#timer = setTimeout(() => {
      this.#take()?.onFault({ code, detail: "no WebSocket message in time" });
      this.#socket?.terminate();
    }, ms);
  }

  #take(): Sink | undefined {
    const sink = this.#sink;
    this.#sink = undefined;
    clearTimeout(this.#timer);
    return sink;
  }
}

/** Removes headers about the body: a handshake has none. */
function withoutBody(headers: readonly string[]): string[] {
  return headers.filter((_, at) => {
    const name = headers[at - (at % 2)];
    return name !== "content-type" && name !== "accept";
  });
}

/** Line breaks in JSON stand between its words only. */
function lineOf(message: Buffer): Buffer {
  const line = Buffer.allocUnsafe(message.length + 1);
  message.copy(line);
  for (let at = line.indexOf(LF); at >= 0 && at < message.length; at = line.indexOf(LF, at + 1))
    line[at] = SPACE;
  line[message.length] = LF;
  return line;
}
