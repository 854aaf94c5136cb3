// Responses in the background under a budget and under a limit of the cost of a call, on both databases: whether their events are streamed or
// not, all that they may put out is set aside at once, since nothing more is asked for while they run (requirements C62, L07, L09).
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { checkLedger } from "#server/money/ledger-check.ts";
import { checkLimits } from "#server/money/ledger-check-limits.ts";
import { pollTasks } from "#server/tasks/poll.ts";
import { type ResponsesEmulator, startResponses } from "#test/emulators/responses-emulator.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createTestApp, type TestApp } from "#test/worlds/app.ts";
import { dropLimits, seedLimit } from "#test/worlds/limits.ts";
import { createPostgresDatabase, type PostgresDatabase } from "#test/worlds/postgres.ts";
import { engines } from "#test/worlds/stores.ts";

const model = "gpt-4";
const CALLS = 40;
const FIT = 5;
/** More than a stream sets aside at first. */
const OUTPUT = 4_000;
const PATIENCE = { timeout: 30_000 };

describe.each(engines)("responses in the background on %s", (engine) => {
  let database: PostgresDatabase | undefined;
  let maker: ResponsesEmulator;
  let app: TestApp;
  let url = "";
  let serial = 0;

  beforeAll(async () => {
    database = engine === "postgres" ? await createPostgresDatabase() : undefined;
    maker = await startResponses("budget");
    app = await createTestApp(database === undefined ? {} : { databaseUrl: database.url });
    url = await app.listen();
    await app.ctx.options.set("PreConsumedQuota", "0");
    await app.ctx.options.set("ResponsesStateEnabled", "true");
    const draft = { type: 1, name: "c", key: "k", base_url: maker.url, models: model, group: "default" };
    await app.call(asRoot, "POST", "/api/channel/", draft);
    await vi.waitFor(() => expect(app.ctx.candidates.find("default", model)).toHaveLength(1), PATIENCE);
  });
  afterEach(async () => {
    expect(await checkLimits(app.ctx.db)).toEqual([]);
    expect(await checkLedger(app.ctx.db)).toEqual([]);
    await dropLimits(app.ctx);
    maker.reset();
  });
  afterAll(async () => {
    await app.close();
    await maker.close();
    await database?.drop();
  });

  async function newcomer() {
    serial += 1;
    const { id: userId } = await seedUser(app.ctx, `${engine.slice(0, 1)}${serial}background`);
    const quota = { delta: 10n ** 9n };
    await app.ctx.ledger.adjust({ userId, kind: "grant", quota, actorId: 1, reason: "test" });
    const { id: tokenId, key } = await seedToken(app.ctx, userId);
    return { userId, tokenId, key };
  }

  async function submit(key: string, isStream: boolean): Promise<{ status: number; text: string }> {
    const response = await fetch(`${url}/v1/responses`, {
      method: "POST",
      headers: { authorization: `Bearer sk-${key}`, "content-type": "application/json" },
      body: JSON.stringify({
        // Estimated at no less than the prompt that is reported.
        ...{ model, input: "hello world ".repeat(8), max_output_tokens: OUTPUT },
        ...{ background: true, stream: isStream },
      }),
    });
    if (response.status !== 200 || !isStream) return { status: response.status, text: await response.text() };
    // Its events go on for as long as it runs: the first has its id.
    const reader = response.body?.getReader();
    const { value } = (await reader?.read()) ?? {};
    void reader?.cancel();
    return { status: response.status, text: Buffer.from(value ?? []).toString() };
  }

  const idOf = (text: string) => /"id":"(resp_\w+)"/.exec(text)?.[1] ?? expect.fail(text);

  /** Ends the responses with as much as they may put out, and has the job book them. */
  async function end(ids: readonly string[], output = OUTPUT): Promise<void> {
    for (const id of ids) maker.finish(id, "completed", output);
    await expect
      .poll(async () => {
        await app.ctx.db.updateTable("tasks").set({ next_at: 0 }).where("is_booked", "=", 0).execute();
        await pollTasks(app.ctx);
        const { length } = await app.ctx.db.selectFrom("reservations").select("request_id").execute();
        return length;
      }, PATIENCE)
      .toBe(0);
  }

  /** What is set aside for one. */
  async function heldForOne(): Promise<number> {
    const { key } = await newcomer();
    const { text } = await submit(key, false);
    const row = await app.ctx.db.selectFrom("reservations").select("amount").executeTakeFirstOrThrow();
    await end([idOf(text)]);
    return Number(row.amount);
  }

  test.each([true, false])(
    "stream %s: exactly as many pass as the budget pays for, and nothing is overspent",
    async (isStream) => {
      const amount = (await heldForOne()) * FIT;
      const { key, tokenId } = await newcomer();
      await seedLimit(app.ctx, { subject: "token", subject_id: tokenId, amount, time_window: "day" });
      const answers = await Promise.all(Array.from({ length: CALLS }, () => submit(key, isStream)));
      const passed = answers.filter(({ status }) => status === 200);
      expect(passed).toHaveLength(FIT);
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(CALLS - FIT);
      await end(passed.map(({ text }) => idOf(text)));
      const window = await app.ctx.db
        .selectFrom("limit_windows")
        .innerJoin("limits", "limits.id", "limit_id")
        .select(["spent", "reserved"])
        .where("deleted_at", "=", 0)
        .executeTakeFirstOrThrow();
      expect(window.reserved).toBe(0);
      expect(window.spent).toBeGreaterThan(amount / 2);
      expect(window.spent).toBeLessThanOrEqual(amount);
    },
  );

  test.each([true, false])("stream %s: a limit of its cost refuses what it may put out", async (isStream) => {
    const most = (await heldForOne()) - 1;
    const { key, tokenId } = await newcomer();
    await seedLimit(app.ctx, { subject: "token", subject_id: tokenId, kind: "cost", amount: most });
    const { status, text } = await submit(key, isStream);
    expect({ status, code: JSON.parse(text).error.code }).toEqual({
      status: 400,
      code: "request_cost_limit",
    });
  });
});
