// Our HTTP reader against undici's: the same odd replies, at any chunk boundaries, over real sockets. Both must agree on completeness and
// content; every difference is a named decision. HTTP_FUZZ and HTTP_FUZZ_SEED widen a run.
import { once } from "node:events";
import type { Socket } from "node:net";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import { Client } from "undici";
import { expect, test } from "vitest";
import { createEgress, type Egress } from "#server/egress/dispatcher.ts";
import type { ReplyHeaders } from "#server/egress/send.ts";
import { type Listening, listen } from "#test/emulators/raw-http.ts";
import { type OddReply, throwReply } from "#test/seeds/odd-replies.ts";
import { createDice } from "#test/seeds/random.ts";

const ROUNDS = Number(process.env["HTTP_FUZZ"] ?? 2_000);
const SEED = Number(process.env["HTTP_FUZZ_SEED"] ?? 20_261_120);
const LANES = 16;

/** How a reader understood a reply; `pending` = it waits for more. */
class Reading {
  verdict: "whole" | "fault" | "pending" = "pending";
  /** 0 = no head yet. */
  status = 0;
  headers: ReplyHeaders = {};
  body = "";
  detail = "";

  start(status: number, headers: ReplyHeaders): void {
    this.status = status;
    this.headers = headers;
  }

  end(verdict: "whole" | "fault", detail = ""): void {
    if (this.verdict !== "pending") return;
    this.verdict = verdict;
    this.detail = detail;
  }

  /** The part that must be equal; the details of a fault may differ. */
  get essence(): unknown {
    const { verdict, status, headers, body } = this;
    if (verdict === "fault") return verdict;
    // undici keeps a tab after a value, and the name `__proto__`.
    const fields = Object.entries(headers).filter(([name]) => name !== "__proto__");
    const trimmed = fields.map(([name, value]) => [name, [value].flat().map((it) => it?.trimEnd())]);
    return { verdict, status, fields: trimmed, body };
  }
}

type Pending = { readonly reading: Reading; drop(): unknown };

function readOurs(egress: Egress, origin: string): Pending {
  const reading = new Reading();
  const flow = egress.send(
    { method: "GET", origin, path: "/", headers: [], body: undefined, headersTimeoutMs: 0, idleTimeoutMs: 0 },
    {
      onStart: (status, headers) => reading.start(status, headers),
      onData: (chunk) => {
        reading.body += chunk.toString("latin1");
      },
      onEnd: () => reading.end("whole"),
      onFault: ({ detail }) => reading.end("fault", detail),
    },
  );
  return { reading, drop: () => flow.abort() };
}

