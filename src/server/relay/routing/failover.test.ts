// Channels that change while a call fails over: each attempt uses the channel as it is at that moment (requirements R09).
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, expect, it } from "vitest";
import { chatReply, json, type Step } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld, errorOf, QUESTION } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
let first: number;
let second: number;

beforeEach(async () => {
  await world.setOption("RetryTimes", "3");
  first = await world.addChannel({ priority: 9 });
  second = await world.addChannel();
});

/** The first channel fails, and while it is asked the second one changes. */
function failWhile(change: Record<string, number | string>): void {
  world.upstream.script(
    async (res, asked) => {
      const { db, coord, candidates } = world.ctx;
      await db.updateTable("channels").set(change).where("id", "=", second).execute();
      await coord.publish("channels", String(second));
      await candidates.pending;
      await json({ error: { message: "no" } }, 500)(res, asked);
    },
    json(chatReply("Hello!")),
  );
}

it.each([
  ["disabled", { status: 2 }],
  ["deleted", { deleted_at: 1 }],
  ["moved to another group", { group: "vip" }],
])("one that was %s meanwhile is not called", async (_, change) => {
  failWhile(change);
  const error = await errorOf(await world.ask(QUESTION));
  expect(error.status).toBe(500);
  expect(world.upstream.journal).toHaveLength(1);
});

it("one that was given another key meanwhile is called with that", async () => {
  const { secrets } = world.ctx;
  const key = "sk-canary-replaced-key-0123456789";
  failWhile({ key_hash: secrets.hash(key), key_sealed: secrets.seal(key, "channels.key") });
  expect((await world.ask(QUESTION)).status).toBe(200);
  expect(world.upstream.journal.map(({ headers }) => headers.authorization)).toEqual([
    expect.not.stringContaining(key),
    `Bearer ${key}`,
  ]);
});

it("failures of calls with an old key do not disable the channel that has a new one", async () => {
  await world.setOption("RetryTimes", "0");
  await world.setOption("AutomaticDisableChannelEnabled", "true");
  const { db, coord, candidates, secrets } = world.ctx;
  const key = "sk-canary-corrected-key-0123456789";
  let asked = 0;
  const allAsked = Promise.withResolvers<void>();
  const isReplaced = Promise.withResolvers<void>();
  const refuse: Step = async (res, request) => {
    asked += 1;
    if (asked === 3) allAsked.resolve();
    await isReplaced.promise;
    await json({ error: { message: "no", code: "invalid_api_key" } }, 401)(res, request);
  };
  world.upstream.script(refuse, refuse, refuse);
  const calls = Array.from({ length: 3 }, () => world.ask(QUESTION));
  await allAsked.promise;
  const change = { key_hash: secrets.hash(key), key_sealed: secrets.seal(key, "channels.key") };
  await db.updateTable("channels").set(change).where("id", "=", first).execute();
  await coord.publish("channels", String(first));
  await candidates.pending;
  isReplaced.resolve();
  for (const call of calls) expect((await call).ok).toBe(false);
  // Channels are disabled beside the calls.
  await sleep(100);
  const { status } = await db
    .selectFrom("channels")
    .select("status")
    .where("id", "=", first)
    .executeTakeFirstOrThrow();
  expect(status).toBe(1);
  world.upstream.script(json(chatReply("Hello!")));
  expect((await world.ask(QUESTION)).status).toBe(200);
  expect(world.upstream.journal.at(-1)?.headers.authorization).toBe(`Bearer ${key}`);
});
