// Responses that upstreams keep, over two nodes of one PostgreSQL: made on one, gone on from on the other; one in the background is finished by
// the node that is left, and booked once (requirements C60, C62).
import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkLedger } from "#server/money/ledger-check.ts";
import { pollTasks } from "#server/tasks/poll.ts";
import { type ResponsesEmulator, startResponses } from "#test/emulators/responses-emulator.ts";
import { PATIENCE } from "#test/worlds/nodes.ts";
import { severalNodes } from "#test/worlds/several-nodes.ts";

const model = "gpt-4o";

const nodes = severalNodes(2);
const { apps, urls, node } = nodes;
const makers: ResponsesEmulator[] = [];

beforeAll(async () => {
  for (let at = 0; at < 2; at += 1) {
    const maker = await startResponses(`n${at}`);
    makers.push(maker);
    await nodes.addChannel(model, { base_url: maker.url, type: 1 });
  }
  await nodes.set("ResponsesStateEnabled", "true");
});
afterAll(async () => {
  for (const maker of makers) await maker.close();
});

test("events that clients of both nodes follow are booked once", async () => {
  const { ctx } = node(1);
  const { key, userId } = await nodes.newcomer("follower");
  const sdk = (at: number) => new OpenAI({ baseURL: `${urls[at]}/v1`, apiKey: `sk-${key}`, maxRetries: 0 });
  const started = await sdk(0).responses.create({ model, input: "long", background: true, stream: true });
  const events = started[Symbol.asyncIterator]();
  const first = (await events.next()).value;
  const id = first.type === "response.created" ? first.response.id : "";
  const maker = makers.find(({ name }) => id.includes(`_${name}_`)) ?? expect.fail(id);
  const follow = async (at: number) => {
    let last = "";
    for await (const { type } of await sdk(at).responses.retrieve(id, { stream: true, starting_after: 0 }))
      last = type;
    return last;
  };
  const followers = [follow(0), follow(1), events.next().then(({ value }) => value.type)];
  await expect.poll(() => maker.followers(id), PATIENCE).toBe(3);
  maker.finish(id);
  const looks = [0, 1].map((at) => sdk(at).responses.retrieve(id));
  const sweeps = apps.map(async ({ ctx: one }) => {
    await one.db.updateTable("tasks").set({ next_at: 0 }).where("is_booked", "=", 0).execute();
    await pollTasks(one);
  });
  expect(await Promise.all(followers)).toEqual(Array(3).fill("response.completed"));
  await Promise.all([...looks, ...sweeps]);
  const charged = await ctx.db
    .selectFrom("ledger")
    .select("id")
    .where("kind", "=", "consume")
    .where("user_id", "=", userId)
    .execute();
  expect(charged).toHaveLength(1);
  expect(await checkLedger(ctx.db)).toEqual([]);
});

test("what one node began the other goes on with, once", async () => {
  const { ctx } = node(1);
  const { key, userId } = await nodes.newcomer("maker");
  const sdk = (at: number) => new OpenAI({ baseURL: `${urls[at]}/v1`, apiKey: `sk-${key}`, maxRetries: 0 });
  const makerOf = (id: string) => makers.find(({ name }) => id.includes(`_${name}_`));
  for (let turn = 0; turn < 6; turn += 1) {
    const { id } = await sdk(turn % 2).responses.create({ model, input: "hi" });
    const next = await sdk((turn + 1) % 2).responses.create({
      model,
      input: "and?",
      previous_response_id: id,
    });
    expect(makerOf(next.id)).toBe(makerOf(id));
  }
  const { id } = await sdk(0).responses.create({ model, input: "long", background: true });
  makerOf(id)?.finish(id);
  await apps.shift()?.close();
  urls.shift();
  expect(await ctx.db.selectFrom("reservations").select("node").execute()).toEqual([{ node: "kept" }]);
  const looks = await Promise.all([1, 2, 3].map(() => sdk(0).responses.retrieve(id)));
  expect(looks.map(({ status }) => status)).toEqual(Array(3).fill("completed"));
  await expect
    .poll(() => ctx.db.selectFrom("reservations").select("request_id").execute(), PATIENCE)
    .toEqual([]);
  const entries = await ctx.db
    .selectFrom("ledger")
    .select("id")
    .where("kind", "=", "consume")
    .where("user_id", "=", userId)
    .execute();
  expect(entries).toHaveLength(13);
  expect(await checkLedger(ctx.db)).toEqual([]);
});
