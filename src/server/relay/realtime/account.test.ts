// What a conversation may cost while a response runs, and how it ends when quota is missing or cannot be booked.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { createFakeRealtime, type FakeRealtime, type Talk } from "#test/emulators/fake-realtime.ts";
import { beginTalk } from "#test/emulators/realtime-client.ts";
import { dropLimits, seedLimit } from "#test/worlds/limits.ts";
import { createRelayWorld } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const model = "gpt-realtime";
let provider: FakeRealtime;

beforeAll(async () => {
  provider = await createFakeRealtime();
});

afterAll(() => provider.close());

beforeEach(() => world.addChannel({ type: 1, baseUrl: provider.url, models: model }));

afterEach(() => vi.restoreAllMocks());

function open() {
  return beginTalk(world.url, world.token.key, model);
}

/** So many seconds of sound: 20 tokens each, at 32 quota. */
function speak(talk: Talk, seconds: number): void {
  const delta = Buffer.alloc(seconds * 48_000).toString("base64");
  talk.say({ type: "response.output_audio.delta", response_id: "r", delta });
}

const usage = (output: number) => ({
  input_tokens: 10,
  output_tokens: output,
  output_token_details: { audio_tokens: output },
});

async function makeSpeech(talk: Talk, pieces: number): Promise<void> {
  talk.say({ type: "session.created", session: {} });
  talk.say({ type: "response.created", response: { id: "r" } });
  for (let piece = 0; piece < pieces; piece += 1) {
    speak(talk, 20);
    await sleep(280);
  }
}

it("the entry of each response has the failed attempts before the conversation began", async () => {
  await world.setOption("RetryTimes", "1");
  const bad = await world.addChannel({ type: 1, baseUrl: "http://127.0.0.1:9", models: model, priority: 5 });
  provider.script((talk) => {
    talk.say({ type: "session.created", session: {} });
    for (const id of ["a", "b"]) talk.say({ type: "response.done", response: { id, usage: usage(1) } });
  });
  const { entries } = await world.costOf(async () => {
    const client = open();
    await client.until("response.done", 2);
    client.socket.close();
    await client.closed;
  });
  expect(entries).toBe(2);
  const logs = world.ctx.db.selectFrom("logs").select(["content", "trail"]).orderBy("id", "desc").limit(2);
  for (const { content, trail } of await logs.execute()) {
    expect(trail).toMatch(new RegExp(`^${bad}:do_request_failed,0:route:`));
    expect(content).not.toContain("do_request_failed");
  }
});

it("more is reserved while a long response runs", async () => {
  const extend = vi.spyOn(world.ctx.ledger, "extend");
  const done = { type: "response.done", response: { id: "r", usage: usage(2_000) } };
  provider.script((talk) => void makeSpeech(talk, 5).then(() => talk.say(done)));
  const { charged, open: left } = await world.costOf(async () => {
    const client = open();
    await client.until("response.done");
    client.socket.close();
    await client.closed;
  });
  expect(extend).toHaveBeenCalled();
  expect(charged).toBe(2_000 * 32 + 10 * 2);
  expect(left).toBe(0);
});

it("a response for which no more can be reserved is ended, and charged as far as it came", async () => {
  await world.changeToken({ unlimited_quota: 0, remain_quota: 50_000 });
  provider.script((talk) => void makeSpeech(talk, 20));
  const { charged, open: left } = await world.costOf(async () => {
    const client = open();
    expect(await client.closed).toEqual([1008, "insufficient_user_quota"]);
    expect(client.events.at(-1)).toMatchObject({ type: "error" });
  });
  expect(charged).toBeGreaterThan(20_000);
  expect(charged).toBeLessThanOrEqual(50_000);
  await expect.poll(async () => (await world.money()).log).toMatchObject({ estimated: 1, model_name: model });
  expect(left).toBe(0);
});

