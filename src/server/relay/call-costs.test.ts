// Each call's cost stands with its entry in the log and in the sums by hour, in both databases (requirements X09).
import { describe, expect, onTestFinished, test } from "vitest";
import { createFakeRealtime } from "#test/emulators/fake-realtime.ts";
import { chatReply, heldStream, json } from "#test/emulators/fake-upstream.ts";
import { beginTalk } from "#test/emulators/realtime-client.ts";
import { databases } from "#test/worlds/app.ts";
import { createRelayWorld, MODEL, QUESTION } from "#test/worlds/relay-world.ts";

const USAGE = {
  prompt_tokens: 1000,
  completion_tokens: 500,
  total_tokens: 1500,
  prompt_tokens_details: { cached_tokens: 400 },
};

describe.each(databases)("what calls cost, on $name", (database) => {
  const world = createRelayWorld({ database });

  async function addChannel(
    key: string,
    columns: { cost_ratio?: number; cost_sheet?: string },
    mapping = {},
  ) {
    await world.ctx.db.updateTable("channels").set({ status: 2 }).execute();
    const id = await world.addChannel({ key, mapping });
    await world.ctx.db
      .updateTable("channels")
      .set({ priority: 0, ...columns })
      .where("id", "=", id)
      .execute();
    await world.ctx.candidates.reload();
    return id;
  }

  async function ask() {
    world.upstream.script(json(chatReply("hi", USAGE)));
    const { log, charged } = await world.costOf(async () => {
      const answer = await world.ask({ ...QUESTION, max_tokens: 1_000 });
      expect(answer.status).toBe(200);
      await answer.text();
    });
    const row = await world.ctx.db
      .selectFrom("logs")
      .select(["cost", "quota", "channel_id", "cached_tokens"])
      .where("request_id", "=", log?.request_id ?? "")
      .executeTakeFirstOrThrow();
    return { row, charged };
  }

  async function sumsOf(dimension: "channel" | "group", key: string) {
    return world.ctx.db
      .selectFrom("log_sums")
      .select(["cost", "costed_quota", "cached_tokens", "saved", "requests", "quota"])
      .where("dimension", "=", dimension)
      .where("key", "=", key)
      .executeTakeFirst();
  }

  test("by the list price times the channel's ratio, whatever the group pays", async () => {
    const id = await addChannel("discount", { cost_ratio: 0.5 });
    const { row, charged } = await ask();
    const price = world.ctx.prices().find(MODEL, MODEL, "");
    const weights = price?.weights;
    if (weights === undefined) throw new Error("no price");
    const quota = (600n * weights.text + 400n * weights.cached + 500n * weights.completion) / weights.over;
    expect(row.cost).toBe(Number(quota) * 1_000);
    expect(await sumsOf("channel", String(id))).toMatchObject({
      cost: row.cost,
      costed_quota: charged,
      quota: charged,
      cached_tokens: 400,
      requests: 1,
    });
    const group = await sumsOf("group", "default");
    expect(Number(group?.cost)).toBeGreaterThanOrEqual(row.cost);
  });

  test("by the channel's own price, under the name that the upstream is asked for", async () => {
    const sheet = { currency: "CNY", rate: "7", models: { "house-model": { input: "7", output: "14" } } };
    await addChannel("own", { cost_sheet: JSON.stringify(sheet) }, { [MODEL]: "house-model" });
    // $1 and $2 a million: $0.001 and $0.001.
    expect((await ask()).row.cost).toBe(2_000_000);
  });

  test("above the price the channel is not called where the operator wants that, and a cheaper one is", async () => {
    await world.setOption("RefuseBelowCostEnabled", "true");
    await world.setOption("RetryTimes", "1");
    await addChannel("dear", { cost_ratio: 1.5 });
    await world.ctx.db.updateTable("channels").set({ priority: 9 }).where("status", "=", 1).execute();
    await world.ctx.candidates.reload();
    world.upstream.script(json(chatReply("hi", USAGE)));
    const { open } = await world.costOf(async () => {
      const answer = await world.ask(QUESTION);
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ error: { code: "model_below_cost" } });
    });
    expect(open).toBe(0);
    const cheap = await world.addChannel({ key: "cheap" });
    expect((await ask()).row.channel_id).toBe(cheap);
    // What users pay for a dollar counts.
    await world.setOption("SoldDollarYuan", "0.7");
    expect((await world.ask(QUESTION)).status).toBe(400);
    await world.setOption("SoldDollarYuan", "7");
    await world.setOption("RefuseBelowCostEnabled", "false");
    await world.setOption("RetryTimes", "0");
  });

  test("prices that are published while a call runs are those of the next one", async () => {
    await addChannel("running", {});
    const stream = heldStream(USAGE);
    world.upstream.script(stream.step);
    const before = world.ctx.prices().find(MODEL, MODEL, "default")?.weights;
    if (before === undefined) throw new Error("no price");
    const { charged } = await world.costOf(async () => {
      const answer = await world.ask({ ...QUESTION, max_tokens: 1_000, stream: true });
      await stream.begun;
      await world.setOption("ModelRatio", JSON.stringify({ [MODEL]: 1_000 }));
      stream.end();
      expect(await answer.text()).toContain("[DONE]");
    });
    const quota = (600n * before.text + 400n * before.cached + 500n * before.completion) / before.over;
    expect(charged).toBe(Number(quota));
    await world.setOption("ModelRatio", "{}");
  });

  test("a long request is compared at the price of long ones, there and here", async () => {
    await world.setOption("RefuseBelowCostEnabled", "true");
    // $1 and $3.80 a million: above glm-5.1 up to 32,000 LLM tokens, below it beyond.
    await world.setOption("ModelRatio", JSON.stringify({ [MODEL]: 0.5 }));
    await world.setOption("CompletionRatio", JSON.stringify({ [MODEL]: 3.8 }));
    const id = await addChannel("tiered", {}, { [MODEL]: "glm-5.1" });
    expect((await ask()).row.channel_id).toBe(id);
    const long = {
      ...QUESTION,
      max_tokens: 10,
      messages: [{ role: "user", content: "word ".repeat(40_000) }],
    };
    const answer = await world.ask(long);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { code: "model_below_cost" } });
    await world.setOption("RefuseBelowCostEnabled", "false");
    await world.setOption("ModelRatio", "{}");
    await world.setOption("CompletionRatio", "{}");
  });

  test("a conversation below cost does not begin, one that earns does", async () => {
    const provider = await createFakeRealtime();
    onTestFinished(() => provider.close());
    const model = "gpt-realtime";
    await world.ctx.db.updateTable("channels").set({ status: 2 }).execute();
    const id = await world.addChannel({ type: 1, baseUrl: provider.url, models: model });
    const costs = async (ratio: number) => {
      await world.ctx.db.updateTable("channels").set({ cost_ratio: ratio }).where("id", "=", id).execute();
      await world.ctx.candidates.reload();
    };
    await world.setOption("RefuseBelowCostEnabled", "true");
    await costs(1.5);
    const refused = beginTalk(world.url, world.token.key, model);
    await refused.until("error");
    expect(refused.events[0]?.error?.code).toBe("model_below_cost");
    expect(provider.talks).toEqual([]);
    await costs(0.5);
    provider.script((next) => next.say({ type: "session.created", session: { model } }));
    const client = beginTalk(world.url, world.token.key, model);
    await client.until("session.created");
    client.socket.terminate();
    await world.setOption("RefuseBelowCostEnabled", "false");
  });

  test("and one that is not known is no cost of 0", async () => {
    const id = await addChannel("unknown", {}, { [MODEL]: "nobody-prices-this" });
    const { row, charged } = await ask();
    expect(row.cost).toBe(-1);
    expect(await sumsOf("channel", String(id))).toMatchObject({ cost: 0, costed_quota: 0, quota: charged });
  });
});
