// Responses that upstreams keep (ResponsesStateEnabled): pinned to the channel and key that made them, in the background, looked at, cancelled
// and deleted, with OpenAI's own SDK (requirements C57, C60, C62).
import OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { LogType } from "#contract/log.ts";
import { addKeys, changeKeys, newKey, removeKeys } from "#server/store/channel-keys.ts";
import { forgetTasks, pollTasks } from "#server/tasks/poll.ts";
import { statusFault } from "#server/upstream/errors/fault.ts";
import { type ResponsesEmulator, startResponses } from "#test/emulators/responses-emulator.ts";
import { seedPriceVersion } from "#test/seeds/price-recipes.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { createRelayWorld, errorOf } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const model = "gpt-4o";
const OPENAI = 1;
const ANTHROPIC = 14;
const makers: ResponsesEmulator[] = [];

beforeAll(async () => {
  for (let n = 0; n < 3; n += 1) makers.push(await startResponses(`m${n}`));
});
afterAll(async () => {
  for (const maker of makers) await maker.close();
});

beforeEach(async () => {
  await world.ctx.db
    .updateTable("tasks")
    .set({ deadline_at: 1, next_at: 0, upstream_sealed: "" })
    .where("is_booked", "=", 0)
    .execute();
  await pollTasks(world.ctx);
  await world.ctx.db.deleteFrom("tasks").execute();
  await world.ctx.db.deleteFrom("stored_responses").execute();
  await world.setOption("ResponsesStateEnabled", "true");
  for (const maker of makers) maker.reset();
});

function sdk(key = world.token.key): OpenAI {
  return new OpenAI({ baseURL: `${world.url}/v1`, apiKey: `sk-${key}`, maxRetries: 0 });
}
const addMakers = async () => {
  for (const { url } of makers) await world.addChannel({ type: OPENAI, models: model, baseUrl: url });
};
const sealed = (key: string) => ({
  ...newKey(1_800_000_000),
  key_hash: world.ctx.secrets.hash(key),
  key_sealed: world.ctx.secrets.seal(key, "channels.key"),
});
const madeBy = (id: string) => makers.findIndex(({ name }) => id.includes(`_${name}_`));
const lost = (id: string) => sdk().responses.create({ model, input: "and?", previous_response_id: id });
const NOT_FOUND = { status: 400, code: "previous_response_not_found", param: "previous_response_id" };

async function sweep(): Promise<void> {
  await world.ctx.db.updateTable("tasks").set({ next_at: 0 }).where("is_booked", "=", 0).execute();
  await pollTasks(world.ctx);
}

