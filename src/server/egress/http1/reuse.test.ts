// An upstream that answers once too often: what keeps that answer from the next caller, and what it costs where all is well (requirements
// C18 to C23). HTTP/1.1 answers carry no name, so the only proof is what callers were told.
import type { Socket } from "node:net";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createEgress, type Egress, type EgressOptions } from "#server/egress/dispatcher.ts";
import type { EgressRequest } from "#server/egress/send.ts";
import { answerOf, ask, type Listening, listen, until } from "#test/emulators/raw-http.ts";
import { type Desync, newest, StoppedReuse } from "./pool.ts";

afterEach(() => void vi.useRealTimers());

function egressFor(options: Partial<EgressOptions> = {}): Egress & { desyncs: Desync[] } {
  const desyncs: Desync[] = [];
  const allow = [{ cidr: "127.0.0.0/8", port: undefined }];
  const egress = createEgress({ allow, onDesync: (desync) => desyncs.push(desync), ...options });
  onTestFinished(() => egress.close());
  return { ...egress, desyncs };
}

async function serve(onSocket: (socket: Socket, at: number) => void): Promise<Listening> {
  const server = await listen(onSocket);
  onTestFinished(() => server.close());
  return server;
}

/** Answers each request with its own path; the first of each connection `surplus` times more, so many ms later. */
function poisoned(
  lateMs: number,
  write: (socket: Socket, answer: string) => void = (socket, text) => void socket.write(text),
) {
  return (socket: Socket) => {
    let first: string | undefined;
    socket.on("data", (bytes: Buffer) => {
      const path = / (\S+) /.exec(bytes.toString("latin1"))?.[1] ?? "";
      const answer = answerOf(path);
      socket.write(answer);
      if (first !== undefined) return;
      first = answer;
      if (lateMs === 0) write(socket, answer);
      else setTimeout(() => socket.destroyed || write(socket, answer), lateMs);
    });
  };
}

/** An upstream that is well. */
const healthy =
  (afterMs = 0) =>
  (socket: Socket) =>
    socket.on("data", (bytes: Buffer) => {
      const answer = answerOf(/ (\S+) /.exec(bytes.toString("latin1"))?.[1] ?? "");
      if (afterMs === 0) socket.write(answer);
      else setTimeout(() => socket.write(answer), afterMs);
    });

interface Load {
  readonly calls: number;
  readonly atOnce: number;
  /** Pause of each caller between two calls. */
  readonly pauseMs: number;
  readonly owner?: string;
}

/** How many callers were told another's answer. */
async function wrongAnswers(
  egress: Egress,
  origin: string,
  { calls, atOnce, pauseMs, owner = "channel 1" }: Load,
): Promise<number> {
  let wrong = 0;
  let next = 0;
  const route = { owner, proxies: [] };
  const caller = async () => {
    while (next < calls) {
      next += 1;
      const path = `/${owner.replace(" ", "-")}/${next}`;
      const { body, fault } = await ask(egress, { origin, path, route, id: path }).told;
      if (fault === undefined && body.toString() !== path) wrong += 1;
      if (pauseMs > 0) await sleep(pauseMs);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, caller));
  return wrong;
}

const origin = ({ port }: Listening) => `http://127.0.0.1:${port}`;

