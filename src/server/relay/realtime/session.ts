// Two sockets of one realtime conversation: messages are copied both ways as they are, with back-pressure; a response is booked before
// the message that completes it is passed on (requirements M11). Knows no channels and no database.
import { WebSocket } from "ws";
import { realtimeError } from "#server/relay/http/error-format.ts";
import { localErrors } from "#server/relay/http/local-errors.ts";
import { lastWord } from "#server/relay/routing/failed-calls.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import { maskSecrets } from "#server/upstream/errors/mask.ts";
import { redact } from "#server/upstream/errors/redact.ts";
import { type JsonRecord, readJson } from "#server/upstream/json/values.ts";
import type { Frame, RealtimeLine } from "#server/upstream/realtime/connect.ts";
import { faultIn, heardTokens, readEvent, withFault, withModel } from "#server/upstream/realtime/events.ts";
import type { RealtimeBill } from "./account.ts";

/** Close codes (RFC 6455 7.4). */
export const CLOSE = { goingAway: 1001, noCode: 1005, broken: 1006, policy: 1008, internal: 1011 } as const;

export interface SocketTimes {
  /** Between two pings; a client that answered neither of two is gone. */
  readonly pingMs: number;
  /** Without any message, either way, a realtime conversation ends. */
  readonly idleMs: number;
  /** A socket of Responses closes after it. */
  readonly lifeMs: number;
}

/** How much may wait in a socket before its other side is paused. */
export const HIGH_WATER_BYTES = 1024 * 1024;
/** How long the other side may take to confirm a close. */
const CLOSE_MS = 1_000;
/** A reason is at most 123 bytes. */
const REASON_CHARACTERS = 40;

export interface RealtimeParts {
  readonly client: WebSocket;
  readonly line: RealtimeLine;
  readonly bill: RealtimeBill;
  readonly requestId: string;
  readonly times: SocketTimes;
  /** The server reported a failure; the conversation goes on. */
  onFailure(fault: RelayFault): void;
}

export class RealtimeSession {
  readonly #parts: RealtimeParts;
  /** Messages of the server that wait for a booking, and then its close. */
  readonly #waiting: Frame[] = [];
  #pumping: Promise<void> = Promise.resolve();
  #isPumping = false;
  #isOver = false;
  #isAlive = true;
  #isQuiet = false;
  #fault: RelayFault | undefined;
  #finish: () => void = () => undefined;

  constructor(parts: RealtimeParts) {
    this.#parts = parts;
  }

  /** Why it ended; undefined = one of the two sides closed it. */
  get fault(): RelayFault | undefined {
    return this.#fault;
  }

  /** Copies until one side closes. Resolves when both sockets are closed and all is booked. */
  async run(): Promise<void> {
    const { client, line, bill, times } = this.#parts;
    const over = new Promise<void>((resolve) => {
      this.#finish = resolve;
    });
    const timers = [
      setInterval(() => this.#ping(), times.pingMs),
      setInterval(() => this.#checkQuiet(), times.idleMs),
    ];
    this.#hearClient();
    this.#hearServer();
    for (const frame of line.first) this.#take(frame);
    client.resume();
    line.socket.resume();
    if (client.readyState !== WebSocket.OPEN) this.#close(CLOSE.noCode, "", CLOSE.goingAway);
    await over;
    for (const timer of timers) clearInterval(timer);
    // Messages of the server about its last response still count.
    await Promise.all([closed(client), closed(line.socket)]);
    await this.#pumping;
    await bill.close();
  }

  /** Ends the conversation from our side; the client gets the reason. */
  end(fault: RelayFault, code: number): void {
    if (this.#isOver) return;
    this.#fault = fault;
    const { client, requestId } = this.#parts;
    if (client.readyState === WebSocket.OPEN) client.send(realtimeError(fault, requestId));
    this.#close(code, String(fault.code), CLOSE.goingAway);
  }

  #hearClient(): void {
    const { client, line, bill } = this.#parts;
    client.on("message", (data: Buffer, isBinary: boolean) => {
      this.#isAlive = true;
      this.#isQuiet = false;
      if (this.#isOver) return;
      const sent = isBinary ? data : this.#settled(data);
      if (sent === undefined) return;
      bill.said(heardTokens(sent, isBinary, bill.isNarrow));
      this.#copy({ data: sent, isBinary }, client, line.socket);
    });
    client.on("pong", () => {
      this.#isAlive = true;
    });
    // `close` reports what went wrong.
    client.on("error", () => undefined);
    client.on("close", (code, reason) => {
      const isGone = code === CLOSE.broken;
      this.#close(code, "", isGone ? CLOSE.goingAway : code, reason.toString());
    });
  }

  /** A client's message with the model and the rules of its channel; undefined = they refuse it, and the conversation goes on. */
  #settled(data: Buffer): Buffer | undefined {
    const { client, line, requestId } = this.#parts;
    const named = withModel(data, line.model) ?? data;
    const settled = line.settled?.(named) ?? named;
    if (Buffer.isBuffer(settled)) return settled;
    client.send(realtimeError(settled, requestId));
    return undefined;
  }

  #hearServer(): void {
    const { socket, secrets } = this.#parts.line;
    socket.on("message", (data: Buffer, isBinary: boolean) => {
      this.#isQuiet = false;
      this.#take({ data, isBinary });
    });
    socket.on("close", (code, reason) => {
      const end = () => {
        if (code === CLOSE.broken) this.end(localErrors.upstreamBroke(), CLOSE.internal);
        else this.#close(code, redact(reason.toString(), secrets), code);
      };
      // Messages before the close are passed on before it.
      if (this.#waiting.length === 0 && !this.#isPumping) end();
      else void this.#pump().then(end);
    });
  }

  #take(frame: Frame): void {
    this.#waiting.push(frame);
    void this.#pump();
  }

  /** Passes waiting messages on to the client, in order. Resolves when none waits. */
  #pump(): Promise<void> {
    if (!this.#isPumping) this.#pumping = this.#tellAll();
    return this.#pumping;
  }

  async #tellAll(): Promise<void> {
    const { client, line } = this.#parts;
    this.#isPumping = true;
    for (let frame = this.#waiting.shift(); frame !== undefined; frame = this.#waiting.shift()) {
      const { data, isBinary } = frame;
      const event = isBinary ? undefined : readJson(data.toString());
      const booking = event && this.#bill(event);
      const fault = booking instanceof Promise ? await this.#held(booking) : booking;
      const shown = event && this.#shown(event);
      const masked = maskSecrets(shown ?? data, line.credentials);
      this.#copy({ data: masked, isBinary }, line.socket, client);
      if (fault !== undefined) this.end(fault, CLOSE.policy);
    }
    this.#isPumping = false;
  }