describe("a previous response", () => {
  it("leads to the channel that made it, always, whole and streamed", async () => {
    await addMakers();
    const seen = new Set<number>();
    for (let turn = 0; turn < 12; turn += 1) {
      const first = await sdk().responses.create({ model, input: "hi" });
      const maker = madeBy(first.id);
      seen.add(maker);
      const second = await sdk().responses.create({ model, input: "and?", previous_response_id: first.id });
      const stream = await sdk().responses.create({
        model,
        input: "so?",
        previous_response_id: second.id,
        stream: true,
      });
      let third = "";
      for await (const event of stream) if (event.type === "response.completed") third = event.response.id;
      const fourth = await sdk().responses.create({ model, input: "ok", previous_response_id: third });
      expect([second, { id: third }, fourth].map(({ id }) => madeBy(id))).toEqual([maker, maker, maker]);
      expect(fourth.output_text).toBe("hi and? so? ok");
    }
    expect(seen.size).toBeGreaterThan(1);
    expect((await world.money()).open).toBe(0);
  });

  it("is charged like any other", async () => {
    await addMakers();
    const { id } = await sdk().responses.create({ model, input: "hi" });
    const { charged, open, log } = await world.costOf(() => lost(id));
    expect([charged > 0, open, log?.prompt_tokens, log?.completion_tokens]).toEqual([true, 0, 10, 5]);
  });

  it("of another, an unknown one, and one that was not kept are not found", async () => {
    await addMakers();
    const { id } = await sdk().responses.create({ model, input: "hi" });
    const stranger = await seedUser(world.ctx, `stranger-${Date.now()}`);
    const quota = { delta: 10n ** 9n };
    await world.ctx.ledger.adjust({ userId: stranger.id, kind: "grant", quota, actorId: 1, reason: "test" });
    const { key } = await seedToken(world.ctx, stranger.id);
    const asked = makers.map(({ asked: count }) => count());
    await expect(
      sdk(key).responses.create({ model, input: "and?", previous_response_id: id }),
    ).rejects.toMatchObject(NOT_FOUND);
    await expect(lost("resp_never")).rejects.toMatchObject(NOT_FOUND);
    const forgotten = await sdk().responses.create({ model, input: "hi", store: false });
    await expect(lost(forgotten.id)).rejects.toMatchObject(NOT_FOUND);
    expect(makers.map(({ asked: count }) => count()).reduce((a, b) => a + b)).toBe(
      asked.reduce((a, b) => a + b) + 1,
    );
    await world.ctx.db.updateTable("stored_responses").set({ expires_at: 1 }).execute();
    await expect(lost(id)).rejects.toMatchObject(NOT_FOUND);
    await forgetTasks(world.ctx);
    expect(await world.ctx.db.selectFrom("stored_responses").select("id").execute()).toEqual([]);
  });

  it("is not found when its channel is off, gone, resting or no longer the caller's", async () => {
    const { db, candidates, health } = world.ctx;
    await addMakers();
    const make = async () => (await sdk().responses.create({ model, input: "hi" })).id;
    const change = async (id: string, set: Record<string, number | string>) => {
      const row = await db
        .selectFrom("stored_responses")
        .selectAll()
        .where("response_id", "=", id)
        .executeTakeFirstOrThrow();
      if (Object.keys(set).length > 0)
        await db.updateTable("channels").set(set).where("id", "=", row.channel_id).execute();
      await candidates.reload();
      return row.channel_id;
    };
    const off = await make();
    await change(off, { status: 2 });
    await expect(lost(off)).rejects.toMatchObject(NOT_FOUND);
    const foreign = await make();
    await change(foreign, { group: "vip" });
    await expect(lost(foreign)).rejects.toMatchObject(NOT_FOUND);
    const resting = await make();
    const channel = await change(resting, {});
    makers[madeBy(resting)]?.fail(500);
    for (let n = 0; n < 8 && health.openCircuits(model)?.(channel) !== true; n += 1)
      await lost(resting).catch(() => undefined);
    expect(health.openCircuits(model)?.(channel)).toBe(true);
    await expect(lost(resting)).rejects.toMatchObject(NOT_FOUND);
    await world.clearChannels();
    await expect(lost(resting)).rejects.toMatchObject(NOT_FOUND);
  });

  it("is never answered in another format, which would not know it", async () => {
    await addMakers();
    const { id } = await sdk().responses.create({ model, input: "hi" });
    const maker = makers[madeBy(id)];
    // As a server would that has no such path.
    maker?.fail(404);
    await expect(lost(id)).rejects.toMatchObject({ status: 404 });
    expect(maker?.calls().slice(-1)).toEqual(["POST /v1/responses"]);
    maker?.fail(0);
    expect((await lost(id)).output_text).toBe("hi and?");
  });

  it("leads to the key that made it; without that key it is not found", async () => {
    const { db, candidates } = world.ctx;
    const [maker] = makers;
    const id = await world.addChannel({ type: OPENAI, models: model, baseUrl: maker?.url ?? "" });
    const keys = ["sk-state-two-0123456789", "sk-state-three-0123456789"].map(sealed);
    await db.transaction().execute((tx) => addKeys(tx, id, keys, 1_800_000_000));
    await db.updateTable("channels").set({ key_mode: "round_robin" }).where("id", "=", id).execute();
    await candidates.reload();
    for (let n = 0; n < 6; n += 1) {
      const first = await sdk().responses.create({ model, input: "hi" });
      await lost(first.id);
      const [before, after] = maker?.keys().slice(-2) ?? [];
      expect(after).toBe(before);
    }
    expect(new Set(maker?.keys()).size).toBe(3);
    const last = await sdk().responses.create({ model, input: "hi" });
    const row = await db
      .selectFrom("stored_responses")
      .selectAll()
      .where("response_id", "=", last.id)
      .executeTakeFirstOrThrow();
    await db.transaction().execute((tx) => removeKeys(tx, id, [row.key_id], 1_800_000_000));
    await candidates.reload();
    await expect(lost(last.id)).rejects.toMatchObject(NOT_FOUND);
  });

  it("leads to the one key that its channel had, when it has more by now", async () => {
    const { db, candidates } = world.ctx;
    const [maker] = makers;
    const id = await world.addChannel({ type: OPENAI, models: model, baseUrl: maker?.url ?? "" });
    const first = await sdk().responses.create({ model, input: "hi" });
    await db
      .transaction()
      .execute((tx) => addKeys(tx, id, [sealed("sk-state-two-0123456789")], 1_800_000_000));
    await db.updateTable("channels").set({ key_mode: "round_robin" }).where("id", "=", id).execute();
    await candidates.reload();
    for (let n = 0; n < 3; n += 1) expect((await lost(first.id)).output_text).toBe("hi and?");
    expect(new Set(maker?.keys()).size).toBe(1);
  });

  it("is not found while its key is off or rests for the model, though others of the channel are free", async () => {
    const { db, candidates } = world.ctx;
    const [maker] = makers;
    const id = await world.addChannel({ type: OPENAI, models: `${model},gpt-4`, baseUrl: maker?.url ?? "" });
    await db
      .transaction()
      .execute((tx) => addKeys(tx, id, [sealed("sk-state-two-0123456789")], 1_800_000_000));
    await candidates.reload();
    const { id: made } = await sdk().responses.create({ model, input: "hi" });
    const { key_id: keyId } = await db
      .selectFrom("stored_responses")
      .select("key_id")
      .executeTakeFirstOrThrow();
    const channel = candidates.byId(id) ?? expect.fail("no channel");
    const fault = statusFault({ status: 404, body: undefined, text: "", retryAfterMs: 0, secrets: [] });
    const fails = (of: string) =>
      channel.keys?.failed(
        { ...channel, keyId },
        {
          ...{ model: of, fault, isDisabling: false, isModelAbsent: true, now: world.ctx.clock.now() },
        },
      );
    fails("gpt-4");
    expect((await lost(made)).output_text).toBe("hi and?");
    fails(model);
    await expect(lost(made)).rejects.toMatchObject(NOT_FOUND);
    channel.keys?.answered(keyId, model);
    expect((await lost(made)).output_text).toBe("hi and?");
    await db.transaction().execute((tx) => changeKeys(tx, { channelId: id, ids: [keyId] }, { status: 2 }, 1));
    await candidates.reload();
    await expect(lost(made)).rejects.toMatchObject(NOT_FOUND);
    // The other key is free all the while.
    expect((await sdk().responses.create({ model, input: "hi" })).output_text).toBe("hi");
  });
});

