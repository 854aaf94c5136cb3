// RELAY_TIMEOUT is the time of a whole call that is no stream: of all its attempts together, from its first connection to its last byte.
import { connect, createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { chatReply, chunk, DONE, json, type Step, silence, sse } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld, errorOf, QUESTION } from "#test/worlds/relay-world.ts";
import { createRelay } from "./relay.ts";

const world = createRelayWorld();
const LIMIT_MS = 800;
/** Nothing else ends these calls before the test's own timeout: a limit that is not kept is seen, however slow the machine. */
const others = { firstByteMs: 60_000, idleMs: 60_000, streamMs: 60_000 };
let url = "";

beforeEach(async () => {
  if (url === "") url = await world.serve(createRelay(world.ctx, { ...others, totalMs: LIMIT_MS }));
});

const head: Step = (res) => {
  res.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
  res.flushHeaders();
};
const drip: Step = (res) => {
  res.writeHead(200, { "content-type": "application/json" });
  const timer = setInterval(() => res.write(" "), 50);
  res.on("close", () => clearInterval(timer));
};
const MESSAGE = { model: "gpt-4", max_tokens: 10, messages: [{ role: "user", content: "hi" }] };

describe("a call that is no stream", () => {
  it.each<[string, Step, string, unknown]>([
    ["sends nothing", silence, "/v1/chat/completions", QUESTION],
    ["sends a head and then nothing", head, "/v1/chat/completions", QUESTION],
    ["drips", drip, "/v1/chat/completions", QUESTION],
    ["drips, called in another format", drip, "/v1/messages", MESSAGE],
    ["drips vectors", drip, "/v1/embeddings", { model: "gpt-4", input: "hi" }],
    ["drips a picture", drip, "/v1/images/generations", { model: "dall-e-3", prompt: "a cat" }],
  ])("ends in time with 504 when its upstream %s, and costs nothing", async (_, step, path, body) => {
    await world.addChannel({ models: "gpt-4,dall-e-3" });
    world.upstream.script(step);
    const { charged, open } = await world.costOf(async () => {
      const response = await world.ask(body, { url, path });
      expect(response.status).toBe(504);
      const { message } = await errorOf(response);
      expect(message).toMatch(/^(等待上游响应超时|上游响应中断超时)/);
    });
    expect({ charged, open }).toEqual({ charged: 0, open: 0 });
    await world.upstream.journal[0]?.aborted;
  });

  it("has one limit for all its attempts", async () => {
    await world.setOption("RetryTimes", "5");
    for (const priority of [1, 2, 3]) await world.addChannel({ priority });
    world.upstream.script(drip);
    const startedMs = performance.now();
    const response = await world.ask(QUESTION, { url });
    expect(response.status).toBe(504);
    await response.text();
    // Three times the limit would be the limit of each.
    expect(performance.now() - startedMs).toBeLessThan(2 * LIMIT_MS + 1_000);
  });

  it("may fail over within it", async () => {
    await world.setOption("RetryTimes", "1");
    await world.addChannel({ priority: 2 });
    await world.addChannel({ priority: 1 });
    world.upstream.script(json({ error: { message: "no" } }, 500), json(chatReply("hi")));
    expect((await world.ask(QUESTION, { url })).status).toBe(200);
  });

  it("that is sound ends in time", async () => {
    await world.addChannel({ models: "tts-1" });
    world.upstream.script((res) => {
      res.writeHead(200, { "content-type": "audio/mpeg" });
      const timer = setInterval(() => res.write("sound"), 50);
      res.on("close", () => clearInterval(timer));
    });
    const body = { model: "tts-1", input: "hello", voice: "alloy" };
    const response = await world.ask(body, { url, path: "/v1/audio/speech" });
    await expect(response.arrayBuffer()).rejects.toThrow();
  });
});

it("a stream may last longer", async () => {
  await world.addChannel();
  const words = Array.from({ length: 8 }, () => [chunk({ content: "a" }), LIMIT_MS / 4]).flat();
  world.upstream.script(sse(...words, chunk({}, "stop"), DONE));
  const response = await world.ask({ ...QUESTION, stream: true }, { url });
  expect(await response.text()).toContain("[DONE]");
});

describe("an address that takes no connection", () => {
  // A listener whose queue is full: the system answers nothing to further connections.
  const waiting: Socket[] = [];
  let server: Server;
  let port = 0;
  beforeAll(async () => {
    server = createServer(() => undefined);
    await new Promise<void>((resolve) => server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, resolve));
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    port = address.port;
  });
  afterAll(() => {
    for (const socket of waiting) socket.destroy();
    server.close();
  });

  it("does not hold a call beyond its limit", async () => {
    // Where the system accepts connections for the listener, one that accepts and never answers takes its place.
    waiting.push(connect(port, "127.0.0.1"));
    await world.addChannel({ baseUrl: `http://127.0.0.1:${port}` });
    const response = await world.ask(QUESTION, { url });
    expect(response.status).toBe(504);
    await response.text();
  });
});
