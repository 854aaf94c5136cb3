// Hundreds of calls at once, on servers that are slow, abort, send surplus bytes and close, with callers that pause and abort: a call that
// gets an answer gets exactly its own. HTTP_STRESS and HTTP_STRESS_SEED widen a run.
import { createServer as createRaw, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createServer as createTls, getCACertificates, setDefaultCACertificates, TLSSocket } from "node:tls";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEgress } from "#server/egress/dispatcher.ts";
import type { EgressRequest, Flow, Sink } from "#server/egress/send.ts";
import { listenOn, until } from "#test/emulators/raw-http.ts";
import { makeCertificate } from "#test/seeds/certificate.ts";
import { createDice, type Dice, pick } from "#test/seeds/random.ts";
import { rounds } from "#test/worlds/soak.ts";

const CALLS = Number(process.env["HTTP_STRESS"] ?? rounds(1_500, 4_000));
const SEED = Number(process.env["HTTP_STRESS_SEED"] ?? 20_261_120);
const AT_ONCE = rounds(300, 1_000);
const OWNERS = 12;
const SIZES = [0, 1, 30, 500, 5_000, 40_000, 70_000];

const certificate = makeCertificate("localhost");
const known = getCACertificates("default");
beforeAll(() => setDefaultCACertificates([...known, certificate.cert]));
afterAll(() => setDefaultCACertificates(known));

/** A body unique to this call, for its request or its answer. */
function bodyOf(name: string, id: number, size: number): Buffer {
  return Buffer.alloc(size, `${name} ${id};`);
}

/** Reads one request after another and answers each in a random way. */
class Clerk {
  /** Requests that did not arrive as they were sent. */
  static spoilt = 0;
  readonly #socket: Socket;
  readonly #dice: Dice;
  #chunks: Buffer[] = [];
  #size = 0;
  #wanted = Infinity;
  #isBusy = false;