describe("an answer too many", () => {
  // Under load the pauses grow, and with them what is late; the bounds are those of a whole run of 400 calls.
  test.each([
    [0, 0, 1],
    [1, 0, 1],
    [5, 0, 1],
    [50, 20, 20],
    [300, 20, 20],
  ])("that is %i ms late reaches hardly any caller, then none", async (lateMs, pauseMs, most) => {
    const server = await serve(poisoned(lateMs));
    const egress = egressFor();
    const load = { calls: 400, atOnce: 8, pauseMs };
    expect(await wrongAnswers(egress, origin(server), load)).toBeLessThanOrEqual(most);
    // It was noticed, told with the calls it may concern, and from then on each call has a connection of its own.
    await until(() => egress.desyncs.length > 0);
    const { calls, owner } = egress.desyncs[0] ?? { calls: [] };
    expect(owner).toBe("channel 1");
    expect(calls.length).toBeGreaterThan(0);
    expect(calls.every((path) => path.startsWith("/channel-1/"))).toBe(true);
    expect(egress.isReuseStopped("channel 1")).toBe(true);
    const before = server.made();
    expect(await wrongAnswers(egress, origin(server), { calls: 20, atOnce: 1, pauseMs: 0 })).toBe(0);
    expect(server.made()).toBe(before + 20);
  });

  test("never reaches another channel of the same origin", async () => {
    // Every connection gets one answer too many, but only those of the first channel are used again before that is noticed.
    const server = await serve((socket) => {
      let isPoisoned: boolean | undefined;
      socket.on("data", (bytes: Buffer) => {
        const path = / (\S+) /.exec(bytes.toString("latin1"))?.[1] ?? "";
        socket.write(answerOf(path));
        if (isPoisoned === undefined) {
          isPoisoned = path.startsWith("/channel-1/");
          if (isPoisoned) setTimeout(() => socket.destroyed || socket.write(answerOf(path)), 30);
        }
      });
    });
    const egress = egressFor();
    const load = { calls: 150, atOnce: 4, pauseMs: 5 };
    const [, wrong] = await Promise.all([
      wrongAnswers(egress, origin(server), { ...load, owner: "channel 1" }),
      wrongAnswers(egress, origin(server), { ...load, owner: "channel 2" }),
    ]);
    expect(wrong).toBe(0);
    expect(egress.isReuseStopped("channel 1")).toBe(true);
    expect(egress.isReuseStopped("channel 2")).toBe(false);
    expect(egress.desyncs.every(({ owner }) => owner === "channel 1")).toBe(true);
  });

  test.each([
    [
      "in two pieces",
      (socket: Socket, text: string) => {
        socket.write(text.slice(0, 20));
        setTimeout(() => socket.destroyed || socket.write(text.slice(20)), 5);
      },
    ],
    ["of which only an H comes", (socket: Socket) => void socket.write("H")],
    ["that begins like a 408", (socket: Socket) => void socket.write("HTTP/1.1 40")],
  ])("%s stops the use of connections at once", async (_, write) => {
    const server = await serve(poisoned(5, write));
    const egress = egressFor();
    expect(await wrongAnswers(egress, origin(server), { calls: 1, atOnce: 1, pauseMs: 0 })).toBe(0);
    await until(() => egress.isReuseStopped("channel 1"));
    expect(await wrongAnswers(egress, origin(server), { calls: 5, atOnce: 1, pauseMs: 0 })).toBe(0);
    expect(server.made()).toBe(6);
    // What it was is certain a second later at the latest.
    await until(() => egress.desyncs.length > 0);
  });

  test("behind a body counts at once", async () => {
    const server = await serve((socket) => socket.on("data", () => socket.write(`${answerOf("/a")}\r\n`)));
    const egress = egressFor();
    await ask(egress, { origin: origin(server), route: { owner: "channel 1", proxies: [] } }).told;
    expect(egress.isReuseStopped("channel 1")).toBe(true);
  });

  test("stops for ten minutes, then for twice as long, at most a day", () => {
    const minute = 60_000;
    const stopped = new StoppedReuse();
    stopped.stop(0);
    stopped.stop(5 * minute);
    expect([stopped.isStopped(10 * minute - 1), stopped.isStopped(10 * minute)]).toEqual([true, false]);
    let now = 10 * minute;
    for (const minutes of [20, 40, 80, 160, 320, 640, 1280, 1440, 1440]) {
      stopped.stop(now);
      expect(stopped.isStopped(now + minutes * minute - 1)).toBe(true);
      now += minutes * minute;
      expect(stopped.isStopped(now)).toBe(false);
    }
    expect([stopped.isRemembered(now + 1439 * minute), stopped.isRemembered(now + 1440 * minute)]).toEqual([
      true,
      false,
    ]);
  });
});

describe("before a request is written", () => {
  test("what is in the kernel already is seen: the call goes to another connection, untouched", async () => {
    const sockets: Socket[] = [];
    const server = await serve((socket) => {
      sockets.push(socket);
      healthy()(socket);
    });
    const egress = egressFor({ restMs: 0 });
    const route = { owner: "channel 1", proxies: [] };
    const call = (path: string) => ask(egress, { origin: origin(server), path, route }).told;
    expect((await call("/one")).body.toString()).toBe("/one");
    await turn();
    await turn();
    // Written to the kernel now; the loop has read nothing when the next call takes the connection.
    sockets[0]?.write(answerOf("/one"));
    expect((await call("/two")).body.toString()).toBe("/two");
    expect(server.made()).toBe(2);
    expect(egress.isReuseStopped("channel 1")).toBe(true);
  });

  test("an aborted call leaves its connection to the next", async () => {
    const server = await serve(healthy());
    const egress = egressFor({ restMs: 0 });
    const once = () => ask(egress, { origin: origin(server), path: "/x" });
    await once().told;
    await turn();
    const aborted = once();
    aborted.flow.abort();
    for (let round = 0; round < 6; round += 1) await turn();
    expect((await once().told).body.toString()).toBe("/x");
    expect([server.made(), aborted.flow.isSent]).toEqual([1, false]);
  });
});

