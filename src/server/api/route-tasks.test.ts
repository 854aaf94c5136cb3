// The decision that is kept with work in the background, from its submission to its entry in the log, on both databases (requirements C47).
import OpenAI, { toFile } from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { pollTasks } from "#server/tasks/poll.ts";
import { type BatchEmulator, startBatches } from "#test/emulators/batch-emulator.ts";
import { json, reset } from "#test/emulators/fake-upstream.ts";
import { type ResponsesEmulator, startResponses } from "#test/emulators/responses-emulator.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { answerLine, batchOrder, requestLine } from "#test/worlds/batch-world.ts";
import { createRouteWorld, verdictsOf } from "#test/worlds/route-world.ts";

describe.each(databases)("the decision on $name", (database) => {
  const world = createRouteWorld(database);
  let batches: BatchEmulator;
  let responses: ResponsesEmulator;

  beforeAll(async () => {
    batches = await startBatches();
    responses = await startResponses("maker");
  });
  afterAll(async () => {
    await batches.close();
    await responses.close();
  });
  beforeEach(async () => {
    const { options } = world.app.ctx;
    await options.set("ModelRatio", JSON.stringify({ "sora-2": 1, "gpt-4o": 1, "gpt-4o-mini": 1 }));
    await options.set("ResponsesStateEnabled", "true");
    await options.set("BatchesEnabled", "true");
  });

  const sdk = () =>
    new OpenAI({ baseURL: `${world.url}/v1`, apiKey: `sk-${world.token.key}`, maxRetries: 0 });

  /** Lets what is under way be looked after now. */
  async function sweep(): Promise<void> {
    await world.app.ctx.db.updateTable("tasks").set({ next_at: 0 }).where("is_booked", "=", 0).execute();
    await pollTasks(world.app.ctx);
  }

  /** A channel that is off, one that refuses, the one that serves and one behind it, all of this model. */
  async function candidates(models: string, good: object): Promise<void> {
    await world.channel("off", { models, priority: 9, status: 2 });
    await world.channel("broken", { models, priority: 8 });
    await world.channel("good", { models, priority: 5, ...good });
    await world.channel("lower", { models, priority: 1, ...good, key: "lower" });
    world.upstream.script((res, asked) =>
      asked.headers.authorization === "Bearer broken"
        ? json({ error: { message: "no" } }, 429)(res, asked)
        : json({ id: "up-1", status: asked.method === "POST" ? "queued" : "completed" })(res, asked),
    );
  }
  const PASSED = [["default", { broken: "tried", good: "chosen", lower: "priority_lower" }]];

  test("for a video says what failed before and why this channel", async () => {
    await candidates("sora-2", { type: 8 });
    const id = await world.logged(async () => {
      await sdk().videos.create({ model: "sora-2", prompt: "a cat", seconds: "4" });
      await sweep();
    });
    const told = await world.decision(id);
    expect(told).toMatchObject({ model: "sora-2", served: true });
    expect(verdictsOf(told)).toEqual(PASSED);
    const tried = told.groups[0]?.candidates.find(({ name }) => name === "broken");
    expect(tried).toMatchObject({ error: "upstream_429" });
    expect(told.channel).toBe(told.groups[0]?.candidates.find(({ name }) => name === "good")?.id);
  });

  test("for a response in the background does so too", async () => {
    await candidates("gpt-4o", { type: 1, base_url: responses.url });
    const id = await world.logged(async () => {
      const made = await sdk().responses.create({ model: "gpt-4o", input: "long", background: true });
      responses.finish(made.id);
      await sweep();
    });
    const told = await world.decision(id);
    expect(told).toMatchObject({ model: "gpt-4o", served: true });
    expect(verdictsOf(told)).toEqual(PASSED);
  });

  describe("of work that failed after its upstream took it", () => {
    /** Entries of the log since one of them, in their order. */
    const entriesAfter = (id: number) =>
      world.app.ctx.db.selectFrom("logs").selectAll().where("id", ">", id).orderBy("id").execute();

    test("stands in an entry that cost nothing, once, without the upstream's words", async () => {
      await candidates("sora-2", { type: 8 });
      world.upstream.script((res, asked) =>
        asked.headers.authorization === "Bearer broken"
          ? json({ error: { message: "no" } }, 429)(res, asked)
          : json({
              id: "up-1",
              status: asked.method === "POST" ? "queued" : "failed",
              error: { code: "moderated", message: "a cat is not allowed" },
            })(res, asked),
      );
      let task = "";
      const id = await world.logged(async () => {
        task = (await sdk().videos.create({ model: "sora-2", prompt: "a cat", seconds: "4" })).id;
        await sweep();
        await sweep();
      });
      const told = await world.decision(id);
      expect(told).toMatchObject({ model: "sora-2", served: false });
      expect(verdictsOf(told)).toEqual(PASSED);
      const [entry, ...more] = await entriesAfter(id - 1);
      expect(more).toEqual([]);
      expect(entry).toMatchObject({
        ...{ type: 6, quota: 0, user_id: world.user?.id, token_id: world.token.id, username: "caller" },
        ...{ content: "upstream_error：上游未能完成任务，未收费，原因见任务", channel_id: told.channel },
      });
      // Its task tells why.
      expect(await sdk().videos.retrieve(task)).toMatchObject({
        status: "failed",
        error: { code: "moderated", message: "a cat is not allowed" },
      });
      const { data: own } = await world.app.call(world.user?.who ?? asRoot, "GET", "/api/log/self/?type=6");
      expect(own[0]).toMatchObject({ model_name: "sora-2", channel: 0, trail: [] });
    });

    test("and whose end is ours says so; what was cancelled leaves none", async () => {
      await candidates("gpt-4o", { type: 1, base_url: responses.url });
      const { db } = world.app.ctx;
      const ask = { model: "gpt-4o", input: "long", background: true } as const;
      const id = await world.logged(async () => {
        const made = await sdk().responses.create(ask);
        await db.updateTable("tasks").set({ deadline_at: 1 }).where("is_booked", "=", 0).execute();
        await sweep();
        responses.finish(made.id);
      });
      expect(verdictsOf(await world.decision(id))).toEqual(PASSED);
      const [entry] = await entriesAfter(id - 1);
      expect(entry).toMatchObject({ type: 6, content: "timeout：上游未在期限内完成任务，未收费" });
      await world.logged(async () => {
        responses.finish((await sdk().responses.create(ask)).id, "failed");
        await sweep();
      });
      const [, failed] = await entriesAfter(id - 1);
      expect(failed).toMatchObject({ type: 6, content: expect.stringMatching(/^upstream_error：/) });
      await sdk().responses.create(ask);
      const task = await db.selectFrom("tasks").select("id").orderBy("id", "desc").executeTakeFirstOrThrow();
      const ended = await world.app.call(asRoot, "POST", `/api/task/${task.id}/cancel`, {});
      expect(ended).toMatchObject({ success: true });
      const since = await entriesAfter(failed?.id ?? 0);
      expect(since.filter(({ type }) => type === 6)).toEqual([]);
    });

    test("and of a call that told of it itself there is one entry", async () => {
      await world.channel("unsure", { models: "sora-2", type: 8 });
      world.upstream.script(reset);
      const id = await world.logged(async () => {
        const ask = sdk().videos.create({ model: "sora-2", prompt: "a cat", seconds: "4" });
        await expect(ask).rejects.toMatchObject({ status: 502 });
      });
      const [task] = await world.app.ctx.db
        .selectFrom("tasks")
        .select(["code", "outcome"])
        .orderBy("id", "desc")
        .execute();
      expect(task).toEqual({ code: "submit_unknown", outcome: "refund" });
      await sweep();
      expect(await entriesAfter(id - 1)).toMatchObject([{ type: 6, model_name: "sora-2" }]);
    });
  });

  test("for a batch is that of its file, also where the order is refused", async () => {
    await world.channel("off", { models: "gpt-4o-mini", priority: 9, status: 2 });
    await world.channel("good", { models: "gpt-4o-mini", priority: 5, base_url: batches.url });
    await world.channel("lower", { models: "gpt-4o-mini", priority: 1 });
    const lines = Buffer.from(`${requestLine("r-1")}\n`);
    const file = await sdk().files.create({
      file: await toFile(lines, "requests.jsonl"),
      purpose: "batch",
    });
    const order = batchOrder(file.id);
    const id = await world.logged(async () => {
      await sdk().batches.create(order);
      batches.end(batches.batches().at(-1) ?? "", { output: answerLine("r-1") });
      await sweep();
    });
    const told = await world.decision(id);
    expect(told).toMatchObject({ model: "gpt-4o-mini", served: true });
    const chosen = [["default", { good: "chosen", lower: "priority_lower" }]];
    expect(verdictsOf(told)).toEqual(chosen);
    const { db } = world.app.ctx;
    await db
      .updateTable("tokens")
      .set({ unlimited_quota: 0, remain_quota: 0 })
      .where("id", "=", world.token.id)
      .execute();
    const refused = await world.logged(async () => {
      await expect(sdk().batches.create(order)).rejects.toMatchObject({ status: 402 });
    });
    const why = await world.decision(refused);
    expect(why.served).toBe(false);
    expect(verdictsOf(why)).toEqual(chosen);
  });
});