  constructor(socket: Socket, dice: Dice) {
    this.#socket = socket;
    this.#dice = dice;
    socket.on("data", (chunk: Buffer) => this.#onData(chunk));
    socket.on("error", () => undefined);
  }

  #onData(chunk: Buffer): void {
    this.#isBusy = true;
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#wanted === Infinity) {
      const text = Buffer.concat(this.#chunks).toString("latin1");
      const end = text.indexOf("\r\n\r\n") + 4;
      if (end < 4) return;
      this.#wanted = end + Number(/content-length: (\d+)/.exec(text)?.[1]);
    }
    if (this.#size < this.#wanted) return;
    const bytes = Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#size = 0;
    this.#wanted = Infinity;
    void this.#answer(bytes);
  }

  async #answer(bytes: Buffer): Promise<void> {
    const dice = this.#dice;
    const socket = this.#socket;
    const end = bytes.indexOf("\r\n\r\n") + 4;
    const [, id = 0, asked = 0, size = 0] =
      /^POST \/(\d+)\/(\d+)\/(\d+) /.exec(bytes.toString("latin1", 0, end))?.map(Number) ?? [];
    if (!bytes.subarray(end).equals(bodyOf("question", id, asked))) Clerk.spoilt += 1;
    if (dice(4) > 0) await sleep(dice(6));
    const way = dice(20);
    if (way === 0) {
      // Node resets neither TLS sockets nor sockets that it is ending.
      if (socket instanceof TLSSocket || socket.writableEnded) socket.destroy();
      else socket.resetAndDestroy();
      return;
    }
    const { bytes: whole, hasEnd, isLast } = answerFor(dice, id, size);
    // An answer that ends with its connection cannot be checked for completeness.
    const cut = hasEnd && way === 1 ? dice(whole.length) : whole.length;
    // Rarely: after it the connections of its owner are not used again.
    const surplus = hasEnd && dice(200) === 0 ? "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nbad" : "";
    await this.#write(whole.subarray(0, cut), surplus);
    this.#isBusy = false;
    if (cut < whole.length || isLast) socket.end();
    else if (way === 3) setTimeout(() => this.#isBusy || socket.end(), dice(4));
  }

  /** Writes in pieces; `surplus` is written with the last one. */
  async #write(bytes: Buffer, surplus: string): Promise<void> {
    const dice = this.#dice;
    const last = Math.max(0, bytes.length - 1_000);
    for (let at = 0; at < last && !this.#socket.destroyed; ) {
      const to = Math.min(last, at + 1 + dice(pick(dice, [50, 5_000, 80_000])));
      this.#socket.write(bytes.subarray(at, to));
      at = to;
      if (dice(3) === 0) await sleep(dice(2));
    }
    if (!this.#socket.destroyed)
      this.#socket.write(Buffer.concat([bytes.subarray(last), Buffer.from(surplus)]));
  }
}

interface Answer {
  readonly bytes: Buffer;
  /** An answer with explicit framing. */
  readonly hasEnd: boolean;
  /** An answer that ends with its connection. */
  readonly isLast: boolean;
}

function answerFor(dice: Dice, id: number, size: number): Answer {
  const body = bodyOf("answer", id, size);
  const way = dice(8);
  const head = `HTTP/1.1 200 OK\r\nx-id: ${id}\r\n`;
  if (way === 0)
    return { bytes: Buffer.concat([Buffer.from(`${head}\r\n`), body]), hasEnd: false, isLast: true };
  if (way < 5) {
    const close = way === 1 ? "connection: close\r\n" : "";
    return {
      bytes: Buffer.concat([Buffer.from(`${head}${close}content-length: ${size}\r\n\r\n`), body]),
      hasEnd: true,
      isLast: way === 1,
    };
  }
  const parts: Buffer[] = [Buffer.from(`${head}transfer-encoding: chunked\r\n\r\n`)];
  for (let at = 0; at < size; ) {
    const to = Math.min(size, at + 1 + dice(pick(dice, [300, 20_000])));
    parts.push(Buffer.from(`${(to - at).toString(16)}\r\n`), body.subarray(at, to), Buffer.from("\r\n"));
    at = to;
  }
  return { bytes: Buffer.concat([...parts, Buffer.from("0\r\n\r\n")]), hasEnd: true, isLast: false };
}

/** The result of one call, or the violation it found. */
type Outcome = string;

const problems: string[] = [];

interface Caller {
  readonly id: number;
  readonly origin: string;
  readonly dice: Dice;
}

/** One call with a random caller. */
function call(
  send: (request: EgressRequest, sink: Sink) => Flow,
  { id, origin, dice }: Caller,
): Promise<Outcome> {
  const asked = pick(dice, SIZES);
  const size = pick(dice, SIZES);
  const whim = dice(12);
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const chunks: Buffer[] = [];
  let isRight = false;
  let isOver = false;
  const end = (outcome: Outcome) => {
    if (isOver) problems.push(`${id} ended twice, then with ${outcome}`);
    isOver = true;
    resolve(outcome);
  };
  const request: EgressRequest = {
    method: "POST",
    origin,
    path: `/${id}/${asked}/${size}`,
    route: { owner: `channel ${id % OWNERS}`, proxies: [] },
    headers: [],
    body: bodyOf("question", id, asked),
    headersTimeoutMs: 0,
    idleTimeoutMs: 0,
  };
  const flow = send(request, {
    onStart(status, headers) {
      isRight = status === 200 && headers["x-id"] === String(id);
    },
    onData(chunk) {
      chunks.push(chunk);
      if (whim !== 1 || dice(3) > 0) return;
      flow.pause();
      setTimeout(() => flow.resume(), dice(4));
    },
    onEnd() {
      const body = Buffer.concat(chunks);
      if (!isRight || !body.equals(bodyOf("answer", id, size)))
        problems.push(`${id} was told ${body.length} of ${size} bytes: ${body.toString("latin1", 0, 100)}`);
      end("whole");
    },
    onFault({ code, detail }) {
      // A busy machine may not finish hundreds of handshakes in time: no answer, so no wrong one.
      if (code !== "reset" && code !== "connect_timeout") problems.push(`${id}: ${code} ${detail}`);
      end(code);
    },
  });
  if (whim === 0) {
    setTimeout(() => {
      if (isOver) return;
      flow.abort();
      end("aborted");
    }, dice(8));
  }
  return promise;
}

test(`${CALLS} calls, each with its own answer`, { timeout: 1_200_000 }, async () => {
  let connections = 0;
  const onSocket = (socket: Socket) => {
    connections += 1;
    new Clerk(socket, createDice(SEED + connections));
  };
  const plain = [await listenOn(createRaw(onSocket)), await listenOn(createRaw(onSocket))];
  const tls = await listenOn(createTls(certificate, onSocket), "https");
  const servers = [...plain, tls];
  const origins = [...plain.map(({ origin }) => origin), `https://localhost:${tls.port}`];
  const egress = createEgress({ allow: [{ cidr: "127.0.0.0/8", port: undefined }], restMs: 0 });
  const tally: Partial<Record<Outcome, number>> = {};
  let next = 0;
  const caller = async () => {
    while (next < CALLS) {
      next += 1;
      const dice = createDice(SEED + 7 * next);
      const origin = origins[dice(8) % 3] ?? "";
      const outcome = await call(egress.send, { id: next, origin, dice });
      tally[outcome] = (tally[outcome] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, caller));
  expect(problems).toEqual([]);
  expect(Clerk.spoilt).toBe(0);
  const { whole = 0, reset = 0, aborted = 0 } = tally;
  expect(whole).toBeGreaterThan(CALLS / 2);
  expect(reset).toBeGreaterThan(CALLS / 100);
  expect(aborted).toBeGreaterThan(CALLS / 100);
  expect(connections).toBeLessThan(CALLS);
  egress.close();
  await until(() => servers.every(({ sockets }) => sockets.size === 0), 20_000);
  for (const { close } of servers) await close();
});
