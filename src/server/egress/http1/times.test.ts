// Timeouts, pauses and aborts of calls over real sockets; long times use a fake clock.
import { randomBytes } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import type { Socket } from "node:net";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { EgressRequest, Flow } from "#server/egress/send.ts";
import {
  type Asked,
  answerOf,
  ask,
  type Listening,
  startDeaf,
  until,
  withLoopback,
} from "#test/emulators/raw-http.ts";

const loopback = withLoopback();
afterEach(() => void vi.useRealTimers());

/** Records each connection that got a request. */
async function serve(): Promise<Listening & { readonly asked: Socket[] }> {
  const asked: Socket[] = [];
  const server = await loopback.serve((socket) => socket.once("data", () => asked.push(socket)));
  return { ...server, asked };
}

/** Writes to the connection, and waits until it was received. */
async function say(socket: Socket | undefined, text: string): Promise<void> {
  if (socket === undefined) throw new Error("no request came");
  await new Promise<void>((resolve) => socket.write(text, () => resolve()));
  for (let round = 0; round < 4; round += 1) await turn();
}

/** The fault of a call that has ended; `none` = it is complete, `open` = it still runs. */
async function stateOf({ told }: Asked): Promise<string> {
  for (let round = 0; round < 3; round += 1) await turn();
  return Promise.race([told.then(({ fault }) => fault?.code ?? "none"), turn("open")]);
}

const HEAD = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n";

describe("timeouts", () => {
  const skip = (ms: number) => void vi.advanceTimersByTime(ms);
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["performance", "setInterval", "clearInterval"] });
  });

  async function start(more: Partial<EgressRequest> = {}) {
    const server = await serve();
    const asked = ask(loopback.egress, {
      origin: server.origin,
      headersTimeoutMs: 120_000,
      idleTimeoutMs: 90_000,
      ...more,
    });
    await until(() => server.asked.length > 0);
    const [socket] = server.asked;
    return { server, asked, say: (text: string) => say(socket, text) };
  }

  test("ten seconds until a connection is open, its TLS included", async () => {
    const { origin, sockets } = await serve();
    const asked = ask(loopback.egress, { origin: origin.replace("http", "https"), headersTimeoutMs: 0 });
    await until(() => sockets.size === 1);
    skip(9_400);
    expect(await stateOf(asked)).toBe("open");
    expect(asked.flow.isSent).toBe(false);
    skip(1_200);
    expect(await stateOf(asked)).toBe("connect_timeout");
    await until(() => sockets.size === 0);
  });

  test("a target's own time until a connection is open", async () => {
    const { origin, sockets } = await serve();
    const route = { owner: "channel 1", proxies: [], connectMs: 3_000 };
    const asked = ask(loopback.egress, {
      origin: origin.replace("http", "https"),
      headersTimeoutMs: 0,
      route,
    });
    await until(() => sockets.size === 1);
    skip(2_400);
    expect(await stateOf(asked)).toBe("open");
    skip(1_200);
    expect(await stateOf(asked)).toBe("connect_timeout");
  });

  test("ten seconds also for a server that accepts no connection", async () => {
    const { port, close } = await startDeaf();
    const origin = `http://127.0.0.1:${port}`;
    const many = Array.from({ length: 12 }, () => ask(loopback.egress, { origin, headersTimeoutMs: 0 }));
    await sleep(50);
    const waiting = many.filter(({ flow }) => !flow.isSent);
    expect(waiting.length).toBeGreaterThan(0);
    skip(9_400);
    for (const asked of waiting) expect(await stateOf(asked)).toBe("open");
    skip(1_200);
    for (const asked of waiting) expect(await stateOf(asked)).toBe("connect_timeout");
    loopback.egress.close();
    await close();
  });

  test("until the head has arrived, whatever other bytes arrive", async () => {
    const { server, asked, say } = await start();
    skip(119_000);
    await say("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-");
    expect(await stateOf(asked)).toBe("open");
    skip(1_600);
    expect(await stateOf(asked)).toBe("timeout");
    await until(() => server.sockets.size === 0);
  });

  test("none until the head where none is set; then one between two pieces", async () => {
    const { server, asked, say } = await start({ headersTimeoutMs: 0 });
    skip(3_600_000);
    await say("HTTP/1.1 200 OK\r\n");
    skip(3_600_000);
    expect(await stateOf(asked)).toBe("open");
    await say("content-length: 100\r\n\r\n");
    for (let piece = 0; piece < 5; piece += 1) {
      skip(89_000);
      expect(await stateOf(asked)).toBe("open");
      await say("x");
    }
    skip(90_600);
    expect(await stateOf(asked)).toBe("idle");
    expect((await asked.told).body.toString()).toBe("xxxxx");
    await until(() => server.sockets.size === 0);
  });

  test("none while the call is paused; again as soon as it is resumed", async () => {
    const { asked, say } = await start();
    await say(`${HEAD}x`);
    asked.flow.pause();
    skip(3_600_000);
    expect(await stateOf(asked)).toBe("open");
    asked.flow.resume();
    skip(89_000);
    expect(await stateOf(asked)).toBe("open");
    asked.flow.pause();
    skip(89_000);
    asked.flow.resume();
    await say("y".repeat(49));
    skip(89_000);
    expect(await stateOf(asked)).toBe("open");
    skip(1_600);
    expect(await stateOf(asked)).toBe("idle");
  });

  test("none at all where none is set", async () => {
    const { asked, say } = await start({ headersTimeoutMs: 0, idleTimeoutMs: 0 });
    await say(`${HEAD}x`);
    skip(3_600_000);
    await say("y".repeat(99));
    expect(await stateOf(asked)).toBe("none");
  });

  test("of the last call does not count for the next one on its connection", async () => {
    const { server, asked, say } = await start({ headersTimeoutMs: 4_000, idleTimeoutMs: 4_000 });
    skip(3_000);
    await say(answerOf("x"));
    expect(await stateOf(asked)).toBe("none");
    skip(3_000);
    const next = ask(loopback.egress, {
      origin: server.origin,
      headersTimeoutMs: 60_000,
      idleTimeoutMs: 60_000,
    });
    // The connection is watched for a turn before the request is sent.
    expect(await stateOf(next)).toBe("open");
    skip(50_000);
    expect(await stateOf(next)).toBe("open");
    expect(server.made()).toBe(1);
    await say(answerOf("y"));
    expect(await stateOf(next)).toBe("none");
  });
});

