// Failures that a server reports amid a realtime conversation: they cost the client no quota, and reveal nothing to it.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createFakeRealtime, type FakeRealtime, type Talk } from "#test/emulators/fake-realtime.ts";
import { beginTalk, type RealtimeClient } from "#test/emulators/realtime-client.ts";
import { CHANNEL_KEY, createRelayWorld } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const model = "gpt-realtime";
let provider: FakeRealtime;
let client: RealtimeClient;
let talk: Talk;

beforeAll(async () => {
  provider = await createFakeRealtime();
});

afterAll(() => provider.close());

afterEach(() => {
  client.socket.terminate();
});

beforeEach(async () => {
  await world.addChannel({ type: 1, baseUrl: provider.url, models: model });
  provider.talks.length = 0;
  provider.script((next) => next.say({ type: "session.created", session: { model } }));
  client = beginTalk(world.url, world.token.key, model);
  await client.until("session.created");
  talk = provider.talks.at(-1) ?? expect.fail("no client called");
});

const EMPTY = {
  type: "insufficient_quota",
  code: "insufficient_quota",
  message: "You exceeded your current quota, please check your plan and billing details.",
};
const TRANSCRIPTION_FAILED = "conversation.item.input_audio_transcription.failed";

/** The events that report an error. */
const WAYS: readonly (readonly [string, (error: object) => { readonly type: string }])[] = [
  ["error", (error) => ({ type: "error", event_id: "e", error: { ...error, event_id: "mine" } })],
  [
    "response.done",
    (error) => ({
      type: "response.done",
      response: { id: "r", status: "failed", status_details: { type: "failed", error }, usage: null },
    }),
  ],
  [TRANSCRIPTION_FAILED, (error) => ({ type: TRANSCRIPTION_FAILED, item_id: "i", error })],
];

describe.each(WAYS)("%s", (type, eventOf) => {
  async function told(error: object): Promise<string> {
    talk.say(eventOf(error));
    await client.until(type);
    return JSON.stringify(client.events.at(-1));
  }

  it.each([
    EMPTY,
    { type: "exceeded_current_quota_error", message: EMPTY.message },
    { type: "invalid_request_error", code: "billing_not_active", message: "Your account is not active" },
  ])("reveals nothing of the operator's empty account ($type, $code)", async (error) => {
    const event = await told(error);
    expect(event).toContain("饱和");
    expect(event).toContain('"bad_response_status_code"');
    expect(event).not.toMatch(/quota|billing|active/);
  });

  it("reports saturation where the account has its limits", async () => {
    const event = await told({
      type: "tokens",
      code: "rate_limit_exceeded",
      message: "Rate limit reached for gpt-realtime in organization org-abcdefgh",
    });
    expect(event).toContain("饱和");
    expect(event).toContain('"rate_limit_exceeded"');
    expect(event).not.toContain("organization");
  });

  it("reports a wrong key as the operator's fault", async () => {
    const event = await told({ code: "invalid_api_key", message: `Incorrect API key: ${CHANNEL_KEY}` });
    expect(event).toContain('"upstream_credential"');
    expect(event).not.toContain("Incorrect");
  });

  it("leaves a client's own mistake as it is, but for secrets", async () => {
    const error = {
      type: "invalid_request_error",
      code: "unknown_item",
      message: `No such item, ${CHANNEL_KEY}`,
      param: "item_id",
    };
    const event = await told(error);
    expect(JSON.parse(event)).toMatchObject(eventOf({ ...error, message: "No such item, ***" }));
  });
});

it("an error keeps the id of the client's event that it answers", async () => {
  talk.say({ type: "error", event_id: "e", error: { ...EMPTY, event_id: "mine" } });
  await client.until("error");
  expect(client.events.at(-1)).toMatchObject({ event_id: "e", error: { event_id: "mine" } });
});

it("a response that failed before its first word costs nothing, and the next one uses its reservation", async () => {
  const setAside = () => world.ctx.db.selectFrom("reservations").select("request_id").execute();
  const before = await setAside();
  const { logs } = await world.money();
  client.socket.send(JSON.stringify({ type: "conversation.item.create", item: "hello ".repeat(100) }));
  await expect.poll(() => talk.heard.length).toBe(1);
  const status_details = { type: "failed", error: { type: "server_error", code: null, message: "oh" } };
  for (const id of ["a", "b"]) {
    talk.say({ type: "response.created", response: { id } });
    talk.say({ type: "response.done", response: { id, status: "failed", status_details, usage: null } });
  }
  await client.until("response.done", 2);
  expect(before).toHaveLength(1);
  expect(await setAside()).toEqual(before);
  client.socket.close();
  await talk.closed;
  await expect.poll(setAside).toEqual([]);
  expect((await world.money()).logs).toBe(logs);
});

it("the circuit of a channel whose account is empty opens, so that the next conversation goes elsewhere", async () => {
  const other = await createFakeRealtime();
  try {
    await world.addChannel({ type: 1, baseUrl: other.url, models: model, priority: -1 });
    other.script((next) => next.say({ type: "session.created", session: { model } }));
    talk.say({ type: "error", error: EMPTY });
    await client.until("error");
    const second = beginTalk(world.url, world.token.key, model);
    await second.until("session.created");
    expect(other.talks).toHaveLength(1);
    second.socket.terminate();
  } finally {
    await other.close();
  }
});

it("the circuit of a channel that got another key meanwhile stays closed despite the account of the old one", async () => {
  const { ctx } = world;
  const [first] = ctx.candidates.find("default", model);
  const other = await createFakeRealtime();
  try {
    await world.addChannel({ type: 1, baseUrl: other.url, models: model, priority: -1 });
    other.script((next) => next.say({ type: "session.created", session: { model } }));
    const key = {
      key_hash: ctx.secrets.hash("sk-new"),
      key_sealed: ctx.secrets.seal("sk-new", "channels.key"),
    };
    await ctx.db
      .updateTable("channels")
      .set(key)
      .where("id", "=", first?.id ?? 0)
      .execute();
    await ctx.candidates.reload();
    talk.say({ type: "error", error: EMPTY });
    await client.until("error");
    const second = beginTalk(world.url, world.token.key, model);
    await second.until("session.created");
    expect(other.talks).toHaveLength(0);
    second.socket.terminate();
  } finally {
    await other.close();
  }
});
