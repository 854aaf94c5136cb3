import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { fakeClock } from "#server/clock.ts";
import type { Context } from "#server/context.ts";
import { listConditions } from "#server/store/alerts.ts";
import { appendAudit } from "#server/store/audit.ts";
import { insertLog } from "#server/store/logs.ts";
import { seedUser } from "#test/seeds/seed.ts";
import { createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { newLog } from "#test/worlds/stores.ts";
import { channelTests } from "./channel-tests.ts";
import type { Job } from "./job.ts";
import { jobs, startJobs } from "./jobs.ts";
import { logRetention } from "./log-retention.ts";
import { optimize } from "./optimize.ts";
import { fullLedgerCheck, reconcile } from "./reconcile.ts";

const MINUTE_MS = 60_000;

describe.each(databases)("jobs on $name", (database) => {
  const clock = fakeClock(1_800_000_000_000);
  let app: TestApp;

  beforeAll(async () => {
    app = await createAppOn(database, { clock, env: { LOG_RETENTION_DAYS: "30" } });
  });
  afterAll(() => app.close());

  test("a job runs when its time has come, once for all processes, and again after its period", async () => {
    const ran: string[] = [];
    const job: Job = {
      name: `counted-${database.name}`,
      periodMs: () => MINUTE_MS,
      firstMs: 10_000,
      run: async () => {
        ran.push("x");
        return "done";
      },
    };
    const never: Job = { ...job, name: "never", periodMs: () => 0 };
    // Two processes of one installation.
    const stops = [startJobs(app.ctx, [job, never], 20), startJobs(app.ctx, [job, never], 20)];
    const pass = async (ms: number) => {
      clock.advance(ms);
      await new Promise((resolve) => setTimeout(resolve, 150));
    };
    await pass(1_000);
    expect(ran).toEqual([]);
    await pass(10_000);
    await expect.poll(() => ran).toEqual(["x"]);
    await pass(MINUTE_MS);
    await expect.poll(() => ran).toEqual(["x", "x"]);
    // The clock is set back by an hour: the next run may be missed, not all of an hour.
    await pass(-60 * MINUTE_MS);
    await pass(MINUTE_MS);
    await pass(MINUTE_MS);
    await expect.poll(() => ran).toEqual(["x", "x", "x"]);
    for (const stop of stops) stop();
    await pass(MINUTE_MS);
    expect(ran).toEqual(["x", "x", "x"]);
  });

  test("the scheduled test of channels is the one of the button, without an actor", async () => {
    const notify = vi.spyOn(app.ctx, "notify");
    expect(await channelTests.run(app.ctx)).toBe("started");
    await expect.poll(() => notify).toHaveBeenCalled();
    expect(notify.mock.calls[0]?.[0]).toMatchObject({ title: "渠道测试完成" });
    notify.mockRestore();
  });

  test("the table of jobs follows the configuration", () => {
    const on = (change: Partial<Context["config"]>) =>
      jobs.filter((job) => job.periodMs({ ...app.ctx.config, ...change }) > 0).map((job) => job.name);
    const always = [
      "reconcile",
      "full-audit",
      "alert-watch",
      "key-probes",
      "channel-probes",
      "upstream-models",
      "signups",
      "names",
      "payment-questions",
      "payment-comparison",
      "payment-bodies",
      "invoices",
      "limit-warnings",
      "margin-watch",
      "model-endings",
      "team-wallets",
      "task-polls",
      "task-retention",
      "statements",
      "plan-reminders",
      "renewal-letters",
    ];
    const off = { logRetentionSec: 0, channelTestFrequencyMs: 0 };
    const onPostgres = always.flatMap((name) => (name === "names" ? [name, "late-indexes"] : [name]));
    expect(on({ ...off, databaseUrl: "postgres://" })).toEqual(onPostgres);
    expect(on({ ...off, databaseUrl: undefined })).toEqual([...always, "optimize"]);
    expect(on({ logRetentionSec: 1, channelTestFrequencyMs: 1 })).toContain("channel-tests");
    expect(on({ logRetentionSec: 1, channelTestFrequencyMs: 1 })).toContain("log-retention");
  });

  test("a balance changed by hand is found, told to the administrator once, and counted", async () => {
    const { ctx } = app;
    const notify = vi.spyOn(ctx, "notify");
    const user = await seedUser(ctx, "cheat");
    expect(await reconcile.run(ctx)).toBe("books agree");
    await sql`UPDATE users SET quota = quota + 5 WHERE id = ${user.id}`.execute(ctx.db);
    expect(await reconcile.run(ctx)).toBe("1 mismatches");
    expect(await reconcile.run(ctx)).toBe("1 mismatches");
    expect(notify).toHaveBeenCalledTimes(1);
    expect(notify.mock.calls[0]?.[0].content).toContain(`users #${user.id} quota：500005，应为 500000`);
    expect(ctx.events.samples().find(({ name }) => name === "tollgate_books_differ_total")?.value).toBe(2);
    await sql`UPDATE users SET quota = quota - 5 WHERE id = ${user.id}`.execute(ctx.db);
    expect(await reconcile.run(ctx)).toBe("books agree");
    // That it is over is noted in the background.
    await expect.poll(() => listConditions(ctx.db, "ledger_differs")).toEqual([]);
  });

  test("an act that was edited in the database is found by the daily check, told to the administrator, and counted", async () => {
    const { ctx } = app;
    const notify = vi.spyOn(ctx, "notify");
    const broken = () =>
      ctx.events.samples().find(({ name }) => name === "tollgate_audit_trail_broken")?.value;
    const act = { created_at: 1, actor_id: 1, actor_name: "root", detail: "", address: "", request_id: "" };
    for (const target of ["a", "b", "c"])
      await appendAudit(ctx.db, { ...act, action: "option.update", target });
    expect(await fullLedgerCheck.run(ctx)).toBe("books agree, trail of 3 acts whole");
    expect([broken(), notify.mock.calls]).toEqual([0, []]);
    if (database.name === "SQLite") await sql`DROP TRIGGER audit_no_update`.execute(ctx.db);
    else await sql`ALTER TABLE audit DISABLE TRIGGER ALL`.execute(ctx.db);
    await sql`UPDATE audit SET target = 'x' WHERE id = 2`.execute(ctx.db);
    expect(await fullLedgerCheck.run(ctx)).toBe("books agree, trail broken at 2");
    expect(broken()).toBe(1);
    expect(notify.mock.calls).toMatchObject([[{ title: "操作审计记录被改动" }]]);
    expect(notify.mock.calls[0]?.[0].content).toContain("第 2 条");
    await sql`UPDATE audit SET target = 'b' WHERE id = 2`.execute(ctx.db);
    expect(await fullLedgerCheck.run(ctx)).toBe("books agree, trail of 3 acts whole");
    notify.mockRestore();
  });

  if (database.name === "SQLite")
    test("what SQLite knows of its tables is renewed", async () => {
      const { ctx } = app;
      const known = async () =>
        (await sql`SELECT name FROM sqlite_schema WHERE name = 'sqlite_stat1'`.execute(ctx.db)).rows.length;
      expect(await known()).toBe(0);
      expect(await optimize.run(ctx)).toBe("statistics renewed");
      expect(await known()).toBe(1);
    });

  test("old entries about calls, failed ones and tests go, everything else stays; a clock that leapt takes none with it", async () => {
    const { ctx } = app;
    const leaps = vi.spyOn(ctx.events, "clockLeapt");
    const entry = newLog({ content: "retention", username: "root" });
    const write = async (created_at: number) => {
      for (const type of [1, 2, 3, 4, 5, 6]) await insertLog(ctx.db, { ...entry, type, created_at });
    };
    const left = async (created_at: number) => {
      const rows = ctx.db.selectFrom("logs").select("type").where("content", "=", "retention");
      const kept = await rows.where("created_at", "=", created_at).orderBy("type").execute();
      return kept.map((row) => row.type);
    };
    const looks = async (hours: number) => {
      const told = new Set<string>();
      for (let hour = 0; hour < hours; hour++) {
        told.add(await logRetention.run(ctx));
        clock.advance(60 * MINUTE_MS);
      }
      return [...told];
    };
    const WAITS = "waits for a day without a leap of the clock";
    const old = clock.seconds() - 31 * 86_400;
    const recent = clock.seconds();
    await write(old);
    await write(recent);
    // It is not known yet how the clock runs.
    expect(await looks(24)).toEqual([WAITS]);
    expect(leaps).not.toHaveBeenCalled();
    expect(await looks(1)).toEqual(["3 entries removed"]);
    expect([await left(old), await left(recent)]).toEqual([
      [1, 3, 4],
      [1, 2, 3, 4, 5, 6],
    ]);

    // A machine comes back in another year, with calls that are logged there, and is corrected some hours later.
    const years = 10 * 365 * 24 * 60 * MINUTE_MS;
    clock.advance(years);
    await write(clock.seconds());
    expect(await looks(5)).toEqual([WAITS]);
    clock.advance(-years);
    expect(await looks(26)).toEqual([WAITS, "0 entries removed"]);
    expect(leaps.mock.calls.map(([{ seconds }]) => Math.sign(seconds))).toEqual([1, -1]);
    expect(await left(recent)).toEqual([1, 2, 3, 4, 5, 6]);
    // The hour of summer time, a correction, a night without power: no leap.
    clock.advance(-60 * MINUTE_MS);
    expect(await looks(1)).toEqual(["0 entries removed"]);
    clock.advance(12 * 60 * MINUTE_MS);
    expect(await looks(1)).toEqual(["0 entries removed"]);
    expect(leaps).toHaveBeenCalledTimes(2);
    leaps.mockRestore();
  });
});
