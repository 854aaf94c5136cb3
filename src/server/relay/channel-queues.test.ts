// Calls of one group and model that may go to different channels wait for their own alone (requirements C40): by rules on size, by a channel
// that is named, with further groups of their token.
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { setChannelLimits } from "#server/store/channel-limits.ts";
import { chatReply, json, type Step } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld, QUESTION } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const answer = json(chatReply("hi"));
const KEYS = ["sk-one-0123456789abc", "sk-two-0123456789abc"] as const;
const LONG = { ...QUESTION, messages: [{ role: "user", content: "x".repeat(5_000) }] };

/** Two channels that take one call at once: the first is for short requests, the second for long ones. */
async function twoChannels(): Promise<readonly number[]> {
  const { db, clock, candidates } = world.ctx;
  const ids = [await world.addChannel({ key: KEYS[0] }), await world.addChannel({ key: KEYS[1] })];
  await setChannelLimits(db, { subject: "channel", ids }, { running: 1 }, clock.seconds());
  await candidates.reload();
  const [one = 0, two = 0] = ids;
  const rules = [
    { name: "short", groups: ["default"], kib_up_to: 4, only: [one] },
    { name: "long", groups: ["default"], kib_over: 4, only: [two] },
  ];
  await world.setOption("RouteRules", JSON.stringify(rules));
  await world.setOption("ChannelQueueSeconds", "20");
  return ids;
}

/** The first channel answers when it is told to, the others at once. */
function holdFirst(): () => void {
  const opened = Promise.withResolvers<void>();
  const step: Step = async (res, asked) => {
    if (asked.headers.authorization === `Bearer ${KEYS[0]}`) await opened.promise;
    await answer(res, asked);
  };
  world.upstream.script(step);
  return opened.resolve;
}

/** A call at the first channel, and one that waits for it. */
async function fillFirst() {
  const looks = vi.spyOn(world.ctx.gate, "enter");
  const running = world.ask(QUESTION);
  await expect.poll(() => world.upstream.journal.length, { timeout: 10_000 }).toBe(1);
  const waiting = world.ask(QUESTION);
  // It finds no room, and then stands in the queue at once.
  await expect.poll(() => looks.mock.calls.length, { timeout: 10_000 }).toBe(2);
  expect(await looks.mock.results[1]?.value).toMatchObject({ kind: "full" });
  await sleep(0);
  const others = [running, waiting];
  const isPending = async () => (await Promise.race([...others, sleep(50)])) === undefined;
  return { others, isPending };
}

const keyOf = (at: number) => world.upstream.journal.at(at)?.headers.authorization?.slice("Bearer ".length);

/** A long call is served by the second channel while others wait for the first, which are served when that answers. */
async function overtakes(): Promise<void> {
  const open = holdFirst();
  const { others, isPending } = await fillFirst();
  expect((await world.ask(LONG)).status).toBe(200);
  expect(keyOf(-1)).toBe(KEYS[1]);
  expect(await isPending()).toBe(true);
  open();
  expect((await Promise.all(others)).map(({ status }) => status)).toEqual([200, 200]);
}

afterEach(async () => {
  vi.restoreAllMocks();
  await world.setOption("RouteRules", "[]");
});

test("a call whose own channel is free is served while others wait for theirs", async () => {
  await twoChannels();
  await overtakes();
});

test("one that may go to either takes the free one, and waits behind where neither is", async () => {
  const [one = 0] = await twoChannels();
  await world.setOption("RouteRules", JSON.stringify([{ name: "short", kib_up_to: 4, only: [one] }]));
  // What frees the first channel serves the call that came first, not a later one that might go elsewhere too.
  await overtakes();
});

test("one with further groups stays in a group that has a free channel", async () => {
  await twoChannels();
  await world.addChannel({ key: "sk-three-0123456789", group: "vip" });
  await world.setOption("GroupRatio", JSON.stringify({ default: 1, vip: 1 }));
  await world.setOption("UserUsableGroups", JSON.stringify({ vip: "" }));
  const open = holdFirst();
  const { others } = await fillFirst();
  await world.changeToken({ groups: "default,vip" });
  expect((await world.ask(LONG)).status).toBe(200);
  expect(keyOf(-1)).toBe(KEYS[1]);
  // And leaves one at once whose channels others wait for.
  expect((await world.ask(QUESTION)).status).toBe(200);
  expect(keyOf(-1)).toBe("sk-three-0123456789");
  open();
  expect((await Promise.all(others)).map(({ status }) => status)).toEqual([200, 200]);
});

test("one that waits to its end behind others is told when to come again", async () => {
  await twoChannels();
  await world.setOption("ChannelQueueSeconds", "1");
  const open = holdFirst();
  const running = world.ask(QUESTION);
  await expect.poll(() => world.upstream.journal.length, { timeout: 10_000 }).toBe(1);
  const told = await Promise.all([world.ask(QUESTION), world.ask(QUESTION)]);
  for (const response of told) {
    expect(response.status).toBe(429);
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await response.json()).toMatchObject({ error: { code: "channel_limit_exceeded" } });
  }
  open();
  expect((await running).status).toBe(200);
});
