// Connections of clients. What comes on one is read here as long as each of its requests is a plain one (plain-request.ts) that goes to the
// relay; the first that is not takes the connection to Node's parser, as it came and for good (docs/decisions/035).
import type { IncomingMessage } from "node:http";
import { Pieces } from "#server/relay/pieces.ts";
import type { Roster, Seat } from "#server/relay/roster.ts";
import { isRelayed, type RelayResponse, type WholeRequest } from "#server/relay/routes.ts";
import { PlainAnswer } from "./plain-answer.ts";
import { readPlainHead } from "./plain-request.ts";

type Socket = IncomingMessage["socket"];

/** Connections are looked at so often, all together. */
export const SWEEP_MS = 250;
/** So long the first request, or the rest of one, may take to come. */
const PATIENT_SWEEPS = 2;
/** A longer request is Node's; of what is sent ahead no more is read than this. */
const MOST_BYTES = 64 * 1024;

/** Answers a plain request. */
export type ServePlain = (req: WholeRequest, res: RelayResponse) => void;

/** What a connection asks of its server. */
export interface House {
  readonly connections: Roster<Connection>;
  readonly serve: ServePlain;
  /** The lines that every head ends with, without the empty one. */
  readonly closingLines: (isLast: boolean) => string;
  /** Gives a connection to Node's parser. */
  readonly hand: (socket: Socket) => void;
  /** So long a connection that is answered now may be idle. */
  readonly keepSweeps: () => number;
  /** Counts sweeps: a clock that is good enough for idle connections. */
  sweeps: number;
}

export class Connection {
  readonly #socket: Socket;
  readonly #house: House;
  #seat: Seat<Connection> | undefined;
  #answer: PlainAnswer | undefined;
  /** The begin of a request whose rest is on its way; while one is answered, what was sent ahead. */
  readonly #waiting = new Pieces();
  /** As many are worth a look; 0 = any. */
  #neededBytes = 0;
  /** The sweep at which it came, was answered, or began to ask. */
  #since: number;
  /** May be idle so long: whoever closes the server shortens it for the answers to come, not for who is idle already. */
  #keepSweeps = 0;
  #isNew = true;

  constructor(socket: Socket, house: House) {
    this.#socket = socket;
    this.#house = house;
    this.#since = house.sweeps;
  }

