// Channels that change while a call goes from one to the next: what is called is what there is at that moment (reliability R09).
import { beforeEach, expect, it } from "vitest";
import { chatReply, json } from "#test/fake-upstream.ts";
import { createRelayWorld, errorOf, QUESTION } from "#test/relay-world.ts";

const world = createRelayWorld();
let second: number;

beforeEach(async () => {
  await world.setOption("RetryTimes", "3");
  await world.addChannel({ priority: 9 });
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
