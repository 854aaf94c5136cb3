// What goes wrong on a socket of Responses (requirements C61): each in the code that clients know, with the limits' names as by HTTP; a
// client that leaves is charged as by HTTP; sockets close when the process ends.
import { once } from "node:events";
import { createServer } from "node:http";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { chunk, DONE, type Step, sse, usageChunk } from "#test/emulators/fake-upstream.ts";
import { type Event, openResponses, type ResponsesClient } from "#test/emulators/responses-client.ts";
import { dropLimits, seedLimit } from "#test/worlds/limits.ts";
import { createRelayWorld } from "#test/worlds/relay-world.ts";
import { createRelay } from "./relay.ts";

const world = createRelayWorld();
const model = "gpt-4o";
const CHAT = 31;
const PATIENCE = { timeout: 10_000 };
const clients: ResponsesClient[] = [];
const says = sse(
  ...[chunk({ content: "Done." }), chunk({}, "stop")],
  ...[usageChunk({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }), DONE],
);
const hi = { model, input: "hi" };

beforeEach(async () => {
  await world.addChannel({ type: CHAT, models: model });
  world.upstream.script(says);
});
afterEach(async () => {
  for (const { socket } of clients.splice(0)) socket.terminate();
  await dropLimits(world.ctx);
});

function open(base = world.url, headers: Record<string, string> = {}): ResponsesClient {
  const client = openResponses(base, world.token.key, headers);
  clients.push(client);
  return client;
}

/** A stream that begins, and goes on when the test says so. */
function held(): { readonly step: Step; readonly release: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const step: Step = async (res, asked) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write(chunk({ content: "first" }));
    await Promise.race([promise, asked.aborted]);
    res.end(
      chunk({}, "stop") + usageChunk({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }) + DONE,
    );
  };
  return { step, release: resolve };
}

const until = async (client: ResponsesClient, type: string): Promise<Event> => {
  for (;;) {
    const [event] = await client.next();
    if (event.type === type) return event;
  }
};
const sockets = () =>
  world.ctx.events.samples().find(({ name }) => name === "tollgate_responses_sockets")?.value;

describe("a message that is no call", () => {
  const create = (fields: object) => JSON.stringify({ type: "response.create", ...hi, ...fields });
  it.each<[string, string | Buffer, string | null]>([
    ["binary", Buffer.from(create({})), null],
    ["no JSON", "hello", null],
    ["a list", "[]", null],
    ["a name twice", '{"type":"response.create","type":"response.create"}', null],
    ["a type that is not known", '{"type":"response.steer"}', "type"],
    ["in the background", create({ background: true }), "background"],
    ["one of several lanes", create({ stream_id: "a" }), "stream_id"],
    ["an id that is no text", create({ previous_response_id: 7 }), "previous_response_id"],
    ["a warm-up that is neither", create({ generate: "no" }), "generate"],
    ["without a model", '{"type":"response.create","input":"hi"}', "model"],
    ["without input", create({ input: null }), "input"],
    ["with a conversation", create({ conversation: "conv_1" }), "conversation"],
  ])("%s is answered with an error, and the next call is served", async (_, message, param) => {
    const client = open();
    client.say(message);
    const [event] = await client.next();
    expect(event).toMatchObject({
      ...{ type: "error", status: 400 },
      error: { type: "invalid_request_error", code: "invalid_text_request", param },
      headers: { "x-oneapi-request-id": expect.any(String) },
    });
    expect(world.upstream.journal).toEqual([]);
    expect((await client.create(hi)).at(-1).type).toBe("response.completed");
  });

  it("of Codex about a response it has is not answered", async () => {
    const client = open();
    client.say({ type: "response.processed", response_id: "resp_1" });
    expect((await client.create(hi))[0].type).toBe("response.created");
  });
});