  begin(): void {
    this.#seat = this.#house.connections.add(this);
    const socket = this.#socket;
    socket.on("data", this.#onData).on("drain", this.#onDrain).on("timeout", this.#onTimeout);
    socket.on("end", this.#onEnd).on("close", this.#onClose).on("error", this.#onError);
  }

  /** It has been answered, and nothing of another request has come. */
  get isIdle(): boolean {
    return !this.#isNew && this.#answer === undefined && this.#waiting.bytes === 0;
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Ends what has been idle for too long. Who says nothing at first, or stops amid a request, waits at Node's parser for what it does then. */
  look(): void {
    if (this.#answer !== undefined) return;
    const sweeps = this.#house.sweeps - this.#since;
    if (this.isIdle) {
      if (sweeps > this.#keepSweeps) this.#socket.destroy();
    } else if (sweeps >= PATIENT_SWEEPS) this.#handOver(this.#waiting.take());
  }

  readonly #onData = (bytes: Buffer) => {
    if (this.#answer !== undefined) this.#keepAhead(bytes);
    else if (this.#waiting.bytes === 0) {
      if (!this.#isNew) this.#since = this.#house.sweeps;
      this.#read(bytes);
    } else {
      this.#waiting.add(bytes);
      if (this.#waiting.bytes >= this.#neededBytes) this.#read(this.#waiting.take());
    }
  };

  /** All that has come since the last request. */
  #read(bytes: Buffer): void {
    const head = readPlainHead(bytes);
    if (head === "part") {
      this.#wait(bytes, 0);
      return;
    }
    const socket = this.#socket;
    // What follows its request was sent ahead: answers have an order then.
    if (head === undefined || head.end > MOST_BYTES || head.end < bytes.length) {
      this.#handOver(bytes);
      return;
    }
    const { url, headers, bodyAt, end } = head;
    const request = { method: "POST", url, headers, socket, body: bytes.subarray(bodyAt) };
    if (!isRelayed(request)) this.#handOver(bytes);
    else if (end > bytes.length) this.#wait(bytes, end);
    else this.#answerTo(request);
  }

  #answerTo(request: WholeRequest): void {
    this.#isNew = false;
    const { closingLines, serve } = this.#house;
    this.#answer = new PlainAnswer({ socket: this.#socket, closingLines, onOver: this.#onOver });
    serve(request, this.#answer);
  }

  /** The rest is on its way: mostly in the next packet. */
  #wait(bytes: Buffer, neededBytes: number): void {
    this.#waiting.add(bytes);
    this.#neededBytes = neededBytes;
  }

  /** It is read on meanwhile: else nobody would notice that the client leaves. */
  #keepAhead(bytes: Buffer): void {
    this.#waiting.add(bytes);
    if (this.#waiting.bytes > MOST_BYTES) this.#socket.pause();
  }

  readonly #onOver = () => {
    const socket = this.#socket;
    const isLast = this.#answer?.shouldKeepAlive === false || socket.writableEnded;
    this.#answer = undefined;
    this.#since = this.#house.sweeps;
    this.#keepSweeps = this.#house.keepSweeps();
    if (isLast) {
      // Nothing more can be answered, so nothing more is asked.
      socket.off("data", this.#onData).destroySoon();
      this.#waiting.clear();
    }
    // Not in the midst of what ends the answer.
    else if (this.#waiting.bytes > 0) process.nextTick(() => this.#handOver(this.#waiting.take()));
  };

  /** Node's parser reads this connection from now on, beginning with these bytes. */
  #handOver(bytes: Buffer): void {
    const socket = this.#socket;
    if (socket.destroyed || this.#seat === undefined) return;
    this.#leave();
    socket.off("data", this.#onData).off("drain", this.#onDrain).off("timeout", this.#onTimeout);
    socket.off("end", this.#onEnd).off("close", this.#onClose);
    const pieces = [bytes];
    if (socket.isPaused()) {
      for (let piece = socket.read(); piece !== null; piece = socket.read()) pieces.push(piece);
      socket.resume();
    }
    // The stream reads on by itself after each piece, and when it is resumed. Later than that: what Node's server then pauses stays so.
    process.nextTick(() => process.nextTick(() => this.#hand(Buffer.concat(pieces))));
  }

  #hand(bytes: Buffer): void {
    const socket = this.#socket;
    // An error may be about to be told.
    if (socket.destroyed) return;
    socket.off("error", this.#onError);
    this.#house.hand(socket);
    if (bytes.length > 0) socket.emit("data", bytes);
    // Its client has said all he wanted to say, and nobody is told so twice.
    if (socket.readableEnded) socket.emit("end");
  }

  #leave(): void {
    if (this.#seat !== undefined) this.#house.connections.remove(this.#seat);
    this.#seat = undefined;
  }

  readonly #onDrain = () => {
    this.#answer?.emit("drain");
  };

  readonly #onTimeout = () => {
    this.#answer?.emit("timeout");
  };

  /** Who has said all he wants to say takes no answers any more: Node's own rule. What it thinks of half a request, it says itself. */
  readonly #onEnd = () => {
    if (this.#answer === undefined && this.#waiting.bytes > 0) this.#handOver(this.#waiting.take());
    else this.#socket.end();
  };

  readonly #onClose = () => {
    this.#leave();
    const answer = this.#answer;
    this.#answer = undefined;
    answer?.leave();
  };

  readonly #onError = () => {
    // `close` follows.
  };
}
