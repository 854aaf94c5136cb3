// Responses in the background whose events are streamed: followed from the begin or again, left, broken off, cancelled; whether a client or
// the job sees the end first, each is booked once, and before its client reads the last event (requirements C69).
import OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { pollTasks } from "#server/tasks/poll.ts";
import { json, sse } from "#test/emulators/fake-upstream.ts";
import { type ResponsesEmulator, startResponses } from "#test/emulators/responses-emulator.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { createRelayWorld, errorOf } from "#test/worlds/relay-world.ts";
import { createRelay } from "./relay.ts";

const world = createRelayWorld();
const model = "gpt-4o";
const PATIENCE = { timeout: 10_000 };
let maker: ResponsesEmulator;

beforeAll(async () => {
  maker = await startResponses("bg");
});
afterAll(() => maker.close());
beforeEach(async () => {
  await world.ctx.db
    .updateTable("tasks")
    .set({ deadline_at: 1, next_at: 0, upstream_sealed: "" })
    .where("is_booked", "=", 0)
    .execute();
  await pollTasks(world.ctx);
  await world.ctx.db.deleteFrom("tasks").execute();
  await world.setOption("ResponsesStateEnabled", "true");
  maker.reset();
  await world.addChannel({ type: 1, models: model, baseUrl: maker.url });
});

const sdk = () => new OpenAI({ baseURL: `${world.url}/v1`, apiKey: `sk-${world.token.key}`, maxRetries: 0 });
const headers = () => ({ authorization: `Bearer sk-${world.token.key}` });
const begin = () =>
  sdk().responses.create({ model, input: "long", background: true, stream: true, max_output_tokens: 100 });
const follow = (id: string, after: number) =>
  sdk().responses.retrieve(id, { stream: true, starting_after: after });
const task = () => world.ctx.db.selectFrom("tasks").selectAll().executeTakeFirstOrThrow();

type Stream = Awaited<ReturnType<typeof begin>>;
type Event = OpenAI.Responses.ResponseStreamEvent;

/** The first event, which has the id, and all others. */
async function opened(stream: Stream) {
  const events = stream[Symbol.asyncIterator]();
  const first: Event = (await events.next()).value;
  if (first.type !== "response.created") throw new Error(first.type);
  const rest = async () => {
    const seen: Event[] = [];
    for (let next = await events.next(); next.done !== true; next = await events.next())
      seen.push(next.value);
    return seen;
  };
  return {
    id: first.response.id,
    status: first.response.status,
    rest,
    leave: () => stream.controller.abort(),
  };
}

async function sweep(): Promise<void> {
  await world.ctx.db.updateTable("tasks").set({ next_at: 0 }).where("is_booked", "=", 0).execute();
  await pollTasks(world.ctx);
}

describe("a response in the background that is streamed", () => {
  it("passes its events unchanged, and is booked by its usage before the last of them", async () => {
    const { charged, open, entries, log } = await world.costOf(async () => {
      const { id, status, rest } = await opened(await begin());
      expect(status).toBe("queued");
      expect(await task()).toMatchObject({ task_id: id, state: "queued", kind: "response" });
      expect(maker.last()).toMatchObject({ background: true, stream: true, store: true });
      maker.tell(id, "some");
      maker.finish(id);
      const events = await rest();
      expect(events.map(({ type }) => type)).toEqual(["response.output_text.delta", "response.completed"]);
      expect(events.at(-1)).toMatchObject({ sequence_number: 2, response: { id, status: "completed" } });
      // The client had it only after it was booked.
      expect(await task()).toMatchObject({ outcome: "charge", is_booked: 1 });
      await sweep();
    });
    expect([open, entries, charged]).toEqual([0, 1, log?.quota]);
    expect(log).toMatchObject({ prompt_tokens: 10, completion_tokens: 5, estimated: 0 });
  });

  it("goes on when its client leaves, who follows it again from where it was", async () => {
    const { open, entries } = await world.costOf(async () => {
      const { id, leave } = await opened(await begin());
      maker.tell(id, "one");
      leave();
      await expect.poll(() => maker.followers(id), PATIENCE).toBe(0);
      maker.tell(id, "two");
      const again = await follow(id, 1);
      const events = again[Symbol.asyncIterator]();
      expect((await events.next()).value).toMatchObject({ sequence_number: 2, delta: "two" });
      maker.finish(id);
      expect((await events.next()).value).toMatchObject({ type: "response.completed" });
      expect(await task()).toMatchObject({ is_booked: 1 });
      // Also when all of it is over.
      const late: string[] = [];
      for await (const { type } of await follow(id, 0)) late.push(type);
      expect(late).toEqual([
        "response.output_text.delta",
        "response.output_text.delta",
        "response.completed",
      ]);
    });
    expect({ open, entries }).toEqual({ open: 0, entries: 1 });
  });

  it("is booked by the job when no client follows it", async () => {
    const { open, entries, log } = await world.costOf(async () => {
      const { id, leave } = await opened(await begin());
      leave();
      await expect.poll(() => maker.followers(id), PATIENCE).toBe(0);
      maker.finish(id);
      await sweep();
    });
    expect({ open, entries, tokens: log?.completion_tokens }).toEqual({ open: 0, entries: 1, tokens: 5 });
  });

  it("that fails says so in its own event, and costs nothing", async () => {
    const { charged, open, entries } = await world.costOf(async () => {
      const { id, rest } = await opened(await begin());
      maker.finish(id, "failed");
      expect(await rest()).toMatchObject([
        { type: "response.failed", sequence_number: 1, response: { id, error: { code: "server_error" } } },
      ]);
    });
    expect({ charged, open, entries }).toEqual({ charged: 0, open: 0, entries: 0 });
  });

  it("whose events break off is cut, not ended; it can be followed again", async () => {
    const { entries, open } = await world.costOf(async () => {
      const { id, rest } = await opened(await begin());
      maker.tell(id, "one");
      const broken = rest();
      broken.catch(() => undefined);
      await expect.poll(() => maker.followers(id), PATIENCE).toBe(1);
      maker.cut(id);
      await expect(broken).rejects.toThrow();
      expect(await task()).toMatchObject({ outcome: "" });
      maker.finish(id);
      const types: string[] = [];
      for await (const { type } of await follow(id, 1)) types.push(type);
      expect(types).toEqual(["response.completed"]);
    });
    expect({ entries, open }).toEqual({ entries: 1, open: 0 });
  });

  it("is left to the job when the process ends", async () => {
    const relay = createRelay(world.ctx);
    const url = await world.serve(relay);
    const answer = await world.ask(
      { model, input: "long", background: true, stream: true },
      { url, path: "/v1/responses" },
    );
    const reader = answer.body?.getReader();
    const text = Buffer.from((await reader?.read())?.value ?? []).toString();
    const [, id = ""] = /"id":"(resp_\w+)"/.exec(text) ?? [];
    await relay.cut();
    await expect(reader?.read()).rejects.toThrow();
    expect(await task()).toMatchObject({ task_id: id, outcome: "" });
    maker.finish(id);
    await sweep();
    expect(await task()).toMatchObject({ outcome: "charge", is_booked: 1 });
  });
});

