// The last day of a model comes, and a channel serves at a loss: operators hear of it, users where they are to (requirements X11, X12).
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import type { Settlement } from "#server/money/operations.ts";
import { listConditions } from "#server/store/alerts.ts";
import { startSmtp } from "#test/emulators/smtp-emulator.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { seedChannel } from "#test/worlds/stores.ts";
import { marginWatch } from "./margin-watch.ts";
import { modelEndings } from "./model-endings.ts";

const DAY_MS = 86_400_000;
/** Noon of 2027-01-01 in Shanghai. */
const START_MS = Date.parse("2027-01-01T04:00:00Z");

describe.each(databases)("what operators hear of models on $name", (database) => {
  let clock: ReturnType<typeof fakeClock>;
  let app: TestApp;
  let smtp: Awaited<ReturnType<typeof startSmtp>>;
  let calls = 0;

  beforeAll(async () => {
    clock = fakeClock(START_MS);
    smtp = await startSmtp();
    app = await createAppOn(database, { clock });
    await app.ctx.options.set("SMTPServer", "127.0.0.1");
    await app.ctx.options.set("SMTPPort", String(smtp.port));
    await app.ctx.options.set("SMTPFrom", "gate@example.com");
  });
  afterAll(async () => {
    await app.close();
    await smtp.close();
  });
  beforeEach(() => {
    smtp.letters.length = 0;
  });

  async function callOf(
    email: string,
    { isGiven = false, ...more }: Partial<Settlement> & { readonly isGiven?: boolean } = {},
  ): Promise<void> {
    calls += 1;
    const user = await seedUser(app.ctx, `caller${calls}`);
    // The test's administrator gave the balance; of an imported one nothing is known.
    const change = { email, ...(isGiven ? {} : { bought: "" }) };
    await app.ctx.db.updateTable("users").set(change).where("id", "=", user.id).execute();
    const { id: tokenId } = await seedToken(app.ctx, user.id);
    const log = {
      content: "",
      model_name: "old-model",
      elapsed_time: 1,
      first_byte_time: 0,
      is_stream: 0,
      estimated: 0,
      trail: "",
    };
    await app.ctx.ledger.settle({
      requestId: `call-${calls}`,
      userId: user.id,
      tokenId,
      channelId: 0,
      charge: 1_000n,
      usage: { promptTokens: 1, completionTokens: 1, cachedTokens: 0 },
      log,
      ...more,
    });
  }

  /** What a run told, and to whom letters went. */
  async function run() {
    const said = await modelEndings.run(app.ctx);
    await app.ctx.mailer.idle();
    return { said, to: smtp.letters.flatMap(({ to }) => to) };
  }

  test("a model's last day is told a month, a week and a day before, each once", async () => {
    const channel = { type: 1, name: "上游", key: "sk-1", group: "default", models: "old-model" };
    await app.call(asRoot, "POST", "/api/channel/", channel);
    await callOf("caller@example.com");
    await app.ctx.options.set("ModelLastDays", '{"old-model":"2027-02-01","unoffered":"2027-01-02"}');
    expect((await run()).said).toBe("0 told");
    // 2027-01-02: thirty days are left.
    clock.advance(DAY_MS);
    expect(await run()).toEqual({ said: "1 told", to: [] });
    expect((await run()).said).toBe("0 told");
    await app.ctx.options.set("ModelEndingLettersEnabled", "true");
    // Those who called it in the last 30 days.
    clock.advance(23 * DAY_MS);
    expect(await run()).toEqual({ said: "1 told", to: ["caller@example.com"] });
    expect(smtp.letters[0]?.html ?? "").toContain("2027-02-01");
    smtp.letters.length = 0;
    // His call is more than 30 days ago now.
    clock.advance(6 * DAY_MS + DAY_MS / 12);
    expect(await run()).toEqual({ said: "1 told", to: [] });
    clock.advance(2 * DAY_MS);
    expect((await run()).said).toBe("0 told");
  });

  test("a day that is moved is told anew, the nearest stage alone", async () => {
    await app.ctx.options.set("ModelLastDays", '{"old-model":"2027-02-06"}');
    expect((await run()).said).toBe("1 told");
    expect((await run()).said).toBe("0 told");
  });

  test("a channel that served at a loss is an alert until a day without one, and unknown costs are none", async () => {
    const channelId = await seedChannel(app.ctx.db, { name: "亏损渠道" });
    const lasting = async () => {
      await marginWatch.run(app.ctx);
      await app.ctx.alerts.idle();
      return (await listConditions(app.ctx.db, "margin_low")).map(({ title }) => title);
    };
    await callOf("", { channelId });
    expect(await lasting()).toEqual([]);
    // That quota was given says nothing of a price.
    await callOf("", { channelId, isGiven: true, cost: { cost: 90_000_000, saved: 0, group: "default" } });
    expect(await lasting()).toEqual([]);
    // $0.002 came in for what cost less than a cent more.
    await callOf("", { channelId, cost: { cost: 11_000_000, saved: 0, group: "default" } });
    expect(await lasting()).toEqual([]);
    await callOf("", { channelId, cost: { cost: 20_000_000, saved: 0, group: "default" } });
    expect(await lasting()).toEqual([`模型 old-model 在渠道 #${channelId} 亏损渠道 上亏损`]);
    expect(await lasting()).toHaveLength(1);
    clock.advance(2 * DAY_MS);
    expect(await lasting()).toEqual([]);
  });
});