describe("an upstream that closes an idle connection", () => {
  test.each([
    ["by FIN", (socket: Socket) => void socket.end()],
    ["by a reset", (socket: Socket) => void socket.resetAndDestroy()],
    [
      "with a 408",
      (socket: Socket) => void socket.end("HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n"),
    ],
    [
      "with a 408 in pieces",
      (socket: Socket) => {
        socket.write("HTTP/1.0 4");
        setTimeout(() => socket.end("08 Timeout\r\n\r\n"), 20);
      },
    ],
  ])("%s is not out of step", async (_, close) => {
    let at = 0;
    const server = await serve((socket) => {
      at += 1;
      const mine = at;
      healthy()(socket);
      if (mine === 1) socket.once("data", () => setTimeout(close, 5, socket));
    });
    const egress = egressFor();
    expect(await wrongAnswers(egress, origin(server), { calls: 1, atOnce: 1, pauseMs: 0 })).toBe(0);
    await until(() => server.sockets.size === 0);
    await until(() => !egress.isReuseStopped("channel 1"));
    expect(await wrongAnswers(egress, origin(server), { calls: 2, atOnce: 1, pauseMs: 40 })).toBe(0);
    expect([server.made(), egress.desyncs]).toEqual([2, []]);
  });
});

describe("a connection is used up", () => {
  const middle = { restMs: 0, random: () => 0.5 };

  test("after a thousand calls", async () => {
    const server = await serve(healthy());
    const egress = egressFor(middle);
    for (let call = 0; call < 1_001; call += 1) {
      await ask(egress, { origin: origin(server) }).told;
      await turn();
      if (call === 999) expect(server.made()).toBe(1);
    }
    expect(server.made()).toBe(2);
  });

  test("after ten minutes", async () => {
    vi.useFakeTimers({ toFake: ["performance", "setInterval", "clearInterval"] });
    const server = await serve(healthy());
    const egress = egressFor(middle);
    const call = async () => {
      await ask(egress, { origin: origin(server) }).told;
      await turn();
    };
    for (let minute = 0; minute < 22; minute += 1) {
      await call();
      vi.advanceTimersByTime(29_000);
    }
    // 22 calls, the last of them 10 minutes and 9 seconds after the first.
    expect(server.made()).toBe(2);
  });

  test.each([
    ["the answer says 408", "HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n", "application/json"],
    ["the answer says 421", "HTTP/1.1 421 Misdirected\r\ncontent-length: 0\r\n\r\n", "application/json"],
    [
      "a stream comes that the call did not ask for",
      answerOf("x", "content-type: text/event-stream\r\n"),
      "application/json",
    ],
  ])("when %s", async (_, answer, accept) => {
    const server = await serve((socket) => socket.on("data", () => socket.write(answer)));
    const egress = egressFor({ restMs: 0 });
    const more: Partial<EgressRequest> = { headers: ["accept", accept] };
    for (let call = 0; call < 2; call += 1) {
      await ask(egress, { origin: origin(server), ...more }).told;
      await turn();
    }
    expect([server.made(), egress.desyncs]).toEqual([2, []]);
  });

  test("at once, when its channel wants no connection used twice", async () => {
    const server = await serve(healthy());
    const egress = egressFor({ restMs: 0 });
    const route = { owner: "channel 1", proxies: [], isOnce: true } as const;
    for (let call = 0; call < 3; call += 1) {
      await ask(egress, { origin: origin(server), route }).told;
      await turn();
    }
    expect(server.made()).toBe(3);
  });
});

test("a GET whose used connection is reset is asked again, a POST is not", async () => {
  for (const [method, expected] of [
    ["GET", undefined],
    ["POST", "reset"],
  ] as const) {
    const own = await serve((socket, at) => {
      let calls = 0;
      socket.on("data", () => {
        calls += 1;
        if (at === 1 && calls > 1) socket.resetAndDestroy();
        else socket.write(answerOf("good"));
      });
    });
    const egress = egressFor({ restMs: 0 });
    const request = { origin: origin(own), method, body: undefined };
    await ask(egress, request).told;
    await turn();
    expect((await ask(egress, request).told).fault?.code).toBe(expected);
  }
});

describe("where all is well", () => {
  test("5,000 calls of 50 callers need few connections (requirements C23)", async () => {
    const server = await serve(healthy(2));
    const egress = egressFor();
    const load = { calls: 5_000, atOnce: 50, pauseMs: 10 };
    expect(await wrongAnswers(egress, origin(server), load)).toBe(0);
    expect(egress.desyncs).toEqual([]);
    expect(server.made()).toBeLessThanOrEqual(3 * load.atOnce);
  });

  test("the newest connection that has rested is found", () => {
    const idle = [1, 5, 5, 9].map((idleSinceMs) => ({ idleSinceMs }));
    expect([0, 1, 4, 5, 8, 9, 99].map((until) => newest(idle, until))).toEqual([-1, 0, 0, 2, 2, 3, 3]);
    expect(newest([], 5)).toBe(-1);
  });
});
