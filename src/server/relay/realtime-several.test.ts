// Responses of one conversation that run at once: each has its own reservation and is booked under it.
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { createFakeRealtime, type FakeRealtime, type Talk } from "#test/emulators/fake-realtime.ts";
import { beginTalk, type RealtimeClient } from "#test/emulators/realtime-client.ts";
import { createRelayWorld } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const model = "gpt-realtime";
let provider: FakeRealtime;

beforeAll(async () => {
  provider = await createFakeRealtime();
});

afterAll(() => provider.close());

afterEach(() => {
  for (const { socket } of provider.talks) socket.terminate();
});

beforeEach(async () => {
  provider.talks.length = 0;
  provider.script((talk) => talk.say({ type: "session.created", session: {} }));
  await world.addChannel({ type: 1, baseUrl: provider.url, models: model });
});

async function open(): Promise<{ client: RealtimeClient; talk: Talk }> {
  const client = beginTalk(world.url, world.token.key, model);
  await client.until("session.created");
  const [talk] = provider.talks;
  if (talk === undefined) throw new Error("no client called");
  return { client, talk };
}

const begin = (talk: Talk, id: string) => talk.say({ type: "response.created", response: { id } });
const write = (talk: Talk, id: string, delta: string) =>
  talk.say({ type: "response.output_text.delta", response_id: id, delta });
const done = (talk: Talk, id: string, output: number) =>
  talk.say({ type: "response.done", response: { id, usage: { input_tokens: 20, output_tokens: output } } });
/** What such a response costs: text at 2 quota a token, and four times as much for output. */
const cost = (output: number) => (20 + output * 4) * 2;

/** The open reservations, by request. */
async function setAside(): Promise<string[]> {
  const rows = await world.ctx.db
    .selectFrom("reservations")
    .select("request_id")
    .orderBy("request_id")
    .execute();
  return rows.map((row) => row.request_id);
}

it("each has its own reservation and its own entry, in whatever order they end", async () => {
  const {
    charged,
    entries,
    open: left,
  } = await world.costOf(async () => {
    const { client, talk } = await open();
    const spare = await setAside();
    expect(spare).toHaveLength(1);
    for (const id of ["a", "b", "c"]) {
      begin(talk, id);
      write(talk, id, "hello");
    }
    await client.until("response.output_text.delta", 3);
    const all = await setAside();
    expect(all).toHaveLength(3);
    expect(all).toEqual(expect.arrayContaining(spare));
    done(talk, "c", 30);
    done(talk, "a", 10);
    done(talk, "b", 20);
    await client.until("response.done", 3);
    // The reservation for the next one is none of theirs.
    const next = await setAside();
    expect(next).toHaveLength(1);
    expect(all).not.toContain(next[0]);
    client.socket.close();
    await client.closed;
    const booked = world.ctx.db.selectFrom("ledger").select("request_id").where("request_id", "in", all);
    expect(new Set((await booked.execute()).map((row) => row.request_id))).toEqual(new Set(all));
  });
  expect({ charged, entries, left }).toEqual({
    charged: cost(10) + cost(20) + cost(30),
    entries: 3,
    left: 0,
  });
});

it("one without a reservation ends the conversation before its first output; the others are charged", async () => {
  // Enough for one: 1,024 tokens of prompt and of output at the dearest they may be.
  await world.changeToken({ unlimited_quota: 0, remain_quota: 60_000 });
  const {
    charged,
    entries,
    open: left,
  } = await world.costOf(async () => {
    const { client, talk } = await open();
    begin(talk, "a");
    write(talk, "a", "hello");
    begin(talk, "b");
    write(talk, "b", "unpaid");
    expect(await client.closed).toEqual([1008, "pre_consume_token_quota_failed"]);
    expect(JSON.stringify(client.events)).not.toContain("unpaid");
  });
  expect(left).toBe(0);
  expect(entries).toBeGreaterThanOrEqual(1);
  expect(charged).toBeGreaterThan(0);
});

it("those that a client leaves are charged as far as each came, and the reservation for the next one is released", async () => {
  const { entries, open: left } = await world.costOf(async () => {
    const { client, talk } = await open();
    done(talk, "before", 10);
    for (const id of ["a", "b"]) {
      begin(talk, id);
      write(talk, id, "hello ".repeat(100));
    }
    await client.until("response.output_text.delta", 2);
    client.socket.terminate();
    await talk.closed;
  });
  expect({ entries, left }).toEqual({ entries: 3, left: 0 });
  const { log } = await world.money();
  expect(log).toMatchObject({ estimated: 1, prompt_tokens: 30, completion_tokens: 150 });
});
