// Who is turned away when a process holds nearly all it can, in which order, and that it passes (reliability D02).
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { asRoot, createTestApp, type TestApp } from "#test/app.ts";
import { chatReply, createFakeUpstream, json } from "#test/fake-upstream.ts";
import { seedToken } from "#test/seed.ts";
import { createPressure } from "./pressure.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

/** A server that takes twenty connections, with a channel behind it. */
async function start() {
  const app: TestApp = await createTestApp({ env: { MAX_CONNECTIONS: "20" } });
  cleanups.push(() => app.close());
  const upstream = await createFakeUpstream();
  cleanups.push(() => upstream.close());
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
    /** Connections of others that do nothing. */
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

const statusOf = async (answer: Promise<Response>) => {
  const response = await answer;
  await response.text();
  return response.status;
};

test("guests of the console go first, then new calls, then new connections; and all come back", async () => {
  const { hold, get, chat, upstream } = await start();
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
  expect(await statusOf(get("/api/user/self", asRoot))).toBe(200);

  await hold(19);
  await expect(get("/healthz")).rejects.toThrow("fetch failed");

  await hold(0);
  await expect.poll(() => statusOf(get("/api/status")), { timeout: 5_000 }).toBe(200);
  expect(await statusOf(chat())).toBe(200);
});

test("a full heap does the same, and the door opens again when there is room", async () => {
  let heap = 0;
  const pressure = createPressure({ maxConnections: 1_000, heapShare: () => heap });
  cleanups.push(() => pressure.close());
  const server = createServer((_, res) => res.end("ok"));
  pressure.attach(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => server.close());
  const address = server.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  const sheds = () => [pressure.shedsGuests(), pressure.shedsCalls()];
  const settle = (share: number) => {
    heap = share;
    return new Promise((resolve) => setTimeout(resolve, 400));
  };
  expect(sheds()).toEqual([false, false]);
  await settle(0.81);
  expect(sheds()).toEqual([true, false]);
  await settle(0.91);
  expect(sheds()).toEqual([true, true]);
  // Two are in; at 95 % nobody else gets in.
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
  const pressure = createPressure({ maxConnections: 0 });
  expect([pressure.shedsGuests(), pressure.shedsCalls()]).toEqual([false, false]);
  pressure.close();
});