test("an open connection that TCP gives up is no failed connect", async () => {
  const { origin, asked } = await serve();
  const sockets: Socket[] = [];
  const keep = (message: unknown) => void sockets.push((message as { socket: Socket }).socket);
  subscribe("net.client.socket", keep);
  const calls = [ask(loopback.egress, { origin }), ask(loopback.egress, { origin })];
  unsubscribe("net.client.socket", keep);
  await until(() => asked.length === 2);
  // Either socket is the server's end of one of the calls.
  for (const socket of asked) if (socket.remotePort === sockets[1]?.localPort) await say(socket, `${HEAD}x`);
  for (const socket of sockets)
    socket.destroy(Object.assign(new Error("read ETIMEDOUT"), { code: "ETIMEDOUT" }));
  expect(await Promise.all(calls.map(stateOf))).toEqual(["timeout", "idle"]);
});

test("short timeouts are precise", async () => {
  const { origin, asked } = await serve();
  const beginMs = performance.now();
  const silent = ask(loopback.egress, { origin, headersTimeoutMs: 60 });
  const stuck = ask(loopback.egress, { origin, idleTimeoutMs: 60 });
  const held = ask(loopback.egress, { origin, idleTimeoutMs: 60 }, { onStart: (flow) => flow.pause() });
  await until(() => asked.length === 3);
  for (const socket of asked.slice(1)) await say(socket, `${HEAD}x`);
  expect((await silent.told).fault?.code).toBe("timeout");
  expect((await stuck.told).fault?.code).toBe("idle");
  expect(performance.now() - beginMs).toBeLessThan(1_500);
  await sleep(700);
  expect(await stateOf(held)).toBe("open");
  held.flow.resume();
  expect((await held.told).fault?.code).toBe("idle");
});

