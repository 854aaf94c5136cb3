// Connections over real sockets: when one is reused and when never, sinks that throw, and no leaks.
import type { Socket } from "node:net";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Exit } from "#server/egress/exits.ts";
import { createPolicy } from "#server/egress/policy.ts";
import type { EgressRequest, Sink } from "#server/egress/send.ts";
import { answerOf, ask, requestOf, until, withLoopback } from "#test/emulators/raw-http.ts";
import { Connector } from "./connect.ts";
import { ConnectionPool } from "./pool.ts";

const loopback = withLoopback();
const { serve } = loopback;
afterEach(() => void vi.useRealTimers());

/** Sends this to each request; requests are small and arrive in one piece. */
const says = (answer: string) => (socket: Socket) => socket.on("data", () => socket.write(answer));

/** Sends this to the first request, and valid answers afterwards. */
function saysOnce(answer: string | Buffer, then: (socket: Socket) => void = () => undefined) {
  let calls = 0;
  return (socket: Socket) =>
    socket.on("data", () => {
      calls += 1;
      if (calls > 1) socket.write(answerOf("good"));
      else socket.write(answer, () => then(socket));
    });
}

async function textOf(origin: string, more: Partial<EgressRequest> = {}): Promise<string> {
  const text = await loopback.textOf(origin, more);
  // Only then can its connection be reused.
  await turn();
  return text;
}

describe("a connection is reused", () => {
  test("by the next call, whatever the framing of the answer", async () => {
    const answers = [
      answerOf("one"),
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n0\r\n\r\n",
      "HTTP/1.1 204 No Content\r\n\r\n",
      "HTTP/1.1 304 Not Modified\r\ncontent-length: 7\r\n\r\n",
      `HTTP/1.1 100 Continue\r\n\r\n${answerOf("one", "connection: keep-alive\r\n")}`,
    ];
    const { origin, made } = await serve((socket) => {
      socket.on("data", () => socket.write(answers.shift() ?? answerOf("one")));
    });
    for (let call = 0; call < 8; call += 1) expect(["one", ""]).toContain(await textOf(origin));
    expect(made()).toBe(1);
  });

  test("not by a call that begins while the one before ends, but by the next", async () => {
    const { origin, made } = await serve(says(answerOf("one")));
    const { promise, resolve } = Promise.withResolvers<string>();
    await ask(loopback.egress, { origin }, { onEnd: () => void textOf(origin).then(resolve) }).told;
    expect(await promise).toBe("one");
    expect(await textOf(origin)).toBe("one");
    expect(made()).toBe(2);
  });

  test("by no call of another origin", async () => {
    const first = await serve(says(answerOf("first")));
    const second = await serve(says(answerOf("second")));
    for (let turns = 0; turns < 3; turns += 1) {
      expect(await Promise.all([textOf(first.origin), textOf(second.origin)])).toEqual(["first", "second"]);
    }
    expect([first.made(), second.made()]).toEqual([1, 1]);
  });
});

describe("a connection is never reused", () => {
  test.each([
    ["its answer says close", answerOf("good", "connection: close\r\n")],
    ["its answer was HTTP/1.0", answerOf("good", "connection: keep-alive\r\n").replace("1.1", "1.0")],
    ["something came after its answer", `${answerOf("good")}\r\n`],
    ["another answer came after its own", answerOf("good") + answerOf("bad")],
    ["a body came with what has none", `HTTP/1.1 204 x\r\ncontent-length: 3\r\n\r\nbad`],
    ["the server keeps it for as long as a packet travels", answerOf("good", "keep-alive: timeout=2\r\n")],
  ])("when %s", async (_, answer) => {
    const { origin, made, sockets } = await serve(saysOnce(answer));
    expect(["good", ""]).toContain(await textOf(origin));
    await until(() => sockets.size === 0);
    expect(await textOf(origin)).toBe("good");
    expect(made()).toBe(2);
  });

  test("when its answer ended with it", async () => {
    const { origin, made } = await serve(saysOnce("HTTP/1.1 200 OK\r\n\r\ngood", (socket) => socket.end()));
    expect(await textOf(origin)).toBe("good");
    expect(await textOf(origin)).toBe("good");
    expect(made()).toBe(2);
  });

  test("when the server ended it, or sent bytes, while it was idle", async () => {
    for (const then of [
      (socket: Socket) => socket.end(),
      (socket: Socket) => socket.resetAndDestroy(),
      (socket: Socket) => socket.write(answerOf("bad")),
      (socket: Socket) =>
        socket.write("HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"),
    ]) {
      const { origin, made, sockets } = await serve(
        saysOnce(answerOf("good"), (socket) => void sleep(5).then(() => then(socket))),
      );
      expect(await textOf(origin)).toBe("good");
      await until(() => sockets.size === 0);
      expect(await textOf(origin)).toBe("good");
      expect(made()).toBe(2);
    }
  });

  test("when the answer came before the request was completely sent", async () => {
    const { origin, made, sockets } = await serve((socket, at) => {
      if (at === 1) {
        socket.pause();
        socket.write(answerOf("good"));
      } else socket.on("data", () => socket.write(answerOf("good")));
    });
    expect(await textOf(origin, { body: Buffer.alloc(32 << 20) })).toBe("good");
    await until(() => sockets.size === 0 || [...sockets].every((it) => it.isPaused()));
    expect(await textOf(origin)).toBe("good");
    expect(made()).toBe(2);
  });

  test("when the server ends it right after an answer without announcing it", async () => {
    const { origin } = await serve((socket) => socket.on("data", () => socket.end(answerOf("good"))));
    for (let call = 0; call < 100; call += 1) {
      expect((await ask(loopback.egress, { origin }).told).fault).toBeUndefined();
    }
  });

  test("when we have just ended it", async () => {
    const { origin, made } = await serve(says(answerOf("good")));
    const agent = new ConnectionPool({ connector: new Connector() });
    const policy = createPolicy({ allow: [{ cidr: "127.0.0.1/32", port: undefined }] });
    const exit: Exit = {
      name: "",
      owner: "",
      policy,
      path: undefined,
      isOnce: false,
      connectMs: undefined,
      isForgotten: false,
    };
    const own = { send: (request: EgressRequest, sink: Sink) => agent.send(exit, request, sink) };
    expect((await ask(own, { origin }).told).fault).toBeUndefined();
    await turn();
    agent.close();
    expect((await ask(own, { origin }).told).fault).toBeUndefined();
    expect(made()).toBe(2);
    agent.close();
  });

  test("before everything that was read with its answer is delivered", async () => {
    // The answer fills the buffer to its last byte; the following bytes are read at once.
    const size = 65_536 - answerOf("").length - 4;
    const filling = answerOf("a".repeat(size));
    expect(filling.length).toBe(65_536);
    const { origin } = await serve(saysOnce(filling + answerOf("bad")));
    const { promise, resolve } = Promise.withResolvers<string>();
    await ask(loopback.egress, { origin }, { onEnd: () => void textOf(origin).then(resolve) }).told;
    expect(await promise).toBe("good");
  });

  test.each([
    ["30 s after it was used", "", 29_000, 2_000],
    ["two seconds before the server gives it up", "keep-alive: timeout=10\r\n", 7_000, 1_600],
  ])("%s", async (_, line, keptMs, moreMs) => {
    vi.useFakeTimers({ toFake: ["performance", "setInterval", "clearInterval"] });
    const { origin, made, sockets } = await serve(says(answerOf("good", line)));
    await textOf(origin);
    vi.advanceTimersByTime(keptMs);
    await textOf(origin);
    expect(made()).toBe(1);
    vi.advanceTimersByTime(keptMs);
    await turn();
    expect(sockets.size).toBe(1);
    vi.advanceTimersByTime(moreMs);
    await until(() => sockets.size === 0);
    expect(vi.getTimerCount()).toBe(0);
    await textOf(origin);
    expect(made()).toBe(2);
  });
});

