// Clients that call and do not read (requirements R03).
import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { afterAll, beforeEach, expect, it } from "vitest";
import { createRelay } from "#server/relay/relay.ts";
import { chatReply, chunk, DONE, json, sse } from "#test/emulators/fake-upstream.ts";
import { createTestApp } from "#test/worlds/app.ts";
import { createRelayWorld, QUESTION } from "#test/worlds/relay-world.ts";
import { STALL_MS as STALL_LIMIT_MS } from "./client-response.ts";

const world = createRelayWorld();
// Client and server share a process: on a busy machine 30 MB keep it from both for half a second at a time.
const STALL_MS = 1_500;
/** More than the system takes by itself. */
const LARGE = "y".repeat(30_000_000);
const closers: (() => unknown)[] = [];
let port = 0;

beforeEach(async () => {
  await world.addChannel();
  const url = await world.serve(createRelay(world.ctx, { stallMs: STALL_MS }));
  port = Number(new URL(url).port);
});

afterAll(async () => {
  for (const close of closers) await close();
});

/** Sends one request after the other, and reads nothing. */
function ask(...questions: object[]): Socket {
  const socket = connect(port, "127.0.0.1").on("error", () => undefined);
  socket.pause();
  for (const question of questions) {
    const body = JSON.stringify(question);
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${world.token.key}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
  }
  return socket;
}

/** Reads what is there, until the other side ends the connection or `length` bytes have come. */
function readAll(socket: Socket, length: number): Promise<number> {
  return new Promise((resolve) => {
    let bytes = 0;
    socket.on("data", (data) => {
      bytes += data.length;
      if (bytes >= length) resolve(bytes);
    });
    socket.on("close", () => resolve(bytes));
    socket.resume();
  });
}

function running(): number | undefined {
  return world.ctx.events.samples().find(({ name }) => name === "tollgate_relay_running")?.value;
}

it("a client that does not read a whole answer counts as running, and is cut off", async () => {
  world.upstream.script(json(chatReply(LARGE)));
  const { open, entries } = await world.costOf(async () => {
    const socket = ask(QUESTION);
    await expect.poll(async () => (await world.money()).open, { timeout: 30_000 }).toBe(1);
    await expect.poll(async () => (await world.money()).open, { timeout: 30_000 }).toBe(0);
    expect(running()).toBe(1);
    await expect.poll(running, { timeout: 10_000 }).toBe(0);
    expect(await readAll(socket, LARGE.length)).toBeLessThan(LARGE.length);
  });
  expect({ open, entries }).toEqual({ open: 0, entries: 1 });
});

it("a client that does not read the end of a stream is cut off", async () => {
  world.upstream.script(
    sse(...Array.from({ length: 4 }, () => chunk({ content: LARGE.slice(0, 7e6) })), DONE),
  );
  const socket = ask({ ...QUESTION, stream: true });
  await expect.poll(running, { timeout: 30_000 }).toBe(1);
  await expect.poll(running, { timeout: 30_000 }).toBe(0);
  expect(await readAll(socket, 28e6)).toBeLessThan(28e6);
});

it("a client that reads slowly gets all of it", async () => {
  world.upstream.script(json(chatReply(LARGE)));
  const socket = ask(QUESTION);
  let bytes = 0;
  let portion = 0;
  const start = performance.now();
  socket.on("data", (data) => {
    bytes += data.length;
    portion += data.length;
    if (portion < 1e6) return;
    portion = 0;
    socket.pause();
    setTimeout(() => socket.resume(), 120);
  });
  socket.resume();
  await expect.poll(() => bytes, { timeout: 30_000 }).toBeGreaterThan(LARGE.length);
  expect(performance.now() - start).toBeGreaterThan(2 * STALL_MS);
  socket.destroy();
});

it("the next call on the connection may take its time", async () => {
  const large = json(chatReply(LARGE));
  const slow = sse(chunk({ content: "x" }), 2 * STALL_MS, chunk({}, "stop"), DONE);
  world.upstream.script((res, asked) => (asked.json.stream ? slow : large)(res, asked));
  const socket = ask(QUESTION, { ...QUESTION, stream: true });
  let end = "";
  socket.on("data", (data) => {
    end = (end + data.toString("latin1")).slice(-500);
  });
  socket.resume();
  await expect.poll(() => end, { timeout: 30_000 }).toContain("[DONE]");
  socket.destroy();
});

it("answers of the console and the management API have the same limit", async () => {
  const app = await createTestApp();
  closers.push(() => app.close());
  let limitMs: number | undefined;
  const server = createServer((req, res) => {
    app.app.listener(req, res);
    limitMs = req.socket.timeout;
  });
  closers.push(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  await (await fetch(`http://127.0.0.1:${address.port}/`)).text();
  expect(limitMs).toBe(STALL_LIMIT_MS / 2);
});