function readTheirs(origin: string): Pending {
  const reading = new Reading();
  const client = new Client(origin, { pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
  client.dispatch(
    { method: "GET", path: "/" },
    {
      onRequestStart: () => undefined,
      onResponseStart: (_, status, headers) => {
        if (status >= 200) reading.start(status, headers);
      },
      onResponseData: (_, chunk) => {
        reading.body += chunk.toString("latin1");
      },
      onResponseEnd: () => reading.end("whole"),
      onResponseError: (_, error) => reading.end("fault", error.message),
    },
  );
  return { reading, drop: () => client.destroy() };
}

/** Serves its reply to each request. */
class Lane {
  reply: OddReply | undefined;
  #onServed: () => void = () => undefined;
  readonly server: Promise<Listening>;

  constructor() {
    this.server = listen((socket) => {
      socket.setNoDelay(true);
      socket.on("data", () => void this.#serve(socket));
    });
  }

  /** Starts a request; resolves with its reading when the reply was sent and the reader had time to parse it. */
  async tell(start: () => Pending): Promise<Reading> {
    const served = new Promise<void>((resolve) => {
      this.#onServed = resolve;
    });
    const { reading, drop } = start();
    await served;
    for (let round = 0; round < 6; round += 1) await turn();
    const patienceMs = this.reply?.isLast === true ? 1_000 : 4;
    for (let ms = 0; ms < patienceMs && reading.verdict === "pending"; ms += 1) await sleep(1);
    const told = Object.assign(new Reading(), reading);
    await drop();
    return told;
  }

  async #serve(socket: Socket): Promise<void> {
    const { reply } = this;
    if (reply === undefined) return;
    let from = 0;
    for (const to of [...reply.cuts, reply.bytes.length]) {
      if (socket.destroyed) break;
      if (!socket.write(reply.bytes.subarray(from, to)))
        await Promise.race([once(socket, "drain"), sleep(100)]);
      from = to;
      await turn();
    }
    if (reply.isLast) socket.end();
    this.#onServed();
  }
}

/** Replies that we refuse and undici accepts, by our message. */
const REFUSED = [
  "an unknown transfer coding", // undici takes any that ends with chunked, or reads until the end
  "two lengths of one body", // one of them empty
  "no length of a body", // of a 204, with too many digits
  "no HTTP status line", // HTTP/0.9 and HTTP/2.0 status lines
  "a control character in the head", // in the reason phrase
];

/** Replies that we accept and undici refuses. */
const TAKEN: readonly [string, (theirs: Reading, ours: Reading) => boolean][] = [
  ["an unsolicited 1xx head", ({ detail }) => detail === "bad response"],
  [
    "the length of what a 204 or 304 does not carry (RFC 9110 8.6)",
    ({ detail }, { status }) =>
      /body length does not match/.test(detail) && (status === 204 || status === 304),
  ],
  [
    "a blank after a length",
    ({ detail }, { headers, body }) =>
      /body length does not match/.test(detail) && headers["content-length"] === String(body.length),
  ],
  [
    "bytes after the last answer, which is complete without them",
    ({ detail }, { verdict }) => /Data after `Connection: close`/.test(detail) && verdict === "whole",
  ],
  ["chunk extensions, which are ignored", ({ detail }) => /chunk extensions/.test(detail)],
  [
    "a length among the trailers, which are ignored",
    ({ detail }, { status }) => /can't be present with Transfer-Encoding/.test(detail) && status !== 0,
  ],
];

/** The decision that explains a difference; undefined = there is none. */
function decisionBehind(theirs: Reading, ours: Reading): string | undefined {
  const isBegun = [theirs, ours].every(({ verdict, status }) => status === 0 && verdict !== "whole");
  if (isBegun) return "a head that cannot be good any more: one may know before it ends, the other then";
  if (ours.verdict === "fault") return REFUSED.find((words) => ours.detail.endsWith(words));
  if (theirs.verdict !== "fault") return undefined;
  return TAKEN.find(([, applies]) => applies(theirs, ours))?.[0];
}

test(`${ROUNDS} odd replies mean the same to both readers`, { timeout: 600_000 }, async () => {
  const verdicts = { whole: 0, fault: 0, pending: 0 };
  const decisions = new Map<string, number>();
  const unexplained: object[] = [];
  let round = 0;
  const walk = async () => {
    const lane = new Lane();
    const { origin, close } = await lane.server;
    const egress = createEgress({ allow: [{ cidr: "127.0.0.0/8", port: undefined }], restMs: 0 });
    while (round < ROUNDS) {
      round += 1;
      const seed = SEED + round;
      const reply = throwReply(createDice(seed));
      lane.reply = reply;
      const theirs = await lane.tell(() => readTheirs(origin));
      const ours = await lane.tell(() => readOurs(egress, origin));
      verdicts[ours.verdict] += 1;
      if (JSON.stringify(theirs.essence) === JSON.stringify(ours.essence)) continue;
      const isHung = reply.isLast && ours.verdict === "pending";
      const decision = isHung ? undefined : decisionBehind(theirs, ours);
      if (decision === undefined)
        unexplained.push({ seed, text: reply.bytes.toString("latin1"), theirs, ours });
      else decisions.set(decision, (decisions.get(decision) ?? 0) + 1);
    }
    egress.close();
    await close();
  };
  await Promise.all(Array.from({ length: LANES }, walk));
  expect(unexplained).toEqual([]);
  // All kinds of replies were produced.
  for (const count of Object.values(verdicts)) expect(count).toBeGreaterThan(ROUNDS / 20);
  expect([...decisions.values()].reduce((sum, count) => sum + count, 0)).toBeLessThan(ROUNDS / 5);
});