  /** What the client reads of an event that reports a failure; undefined = the event passes as it is. */
  #shown(event: JsonRecord): Buffer | undefined {
    const { line, onFailure } = this.#parts;
    const fault = faultIn(event, line.secrets);
    if (fault === undefined) return undefined;
    onFailure(fault);
    return withFault(event, lastWord(fault), line.secrets);
  }

  #bill(event: JsonRecord): ReturnType<RealtimeBill["heard"]> {
    const { bill } = this.#parts;
    const news = readEvent(event, bill.isNarrow);
    return news && bill.heard(news);
  }

  /** Pauses the server while something is booked. */
  async #held(booking: Promise<RelayFault | undefined>): Promise<RelayFault | undefined> {
    const { socket } = this.#parts.line;
    socket.pause();
    try {
      return await booking;
    } catch (error) {
      return localErrors.bookingFailed(String(error));
    } finally {
      socket.resume();
    }
  }

  /** Passes a message on; while its receiver does not keep up, its sender is paused. */
  #copy({ data, isBinary }: Frame, from: WebSocket, to: WebSocket): void {
    if (to.readyState !== WebSocket.OPEN) return;
    to.send(data, { binary: isBinary }, () => {
      if (from.isPaused && to.bufferedAmount < HIGH_WATER_BYTES) from.resume();
    });
    if (to.bufferedAmount >= HIGH_WATER_BYTES) from.pause();
  }

  #ping(): void {
    const { client, line } = this.#parts;
    // A paused side cannot answer pings either.
    if (!this.#isAlive && !client.isPaused) {
      client.terminate();
      return;
    }
    this.#isAlive = false;
    for (const socket of [client, line.socket]) if (socket.readyState === WebSocket.OPEN) socket.ping();
  }

  #checkQuiet(): void {
    if (this.#isQuiet) this.end(localErrors.sessionIdle(), CLOSE.goingAway);
    this.#isQuiet = true;
  }

  /** Closes both, each with its code. */
  #close(clientCode: number, clientReason: string, serverCode: number, serverReason = ""): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { client, line } = this.#parts;
    shut(client, clientCode, clientReason);
    shut(line.socket, serverCode, serverReason);
    this.#finish();
  }
}

/** Closes a socket with a code that may be sent; one that does not confirm is ended. */
export function shut(socket: WebSocket, code: number, reason: string): void {
  if (socket.readyState === WebSocket.CLOSED) return;
  // A paused socket would never read the confirmation.
  socket.resume();
  if (code === CLOSE.noCode) socket.close();
  else socket.close(code === CLOSE.broken ? CLOSE.internal : code, reason.slice(0, REASON_CHARACTERS));
  const timer = setTimeout(() => socket.terminate(), CLOSE_MS);
  socket.once("close", () => clearTimeout(timer));
}

function closed(socket: WebSocket): Promise<void> {
  if (socket.readyState === WebSocket.CLOSED) return Promise.resolve();
  return new Promise((resolve) => socket.once("close", () => resolve()));
}