describe("a kept response", () => {
  it("is looked at, listed and deleted by its owner alone", async () => {
    await addMakers();
    const { id } = await sdk().responses.create({ model, input: "hi" });
    expect(await sdk().responses.retrieve(id)).toMatchObject({ id, status: "completed" });
    const items = await sdk().responses.inputItems.list(id, { limit: 5 });
    expect(items.data[0]).toMatchObject({ type: "message" });
    const stranger = await seedUser(world.ctx, `other-${Date.now()}`);
    const { key } = await seedToken(world.ctx, stranger.id);
    for (const asked of [id, "resp_never"])
      for (const call of [
        () => sdk(key).responses.retrieve(asked),
        () => sdk(key).responses.cancel(asked),
        () => sdk(key).responses.delete(asked),
        () => sdk(key).responses.inputItems.list(asked),
      ])
        await expect(call()).rejects.toMatchObject({ status: 404, code: "response_not_found" });
    await sdk().responses.delete(id);
    await expect(sdk().responses.retrieve(id)).rejects.toMatchObject({ status: 404 });
    await expect(lost(id)).rejects.toMatchObject(NOT_FOUND);
  });

  it("that its upstream has lost is not found", async () => {
    await addMakers();
    const { id } = await sdk().responses.create({ model, input: "hi" });
    const get = (query: string) =>
      fetch(`${world.url}/v1/responses/${id}${query}`, {
        headers: { authorization: `Bearer sk-${world.token.key}` },
      });
    for (const maker of makers) maker.reset();
    expect((await get("")).status).toBe(404);
  });
});

