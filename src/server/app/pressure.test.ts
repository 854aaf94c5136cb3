// What is turned away when a process holds nearly all it can, in which order, and that it passes (requirements D02).
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { getHeapStatistics } from "node:v8";
import { expect, onTestFinished, test } from "vitest";
import { trimMemory } from "#server/store/trim.ts";
import { chatReply, createFakeUpstream, json } from "#test/emulators/fake-upstream.ts";
import { seedToken } from "#test/seeds/seed.ts";
import { asRoot, createTestApp, type TestApp } from "#test/worlds/app.ts";
import { createPressure, memoryInUse } from "./pressure.ts";

/** A server that takes twenty connections, with a channel behind it. */
async function start() {
  const app: TestApp = await createTestApp({ env: { MAX_CONNECTIONS: "20" } });
  onTestFinished(() => app.close());
  const upstream = await createFakeUpstream();
  onTestFinished(() => upstream.close());
  upstream.script(json(chatReply("hi")));
  const draft = { type: 8, name: "c", key: "k", base_url: upstream.url, models: "gpt-4", group: "default" };
  await app.call(asRoot, "POST", "/api/channel/", draft);
  const { key } = await seedToken(app.ctx, 1);
  const url = await app.listen();
  const { port } = new URL(url);
  const idle: Socket[] = [];
  return {
    url,
    upstream,
    /** Connections of other clients, which do nothing. */
    async hold(count: number) {
      while (idle.length < count) {
        const socket = connect(Number(port), "127.0.0.1");
        socket.on("error", () => undefined);
        idle.push(socket);
        await once(socket, "connect");
      }
      for (const socket of idle.splice(count)) {
        socket.destroy();
        await once(socket, "close");
      }
    },
    // One connection each: a kept one would be counted too.
    get: (path: string, headers: Record<string, string> = {}) =>
      fetch(`${url}${path}`, { headers: { connection: "close", ...headers } }),
    chat: () =>
      fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer sk-${key}`, connection: "close" },
        body: JSON.stringify({ model: "gpt-4", messages: [{ role: "user", content: "hi" }] }),
      }),
  };
}

/** The refusal in each format (requirements D02, P02). */
const REFUSALS = [
  ["/v1/messages", { type: "error", error: { type: "api_error", message: "服务繁忙，请稍后再试" } }],
  ["/v1beta/models/gemini-2.5-flash:generateContent", { error: { code: 503, status: "UNAVAILABLE" } }],
  ["/v1/responses", { error: { code: "overloaded", type: "one_api_error" } }],
] as const;

const statusOf = async (answer: Promise<Response>) => {
  const response = await answer;
  await response.text();
  return response.status;
};

/** What the server says to a handshake of a realtime conversation, until it ends the connection. */
async function upgradeAt(url: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  const handshake = "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13";
  socket.write(
    `GET /v1/realtime?model=m HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n${handshake}\r\n\r\n`,
  );
  return text(socket);
}

test("guests of the console go first, then new calls, then new connections; and all come back", async () => {
  const { url, hold, get, chat, upstream } = await start();
  expect([await statusOf(get("/api/status")), await statusOf(chat())]).toEqual([200, 200]);

  await hold(15);
  const guest = await get("/api/status");
  expect([guest.status, guest.headers.get("retry-after")]).toEqual([503, "3"]);
  expect(await guest.json()).toEqual({ success: false, message: "服务繁忙，请稍后再试", data: null });
  expect(await statusOf(get("/api/user/self", asRoot))).toBe(200);
  expect(await statusOf(get("/api/user/self", { cookie: "session=unknown" }))).toBe(401);
  expect(await statusOf(get("/healthz"))).toBe(200);
  expect(await statusOf(chat())).toBe(200);

  await hold(17);
  const sent = upstream.journal.length;
  const refused = await chat();
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "3"]);
  expect(await refused.json()).toMatchObject({ error: { code: "overloaded", type: "one_api_error" } });
  expect(upstream.journal.length).toBe(sent);
  for (const [path, body] of REFUSALS) {
    const other = await fetch(url + path, { method: "POST", headers: { connection: "close" }, body: "{}" });
    expect([other.status, other.headers.get("retry-after")]).toEqual([503, "3"]);
    expect(other.headers.get("connection")).toBe("close");
    expect(other.headers.get("x-oneapi-request-id")).not.toBeNull();
    expect(await other.json()).toMatchObject(body);
  }
  expect(await upgradeAt(url)).toMatch(/^HTTP\/1\.1 503 .*retry-after: 3.*"code":"overloaded"/s);
  expect(await statusOf(get("/api/user/self", asRoot))).toBe(200);

  await hold(19);
  await expect(get("/healthz")).rejects.toThrow("fetch failed");

  await hold(0);
  await expect.poll(() => statusOf(get("/api/status"))).toBe(200);
  expect(await statusOf(chat())).toBe(200);
});

test("a full memory does the same, and connections are taken again when there is room", async () => {
  let memory = 0;
  const pressure = createPressure({ maxConnections: 1_000, memoryBytes: 0, memoryShare: () => memory });
  onTestFinished(() => pressure.close());
  const server = createServer((_, res) => res.end("ok"));
  pressure.attach(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  const sheds = () => [pressure.shedsGuests(), pressure.shedsCalls()];
  const settle = (share: number) => {
    memory = share;
    return new Promise((resolve) => setTimeout(resolve, 400));
  };
  expect(sheds()).toEqual([false, false]);
  await settle(0.81);
  expect(sheds()).toEqual([true, false]);
  await settle(0.91);
  expect(sheds()).toEqual([true, true]);
  // Two are open; at 95 % no other is taken.
  const inside = [connect(port, "127.0.0.1"), connect(port, "127.0.0.1")];
  await Promise.all(inside.map((socket) => once(socket, "connect")));
  await settle(0.96);
  const late = connect(port, "127.0.0.1");
  late.on("error", () => undefined);
  await once(late, "close");
  await settle(0.5);
  expect(sheds()).toEqual([false, false]);
  expect(await statusOf(fetch(`http://127.0.0.1:${port}/`, { headers: { connection: "close" } }))).toBe(200);
  for (const socket of inside) socket.destroy();
});