it("nothing beyond the reservation is sent before it is known whether there is more", async () => {
  const { ledger } = world.ctx;
  const answer = Promise.withResolvers<boolean>();
  const granted = ledger.extend.bind(ledger);
  const extend = vi.spyOn(ledger, "extend").mockImplementationOnce(() => answer.promise);
  provider.script((talk) => {
    talk.say({ type: "session.created", session: {} });
    talk.say({ type: "response.created", response: { id: "r" } });
    for (let piece = 0; piece < 10; piece += 1) speak(talk, 20);
    talk.say({ type: "response.done", response: { id: "r", usage: usage(2_000) } });
  });
  const { charged, open: left } = await world.costOf(async () => {
    const client = open();
    await client.until("session.created");
    await expect.poll(() => extend.mock.calls.length).toBe(1);
    await sleep(300);
    // 1,024 tokens of the dearest kind were reserved, and the piece that uses them up waits.
    const heard = client.events.filter(({ type }) => type === "response.output_audio.delta");
    expect(heard.length * 400 * 32).toBeLessThanOrEqual(1_024 * 32 * 2);
    expect(heard.length).toBeLessThan(10);
    const [requestId = "", more = 0n] = extend.mock.calls[0] ?? [];
    answer.resolve(await granted(requestId, more));
    await client.until("response.done");
    expect(client.events.filter(({ type }) => type === "response.output_audio.delta")).toHaveLength(10);
    client.socket.close();
    await client.closed;
  });
  expect(charged).toBe(2_000 * 32 + 10 * 2);
  expect(left).toBe(0);
});

it("a ledger that cannot say whether there is more ends the conversation, and it is charged", async () => {
  vi.spyOn(world.ctx.ledger, "extend").mockRejectedValue(new Error("disk full"));
  provider.script((talk) => {
    talk.say({ type: "session.created", session: {} });
    for (let piece = 0; piece < 10; piece += 1) speak(talk, 20);
  });
  const { charged, open: left } = await world.costOf(async () => {
    const client = open();
    expect(await client.closed).toEqual([1008, "storage_unavailable"]);
  });
  expect(charged).toBeGreaterThan(20_000);
  expect(left).toBe(0);
});

it("a conversation ends when a response cannot be booked, and nothing stays reserved", async () => {
  vi.spyOn(world.ctx.ledger, "settle").mockRejectedValueOnce(new Error("disk full"));
  provider.script((talk) => {
    talk.say({ type: "session.created", session: {} });
    talk.say({ type: "response.done", response: { id: "r", usage: usage(1) } });
  });
  const { open: left } = await world.costOf(async () => {
    const client = open();
    expect((await client.closed)[1]).toBe("booking_failed");
  });
  expect(left).toBe(0);
});

it("no response begins for which nothing can be reserved", async () => {
  await world.changeToken({ unlimited_quota: 0, remain_quota: 100 });
  const before = provider.talks.length;
  const client = open();
  expect(await client.closed).toEqual([1008, "pre_consume_token_quota_failed"]);
  expect(provider.talks).toHaveLength(before);
});

it("tokens of responses count in limits per minute: what is owed keeps the next conversation out", async () => {
  const own = { subject: "token", subject_id: world.token.id } as const;
  await seedLimit(world.ctx, { ...own, kind: "tpm", amount: 1_000 });
  const talkOf = (output: number) => (talk: Talk) => {
    talk.say({ type: "session.created", session: {} });
    talk.say({ type: "response.done", response: { id: "r", usage: usage(output) } });
  };
  /** Why it ended; undefined = it was served. */
  const converse = async () => {
    const client = open();
    await Promise.race([client.until("response.done"), client.until("error")]);
    client.socket.close();
    await client.closed;
    return client.events.find(({ type }) => type === "error")?.error?.code;
  };
  provider.script(talkOf(100));
  expect([await converse(), await converse()]).toEqual([undefined, undefined]);
  provider.script(talkOf(5_000));
  expect(await converse()).toBeUndefined();
  // The count goes beside the answer.
  await expect.poll(converse, { timeout: 10_000 }).toBe("rate_limit_exceeded");
  await dropLimits(world.ctx);
  expect(await converse()).toBeUndefined();
});