describe("a sink that throws", () => {
  const quiet: Sink = {
    onStart: () => undefined,
    onData: () => undefined,
    onEnd: () => undefined,
    onFault: () => undefined,
  };
  const throws = () => {
    throw new Error("a mistake of ours");
  };

  test.each(["onStart", "onData", "onEnd"] as const)(
    "in %s gets a fault, and no other sink does",
    async (name) => {
      const { origin } = await serve(says(answerOf("good")));
      const faults: string[] = [];
      const onFault: Sink["onFault"] = ({ detail }) => faults.push(detail);
      loopback.egress.send(requestOf({ origin }), { ...quiet, onFault, [name]: throws });
      const other = textOf(origin);
      expect(await other).toBe("good");
      await until(() => faults.length > 0);
      expect(faults).toEqual(["a mistake of ours"]);
      expect(await textOf(origin)).toBe("good");
    },
  );

  test("in onFault ends nothing but its own call", async () => {
    const { origin, sockets } = await serve((socket) => {
      socket.on("data", (chunk) => chunk.includes("/bad") && socket.end("nonsense"));
    });
    let heard = 0;
    const onFault = () => {
      heard += 1;
      throws();
    };
    const request = requestOf({ origin, headersTimeoutMs: 40 });
    const sink = { ...quiet, onFault };
    loopback.egress.send({ ...request, path: "/bad" }, sink);
    loopback.egress.send(request, sink);
    loopback.egress.send({ ...request, path: "no path" }, sink);
    loopback.egress.send({ ...request, origin: "http://127.0.0.1:9" }, sink);
    await until(() => heard === 4);
    loopback.egress.send({ ...request, headersTimeoutMs: 0 }, sink);
    await until(() => sockets.size === 1);
    loopback.egress.close();
    await until(() => heard === 5 && sockets.size === 0);
  });

  test("does not harm a call that it started before", async () => {
    const { origin } = await serve(says(answerOf("good")));
    const { promise, resolve } = Promise.withResolvers<string>();
    const onEnd = () => {
      void textOf(origin).then(resolve);
      throws();
    };
    loopback.egress.send(requestOf({ origin }), { ...quiet, onEnd });
    expect(await promise).toBe("good");
  });
});

test("thousands of calls to many origins leave nothing behind", async () => {
  const before = process.getActiveResourcesInfo().filter((it) => /TCP|Timeout|TTY/.test(it)).length;
  vi.useFakeTimers({ toFake: ["performance", "setInterval", "clearInterval"] });
  const many = await Promise.all(Array.from({ length: 100 }, () => serve(says(answerOf("good")))));
  for (let round = 0; round < 5; round += 1) {
    const calls = many.flatMap(({ origin }) => [0, 1, 2, 3].map(() => textOf(origin)));
    expect(new Set(await Promise.all(calls))).toEqual(new Set(["good"]));
  }
  // Long idle connections are closed, and with the last one the timer ends.
  vi.advanceTimersByTime(31_000);
  await until(() => many.every(({ sockets }) => sockets.size === 0));
  expect(vi.getTimerCount()).toBe(0);
  // `close` ends all of them at once.
  await Promise.all(many.map(({ origin }) => textOf(origin)));
  loopback.egress.close();
  await until(() => many.every(({ sockets }) => sockets.size === 0));
  expect(vi.getTimerCount()).toBe(0);
  await loopback.closeServers();
  vi.useRealTimers();
  await until(
    () => process.getActiveResourcesInfo().filter((it) => /TCP|Timeout|TTY/.test(it)).length <= before + 1,
  );
});