test("without a number the system's limit of open files decides", () => {
  const pressure = createPressure({ maxConnections: 0, memoryBytes: 1024 ** 3 });
  expect([pressure.shedsGuests(), pressure.shedsCalls()]).toEqual([false, false]);
  pressure.close();
});

test("memory is the heap or, where that is more, the heap and all buffers", () => {
  const gibibyte = 1024 ** 3;
  const share = (used: number, external: number, memory: number) =>
    memoryInUse(
      { used_heap_size: used, heap_size_limit: gibibyte, external_memory: external },
      memory + 128 * 1024 ** 2,
    );
  expect(share(0.9 * gibibyte, 0, 4 * gibibyte)).toBeCloseTo(0.9);
  expect(share(0.5 * gibibyte, 3 * gibibyte, 4 * gibibyte)).toBeCloseTo(0.875);
  // Where hardly more is there than the process needs for itself.
  expect(share(gibibyte / 32, 0, 0)).toBeCloseTo(0.5);
});

test("bodies that are half sent count, although they lie outside of the heap", async () => {
  trimMemory();
  const { used_heap_size, external_memory } = getHeapStatistics();
  const used = used_heap_size + external_memory;
  // Seven tenths are in use, or less; bodies may take a quarter of all, which is more than is sent here.
  const mebibytes = Math.ceil(used / 0.7 / 1024 ** 2) + 128;
  const sentBytes = used * 0.35 + 27_000_000;
  const app = await createTestApp({ env: { MAX_MEMORY: String(mebibytes) } });
  onTestFinished(() => app.close());
  const { key } = await seedToken(app.ctx, 1);
  const url = await app.listen();
  const status = () => statusOf(fetch(`${url}/v1/models`, { headers: { connection: "close" } }));
  expect(await status()).toBe(401);
  const piece = Buffer.alloc(1_000_000, " ");
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  for (let left = sentBytes; left > 0; left -= 30 * piece.length) {
    const socket = connect(Number(new URL(url).port), "127.0.0.1").on("error", () => undefined);
    sockets.push(socket);
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-${key}\r\nContent-Length: 33000000\r\n\r\n`,
    );
    // The same bytes again and again: nothing of them is held on this side.
    for (let at = 0; at < Math.min(30, left / piece.length); at += 1) socket.write(piece);
  }
  // Where it is more than enough new connections are refused too.
  await expect.poll(() => status().catch(() => 503), { timeout: 10_000 }).toBe(503);
  for (const socket of sockets.splice(0)) socket.destroy();
  // It passes by itself.
  await expect.poll(status, { timeout: 30_000 }).toBe(401);
});