describe("a pause", () => {
  test("stops the server, and loses no bytes", async () => {
    const piece = randomBytes(1 << 20);
    const pieces = 60;
    let written = 0;
    const server = await loopback.serve((socket) => {
      socket.once("data", async () => {
        socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
        for (; written < pieces; written += 1) {
          socket.write(`${piece.length.toString(16)}\r\n`);
          socket.write(piece);
          if (!socket.write("\r\n")) await once(socket, "drain");
        }
        socket.end("0\r\n\r\n");
      });
    });
    let pauses = 0;
    const { flow, told, bytes } = ask(
      loopback.egress,
      { origin: server.origin },
      {
        onData(_, it) {
          pauses += 1;
          if (pauses % 40 !== 1) return;
          it.pause();
          if (pauses > 1) setTimeout(() => it.resume(), 1);
        },
      },
    );
    await until(() => written > 0);
    for (let last = -1; last !== written; await sleep(200)) last = written;
    const standing = { bytes: bytes(), written };
    expect(standing.bytes).toBeLessThanOrEqual(1 << 16);
    expect(written).toBeLessThan(pieces - 10);
    flow.resume();
    const { body, fault } = await told;
    expect(fault).toBeUndefined();
    expect(body.length).toBe(pieces * piece.length);
    for (let at = 0; at < pieces; at += 1) {
      expect(body.compare(piece, 0, piece.length, at * piece.length, (at + 1) * piece.length)).toBe(0);
    }
  });

  test("at the last piece harms neither its call nor the next one", async () => {
    const { origin, asked, made } = await serve();
    const first = ask(loopback.egress, { origin }, { onData: (_, flow) => flow.pause() });
    await until(() => asked.length === 1);
    await say(asked[0], answerOf("one"));
    expect((await first.told).body.toString()).toBe("one");
    const next = ask(loopback.egress, { origin });
    first.flow.resume();
    first.flow.pause();
    expect(await stateOf(next)).toBe("open");
    await say(asked[0], answerOf("two"));
    expect((await next.told).body.toString()).toBe("two");
    expect(made()).toBe(1);
  });

  test("does not keep back the end of a connection", async () => {
    const { origin, asked } = await serve();
    const call = ask(loopback.egress, { origin }, { onStart: (flow) => flow.pause() });
    await until(() => asked.length === 1);
    await say(asked[0], "HTTP/1.1 200 OK\r\n\r\none");
    asked[0]?.end("two");
    await sleep(20);
    call.flow.resume();
    expect(await call.told).toMatchObject({ fault: undefined, body: Buffer.from("onetwo") });
  });
});

describe("abort", () => {
  /** Brings a call to this state and aborts it there. */
  const places: [string, string, (flow: Flow) => void][] = [
    ["before anything", "", () => undefined],
    ["when it is sent", "sent", () => undefined],
    ["in its head", "HTTP/1.1 200 OK\r\nx", () => undefined],
    ["in its body", `${HEAD}x`, () => undefined],
    ["in a chunk", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nx", () => undefined],
    ["while paused", `${HEAD}x`, (flow) => flow.pause()],
  ];

  test.each(places)("%s silences it at once and ends its connection", async (_, text, before) => {
    const { origin, asked, sockets, made } = await serve();
    let heard = 0;
    const hear = () => {
      heard += 1;
    };
    const request: EgressRequest = {
      method: "POST",
      origin,
      path: "/",
      headers: [],
      body: Buffer.from("x"),
      headersTimeoutMs: 50,
      idleTimeoutMs: 50,
    };
    const flow = loopback.egress.send(request, { onStart: hear, onData: hear, onEnd: hear, onFault: hear });
    if (text !== "") await until(() => asked.length === 1);
    if (text.startsWith("HTTP")) await say(asked[0], text);
    before(flow);
    flow.abort();
    const then = heard;
    flow.abort();
    flow.pause();
    flow.resume();
    for (const socket of asked) if (!socket.destroyed) socket.write("x".repeat(100));
    await sleep(70);
    expect(heard).toBe(then);
    await until(() => sockets.size === 0);
    const next = ask(loopback.egress, { origin });
    await until(() => asked.length === (text === "" ? 1 : 2));
    await say(asked.at(-1), answerOf("next"));
    expect((await next.told).body.toString()).toBe("next");
    expect(made()).toBeLessThanOrEqual(2);
  });

  test.each(["onStart", "onData", "onEnd"] as const)("in %s", async (place) => {
    const { origin, asked, sockets } = await serve();
    const heard: string[] = [];
    const request: EgressRequest = {
      method: "GET",
      origin,
      path: "/",
      headers: [],
      body: undefined,
      headersTimeoutMs: 0,
      idleTimeoutMs: 0,
    };
    const hear = (name: string) => () => {
      heard.push(name);
      if (name === place) flow.abort();
    };
    const flow: Flow = loopback.egress.send(request, {
      onStart: hear("onStart"),
      onData: hear("onData"),
      onEnd: hear("onEnd"),
      onFault: hear("onFault"),
    });
    await until(() => asked.length === 1);
    await say(asked[0], answerOf("whole"));
    await sleep(20);
    const all = ["onStart", "onData", "onEnd"];
    expect(heard).toEqual(all.slice(0, all.indexOf(place) + 1));
    // A complete answer cannot be aborted any more.
    expect(sockets.size).toBe(place === "onEnd" ? 1 : 0);
  });
});
