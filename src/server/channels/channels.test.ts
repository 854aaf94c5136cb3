import { describe, expect, it } from "vitest";
import { testChannel } from "#server/channels/probe.ts";
import { chatReply, json, silence } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();

describe("candidates", () => {
  const ids = (group: string, model: string) => world.ctx.candidates.find(group, model).map(({ id }) => id);

  it("hold enabled channels by group and model, the highest priority first", async () => {
    const low = await world.addChannel({ priority: -1, models: "a, b,,a" });
    const high = await world.addChannel({ priority: 5, models: "a", group: "default, vip" });
    await world.addChannel({ models: "a", status: 2 });
    const other = await world.addChannel({ models: "c", group: "vip", mapping: { alias: "c" } });
    expect(ids("default", "a")).toEqual([high, low]);
    expect(ids("vip", "a")).toEqual([high]);
    expect(ids("vip", "alias")).toEqual([other]);
    expect(ids("default", "c")).toEqual([]);
    expect(ids("nobody", "a")).toEqual([]);
    expect(world.ctx.candidates.models("vip")).toEqual(["a", "alias", "c"]);
  });

  it("follow a change that is announced, and keep what is not enabled findable by id", async () => {
    const id = await world.addChannel({ models: "a" });
    await world.ctx.db.updateTable("channels").set({ status: 2 }).where("id", "=", id).execute();
    await world.ctx.coord.publish("channels", String(id));
    await world.ctx.candidates.pending;
    expect(ids("default", "a")).toEqual([]);
    expect(world.ctx.candidates.byId(id)?.status).toBe(2);
  });

  it("leave out a channel that cannot be called", async () => {
    const unknown = await world.addChannel({ type: 9999, models: "a" });
    const broken = await world.addChannel({ models: "a" });
    await world.ctx.db
      .updateTable("channels")
      .set({ key_sealed: "v1:AAAA" })
      .where("id", "=", broken)
      .execute();
    await world.ctx.candidates.reload();
    expect(ids("default", "a")).toEqual([]);
    expect(world.ctx.candidates.byId(unknown)).toBeUndefined();
  });
});

describe("the channel test", () => {
  async function probe(model?: string, seed: Parameters<typeof world.addChannel>[0] = {}) {
    const id = await world.addChannel(seed);
    const channel = world.ctx.candidates.byId(id);
    if (channel === undefined) throw new Error("no channel");
    return testChannel(world.ctx, channel, model);
  }

  it("asks for two words with the channel's first model, mapped, and costs no user", async () => {
    const { charged, entries } = await world.costOf(async () => {
      expect(await probe(undefined, { models: "gpt-4,b", mapping: { "gpt-4": "up" } })).toMatchObject({
        ok: true,
        model: "gpt-4",
      });
    });
    expect({ charged, entries }).toEqual({ charged: 0, entries: 0 });
    expect(world.upstream.journal[0]?.json).toEqual({
      model: "up",
      messages: [{ role: "user", content: "hi" }],
      max_tokens: 2,
    });
  });

  it("gives reasoning models room under the name they take, and embeddings their own endpoint", async () => {
    await probe("gpt-5", { type: 1 });
    expect(world.upstream.journal[0]?.json).toMatchObject({ max_completion_tokens: 16 });
    await probe("gpt-6-luna", { type: 1 });
    expect(world.upstream.journal.pop()?.json).toMatchObject({ max_completion_tokens: 16 });
    world.upstream.script(json({ object: "list", data: [{ embedding: [1] }] }));
    expect(await probe("text-embedding-3-small")).toMatchObject({ ok: true });
    expect(world.upstream.journal[1]?.path).toBe("/v1/embeddings");
    world.upstream.script(json({ results: [{ index: 0, relevance_score: 1 }] }));
    expect(await probe("BAAI/bge-reranker-v2-m3", { type: 44 })).toMatchObject({ ok: true });
    expect(world.upstream.journal[2]?.path).toBe("/v1/rerank");
  });

  it("works for a disabled channel", async () => {
    expect(await probe(undefined, { status: 3 })).toMatchObject({ ok: true });
  });

  it("fails in words without keys or hosts", async () => {
    world.upstream.script(
      json({ error: { message: `no sk-canary-upstream-key-0123456789 at ${world.upstream.url}` } }, 401),
    );
    const refused = await probe();
    expect(refused.ok).toBe(false);
    expect(JSON.stringify(refused)).not.toMatch(/canary|127\.0\.0\.1/);
    world.upstream.script(json({ hello: 1 }));
    expect(await probe()).toMatchObject({ ok: false });
    expect(await probe(undefined, { models: "" })).toMatchObject({
      ok: false,
      message: "该渠道没有配置模型",
    });
    world.upstream.script(silence, json(chatReply("x")));
  });
});