describe("a call that is not taken", () => {
  it("is the second of two at once; the first goes on", async () => {
    const { step, release } = held();
    world.upstream.script(step);
    const { entries, open: left } = await world.costOf(async () => {
      const client = open();
      client.say({ type: "response.create", ...hi });
      client.say({ type: "response.create", ...hi });
      const refusal = await until(client, "error");
      expect(refusal).toMatchObject({ status: 409, error: { code: "response_in_progress" } });
      await until(client, "response.output_text.delta");
      release();
      await until(client, "response.completed");
    });
    expect({ entries, left, asked: world.upstream.journal.length }).toEqual({
      entries: 1,
      left: 0,
      asked: 1,
    });
  });

  it("goes on from an id that its socket does not know", async () => {
    const client = open();
    const known = (await client.create(hi)).at(-1).response.id;
    const other = open();
    for (const id of ["resp_never", known]) {
      const [refusal] = await other.create({ ...hi, previous_response_id: id });
      expect(refusal).toMatchObject({
        ...{ type: "error", status: 400 },
        error: { code: "previous_response_not_found", param: "previous_response_id" },
      });
    }
    // The last one alone is kept, whatever was refused in between.
    await client.create({ ...hi, previous_response_id: "resp_never" });
    const next = (await client.create({ ...hi, previous_response_id: known })).at(-1);
    expect(next.type).toBe("response.completed");
    expect((await client.create({ ...hi, previous_response_id: known }))[0].type).toBe("error");
  });

  it("goes on from more than is kept: the long call itself is served", async () => {
    const client = open();
    const long = "x".repeat(5 * 1024 * 1024);
    const { id } = (await client.create({ ...hi, generate: false, input: long })).at(-1).response;
    const again = (await client.create({ ...hi, previous_response_id: id }))[0];
    expect(again).toMatchObject({ status: 400, error: { code: "previous_response_not_found" } });
    const short = (await client.create({ ...hi, generate: false, input: long.slice(1_100_000) })).at(-1);
    const kept = await client.create({ ...hi, generate: false, previous_response_id: short.response.id });
    expect(kept.at(-1).type).toBe("response.completed");
    await client.create({ ...hi, input: long });
    expect(world.upstream.journal.at(-1)?.text.length).toBeGreaterThan(long.length);
  });

  const body = { ...hi, max_output_tokens: 50 };
  const ofToken = (change: Parameters<typeof seedLimit>[1]) =>
    seedLimit(world.ctx, { subject: "token", subject_id: world.token.id, ...change });
  const nothing = () => Promise.resolve();
  /** It has room for what one call may cost, and after it for no other. */
  const budget = async (client: ResponsesClient) => {
    const { step, release } = held();
    world.upstream.script(step, says);
    client.say({ type: "response.create", ...body });
    await until(client, "response.output_text.delta");
    const { amount } = await world.ctx.db
      .selectFrom("reservations")
      .select("amount")
      .executeTakeFirstOrThrow();
    await ofToken({ amount: Number(amount) });
    release();
    await until(client, "response.completed");
    world.upstream.journal.length = 0;
  };
  it.each([
    { what: "a budget that is spent", before: budget, between: nothing, status: 429 },
    {
      what: "a rate that is used up",
      before: () => ofToken({ kind: "rpm", amount: 1 }),
      between: nothing,
      status: 429,
    },
    {
      what: "a disabled token",
      before: nothing,
      between: () => world.changeToken({ status: 2 }),
      status: 401,
    },
  ])("has $what, in the words of HTTP", async ({ before, between, status }) => {
    const client = open();
    await client.create({ ...hi, generate: false });
    await before(client);
    expect((await client.create(body)).at(-1).type).toBe("response.completed");
    await between();
    const [refusal] = await client.create(body);
    const http = await world.ask(body, { path: "/v1/responses" });
    const { error } = (await http.json()) as { error: { message: string } };
    // The request's id, and how long to wait.
    const bare = (told: { message: string }) => ({
      ...told,
      message: told.message.replace(/\(request id: \w+\)|\d+s\./g, ""),
    });
    const { status: httpStatus } = http;
    expect(refusal).toMatchObject({ type: "error", status: httpStatus });
    expect(bare(refusal.error)).toEqual(bare(error));
    expect(httpStatus).toBe(status);
    expect(refusal.headers["retry-after"] !== undefined).toBe(http.headers.has("retry-after"));
    expect(refusal.headers["x-ratelimit-limit-requests"]).toBe(
      http.headers.get("x-ratelimit-limit-requests") ?? undefined,
    );
    expect(world.upstream.journal).toHaveLength(1);
    const [warm] = await client.create({ ...hi, generate: false });
    expect(warm.type).toBe(status === 401 ? "error" : "response.created");
  });

  it("comes while calls are turned away", async () => {
    const relay = createRelay(world.ctx);
    let isTooMuch = false;
    const server = createServer(relay).on("upgrade", (req, socket, head) =>
      relay.upgrade(req, socket, head, () => isTooMuch),
    );
    await once(server.listen(0, "127.0.0.1"), "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    const client = open(`http://127.0.0.1:${address.port}`);
    expect((await client.create(hi)).at(-1).type).toBe("response.completed");
    isTooMuch = true;
    expect((await client.create(hi))[0]).toMatchObject({ status: 503, error: { code: "overloaded" } });
    isTooMuch = false;
    expect((await client.create(hi)).at(-1).type).toBe("response.completed");
    client.socket.terminate();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
});

it("an upstream that fails after it has begun is told as by HTTP, and the socket goes on", async () => {
  world.upstream.script(sse(chunk({ content: "half" }), "cut"), says);
  const client = open();
  const { charged, open: left } = await world.costOf(async () => {
    const events = await client.create(hi);
    expect(events.slice(-2).map(({ type }) => type)).toEqual(["error", "response.failed"]);
  });
  const http = await world.costOf(async () => {
    world.upstream.script(sse(chunk({ content: "half" }), "cut"));
    await (await world.ask({ ...hi, stream: true }, { path: "/v1/responses" })).text();
  });
  expect({ charged, left }).toEqual({ charged: http.charged, left: 0 });
  world.upstream.script(says);
  expect((await client.create(hi)).at(-1).type).toBe("response.completed");
});

it("a client that leaves amid an answer is charged as by HTTP, and its upstream is aborted", async () => {
  const charged = async (leave: () => Promise<unknown>) => {
    world.upstream.journal.length = 0;
    world.upstream.script(held().step);
    const told = vi.spyOn(world.ctx.events, "relayDone");
    const cost = await world.costOf(async () => {
      await leave();
      await expect.poll(() => told.mock.calls.length, PATIENCE).toBe(1);
      await world.upstream.journal[0]?.aborted;
    });
    expect(told.mock.calls[0]?.[0]).toMatchObject({
      status: 499,
      fault: "client_gone",
      endpoint: "responses",
    });
    told.mockRestore();
    expect([cost.open, cost.entries]).toEqual([0, 1]);
    return cost.charged;
  };
  const bySocket = await charged(async () => {
    const client = open();
    client.say({ type: "response.create", ...hi });
    await until(client, "response.output_text.delta");
    client.socket.terminate();
  });
  const byHttp = await charged(async () => {
    const gone = new AbortController();
    const answer = await world.ask({ ...hi, stream: true }, { path: "/v1/responses", signal: gone.signal });
    const reader = answer.body?.getReader();
    for (let text = ""; !text.includes("output_text.delta"); )
      text += Buffer.from((await reader?.read())?.value ?? []).toString();
    gone.abort();
  });
  expect(bySocket).toBeGreaterThan(0);
  expect(bySocket).toBe(byHttp);
});

it("a client that does not read is cut off, and charged for what came", async () => {
  const times = { pingMs: 60_000, idleMs: 60_000, lifeMs: 60_000 };
  const relay = createRelay(world.ctx, { stallMs: 300 }, undefined, times);
  const client = open(await world.serve(relay));
  world.upstream.script(async (res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    const piece = chunk({ content: "x".repeat(60_000) });
    while (!res.destroyed) if (!res.write(piece)) await new Promise((resolve) => res.once("drain", resolve));
  });
  const { charged, open: left } = await world.costOf(async () => {
    client.say({ type: "response.create", ...hi });
    await until(client, "response.output_text.delta");
    client.socket.pause();
    await expect.poll(() => sockets(), PATIENCE).toBe(0);
  });
  expect({ left, isPaid: charged > 0 }).toEqual({ left: 0, isPaid: true });
});

it("more than there is room for is not taken in", async () => {
  const config = { ...world.ctx.config, memoryBytes: 8 * 1024 * 1024 };
  const client = open(await world.serve(createRelay({ ...world.ctx, config })));
  expect((await client.create(hi)).at(-1).type).toBe("response.completed");
  client.say("x".repeat(4 * 1024 * 1024));
  expect(await client.next()).toMatchObject([{ type: "error", status: 503, error: { code: "overloaded" } }]);
  expect(await client.closed).toEqual([1001, "overloaded"]);
  await expect.poll(sockets, PATIENCE).toBe(0);
});

describe("a socket that ends", () => {
  const LIMIT = { type: "error", status: 400, error: { code: "websocket_connection_limit_reached" } };

  const PATIENT = { pingMs: 60_000, idleMs: 60_000, lifeMs: 60_000 };
  const serveWith = (times: Partial<typeof PATIENT>) =>
    world.serve(createRelay(world.ctx, {}, undefined, { ...PATIENT, ...times }));

  it("is told so after its life, when no call runs", async () => {
    const client = open(await serveWith({ lifeMs: 500 }));
    expect(await client.next()).toMatchObject([LIMIT]);
    expect(await client.closed).toEqual([1001, "websocket_connection_limit_reached"]);
  });

  it("is told so after the call that runs", async () => {
    const lifeMs = 3_000;
    const { step, release } = held();
    world.upstream.script(step);
    const client = open(await serveWith({ lifeMs }));
    client.say({ type: "response.create", ...hi });
    await until(client, "response.output_text.delta");
    // In the same process: the socket's own timer was set before this one.
    setTimeout(release, lifeMs);
    await until(client, "response.completed");
    expect(await client.next()).toMatchObject([LIMIT]);
    await client.closed;
  });

  it("closes when the process drains: at once, or after its call; what runs too long gets a last event", async () => {
    const relay = createRelay(world.ctx);
    const url = await world.serve(relay);
    const { step, release } = held();
    const idle = open(url);
    await idle.create({ ...hi, generate: false });
    const ending = open(url);
    const endless = open(url);
    const { open: left, entries } = await world.costOf(async () => {
      world.upstream.script(step, held().step);
      ending.say({ type: "response.create", ...hi });
      await until(ending, "response.output_text.delta");
      endless.say({ type: "response.create", ...hi });
      await until(endless, "response.output_text.delta");
      expect(sockets()).toBe(3);
      relay.drain();
      expect(await idle.closed).toEqual([1001, "server_stopping"]);
      release();
      await until(ending, "response.completed");
      expect((await ending.closed)[0]).toBe(1001);
      await relay.cut();
      expect((await until(endless, "response.failed")).response.error.code).toBe("server_stopping");
      expect((await endless.closed)[0]).toBe(1001);
    });
    expect({ left, entries }).toEqual({ left: 0, entries: 2 });
    await expect.poll(sockets, PATIENCE).toBe(0);
  });

  it("is one whose client is gone without a word", async () => {
    const client = open(await serveWith({ pingMs: 1_000 }));
    await client.create({ ...hi, generate: false });
    expect(sockets()).toBe(1);
    // It answers no ping.
    client.socket.pause();
    await expect.poll(() => sockets(), PATIENCE).toBe(0);
  });
});

describe("an upgrade", () => {
  const refused = async (headers: Record<string, string>) => {
    const socket = new WebSocket(`${world.url.replace("http", "ws")}/v1/responses`, { headers });
    const [, answer] = await once(socket, "unexpected-response");
    socket.on("error", () => undefined).terminate();
    return answer;
  };

  it("needs a key", async () => {
    expect((await refused({})).statusCode).toBe(401);
    expect((await refused({ authorization: "Bearer sk-wrong" })).statusCode).toBe(401);
    await world.changeToken({ status: 2 });
    expect((await refused({ authorization: `Bearer sk-${world.token.key}` })).statusCode).toBe(401);
  });

  it("that a proxy took out is asked for, upon which Codex goes on by HTTP", async () => {
    const answer = await fetch(`${world.url}/v1/responses`, { headers: { "sec-websocket-version": "13" } });
    expect(answer.status).toBe(426);
  });
});