it.each([1, 2, 3, 4, 5, 6])("is booked once, by the job or by a client (round %i)", async (round) => {
  const { charged, open, entries, log } = await world.costOf(async () => {
    const { id, rest } = await opened(await begin());
    const followed = async () => {
      let last = "";
      for await (const { type } of await follow(id, 0)) last = type;
      return last;
    };
    const followers = [followed(), followed()];
    await expect.poll(() => maker.followers(id), PATIENCE).toBe(3);
    const ends = [
      () => maker.finish(id),
      () => sdk().responses.cancel(id),
      () => sdk().responses.retrieve(id),
      sweep,
      sweep,
      () => sdk().responses.retrieve(id),
    ];
    // Another one begins in each round.
    const turned = [...ends.slice(round % ends.length), ...ends.slice(0, round % ends.length)];
    const seen = Promise.all([rest(), ...followers]);
    await Promise.all(turned.map((end) => end()));
    const [events, ...lasts] = await seen;
    expect(lasts).toEqual([events.at(-1)?.type, events.at(-1)?.type]);
    await expect.poll(async () => (await task()).is_booked, PATIENCE).toBe(1);
  });
  expect([open, entries, charged]).toEqual([0, 1, log?.quota]);
  expect([2, 5]).toContain(log?.completion_tokens);
});

describe("what cannot be streamed", () => {
  const get = (id: string, query: string, key = world.token.key) =>
    fetch(`${world.url}/v1/responses/${id}${query}`, {
      headers: { ...headers(), authorization: `Bearer sk-${key}` },
    });

  it("is another's, unknown, or asked for wrongly", async () => {
    const { id, leave } = await opened(await begin());
    leave();
    const stranger = await seedUser(world.ctx, `stranger-${Date.now()}`);
    const { key } = await seedToken(world.ctx, stranger.id);
    expect(await errorOf(await get(id, "?stream=true", key))).toMatchObject({ status: 404 });
    expect(await errorOf(await get("resp_never", "?stream=true"))).toMatchObject({ status: 404 });
    expect(await errorOf(await get(id, "?stream=true&starting_after=x"))).toMatchObject({
      status: 400,
      param: "starting_after",
    });
  });

  it("is what its upstream does not stream, in the upstream's words", async () => {
    const { id } = await sdk().responses.create({ model, input: "hi", background: true });
    expect(await errorOf(await get(id, "?stream=true"))).toMatchObject({
      status: 400,
      message: expect.stringContaining("was not created with stream"),
    });
    maker.finish(id);
    await sdk().responses.retrieve(id);
  });

  it("comes whole where the upstream answers so", async () => {
    await world.clearChannels();
    await world.addChannel({ type: 1, models: model });
    const object = { id: "resp_whole", object: "response", status: "queued", output: [], store: true };
    world.upstream.script(
      json(object),
      json({ ...object, status: "completed", usage: { input_tokens: 10, output_tokens: 5 } }),
    );
    const { open, entries } = await world.costOf(async () => {
      const ask = { model, input: "x", background: true, stream: true };
      expect(await (await world.ask(ask, { path: "/v1/responses" })).json()).toEqual(object);
      expect(await (await get("resp_whole", "?stream=true")).json()).toMatchObject({ status: "completed" });
      expect(await task()).toMatchObject({ is_booked: 1 });
    });
    expect({ open, entries }).toEqual({ open: 0, entries: 1 });
  });

  it("goes to the next channel when one refuses it, and is not repeated when it may have been taken", async () => {
    await world.setOption("RetryTimes", "1");
    await world.addChannel({ type: 1, models: model, priority: 2 });
    world.upstream.script(json({ error: { message: "slow down" } }, 429));
    const { id, rest } = await opened(await begin());
    expect(id).toContain("_bg_");
    maker.finish(id);
    await rest();
  });

  it("is not repeated when it may have been taken, and costs nothing then", async () => {
    await world.setOption("RetryTimes", "1");
    await world.addChannel({ type: 1, models: model, priority: 2 });
    world.upstream.script(sse("cut"));
    const { charged, open } = await world.costOf(async () => {
      await expect(begin()).rejects.toThrow();
    });
    expect({ charged, open, asked: maker.asked() }).toEqual({ charged: 0, open: 0, asked: 0 });
    expect(await task()).toMatchObject({ outcome: "refund", code: "submit_unknown" });
  });
});