describe("in the background", () => {
  const start = () =>
    sdk().responses.create({ model, input: "long", background: true, max_output_tokens: 100 });

  it("is reserved at once and booked once, by the job or by its client", async () => {
    await addMakers();
    const version = await seedPriceVersion(world.ctx);
    const { charged, open, entries, log } = await world.costOf(async () => {
      const { id, status } = await start();
      expect(status).toBe("queued");
      const held = await world.ctx.db.selectFrom("reservations").select("node").execute();
      expect(held).toEqual([{ node: "kept" }]);
      await seedPriceVersion(world.ctx);
      await sweep();
      expect((await sdk().responses.retrieve(id)).status).toBe("queued");
      makers[madeBy(id)]?.finish(id);
      const looks = [1, 2, 3].map(() => sdk().responses.retrieve(id));
      const [first] = await Promise.all([...looks, sweep(), sweep()]);
      expect(first).toMatchObject({ id, status: "completed", output_text: "long" });
      // It goes on from there like from any other.
      expect(madeBy((await lost(id)).id)).toBe(madeBy(id));
    });
    expect({ open, entries }).toEqual({ open: 0, entries: 2 });
    // Refusals of other calls come into the log a moment late.
    const calls = world.ctx.db.selectFrom("logs").select("price_version").where("type", "=", LogType.consume);
    const told = (await calls.orderBy("id", "desc").limit(2).execute())
      .map(({ price_version }) => price_version)
      .sort();
    expect(told).toEqual([version, version + 1]);
    expect(log).toMatchObject({ prompt_tokens: 10, completion_tokens: 5, estimated: 0 });
    expect(charged).toBe((log?.quota ?? 0) * 2);
  });

  it("is completed by a look after its process is gone", async () => {
    await addMakers();
    const { id } = await start();
    // What another process would find: it holds nothing of this call.
    makers[madeBy(id)]?.finish(id);
    await world.ctx.ledger.recover();
    expect((await world.money()).open).toBe(1);
    const { status } = await sdk().responses.retrieve(id);
    expect(status).toBe("completed");
    expect((await world.money()).open).toBe(0);
    await sweep();
    const rows = await world.ctx.db.selectFrom("tasks").selectAll().execute();
    expect(rows).toMatchObject([{ kind: "response", outcome: "charge", is_booked: 1, state: "completed" }]);
  });

  it("cancelled, costs what came and returns the rest", async () => {
    await addMakers();
    const { charged, open, log } = await world.costOf(async () => {
      const { id } = await start();
      expect((await sdk().responses.cancel(id)).status).toBe("cancelled");
    });
    expect([open, log?.completion_tokens, charged]).toEqual([0, 2, log?.quota]);
    expect(charged).toBeGreaterThan(0);
  });

  it("failed, costs nothing", async () => {
    await addMakers();
    const { charged, open, entries } = await world.costOf(async () => {
      const { id } = await start();
      makers[madeBy(id)]?.finish(id, "failed");
      await sweep();
    });
    expect({ charged, open, entries }).toEqual({ charged: 0, open: 0, entries: 0 });
  });

  it("is refused clearly where no channel keeps responses, and leaves nothing", async () => {
    await world.addChannel({ type: ANTHROPIC, models: model });
    await expect(start()).rejects.toMatchObject({ status: 400, param: "background" });
    expect((await world.money()).open).toBe(0);
    expect(await world.ctx.db.selectFrom("tasks").select("id").execute()).toEqual([]);
  });

  it("goes where rules of routing by size send it", async () => {
    await addMakers();
    const ids = (await world.ctx.db.selectFrom("channels").select("id").orderBy("id").execute()).map(
      ({ id }) => id,
    );
    const last = ids.at(-1) ?? 0;
    await world.setOption("RouteRules", JSON.stringify([{ name: "long", kib_over: 1, only: [last] }]));
    for (let turn = 0; turn < 3; turn += 1) {
      const { id } = await sdk().responses.create({ model, input: "x".repeat(2_000), background: true });
      expect(madeBy(id)).toBe(makers.length - 1);
    }
    await world.setOption("RouteRules", "[]");
  });

  it("that is not stored is refused", async () => {
    const ask = (part: object) =>
      world.ask({ model, input: "x", background: true, ...part }, { path: "/v1/responses" });
    expect(await errorOf(await ask({ store: false }))).toMatchObject({ status: 400, param: "store" });
    expect(await errorOf(await ask({ background: "yes" }))).toMatchObject({
      status: 400,
      param: "background",
    });
    expect(await errorOf(await ask({ background: false, store: 1 }))).toMatchObject({ param: "store" });
    expect(await errorOf(await ask({ background: false, previous_response_id: 7 }))).toMatchObject({
      status: 400,
    });
    expect(await errorOf(await ask({ conversation: "conv_1" }))).toMatchObject({
      status: 400,
      param: "conversation",
    });
  });
});

it("switched off, nothing is kept and all of it is refused as before", async () => {
  await addMakers();
  const { id } = await sdk().responses.create({ model, input: "hi" });
  await world.setOption("ResponsesStateEnabled", "false");
  await expect(lost(id)).rejects.toMatchObject({ status: 400, param: "previous_response_id" });
  await expect(sdk().responses.retrieve(id)).rejects.toMatchObject({ status: 501 });
  const next = await sdk().responses.create({ model, input: "hi" });
  expect(makers[madeBy(next.id)]?.last()).toMatchObject({ store: false });
  expect(await world.ctx.db.selectFrom("stored_responses").select("response_id").execute()).toEqual([
    { response_id: id },
  ]);
});
