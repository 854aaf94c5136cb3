// Reminders that a plan ends (requirements Y66): 7, 3 and 1 days before, each once however often the job runs, and none where it goes on.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DAY_SEC, fakeClock } from "#server/clock.ts";
import { insertRenewal } from "#server/store/plan-renewals.ts";
import { insertPlanVersion, listPeriods } from "#server/store/plans.ts";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import { databases } from "#test/worlds/app.ts";
import { type MailApp, startMailApp } from "#test/worlds/mail-app.ts";
import { buyPlan, terms } from "#test/worlds/plans.ts";
import { planReminders, stageOf } from "./plan-reminders.ts";
import { renewalLetters } from "./renewal-letters.ts";

type NewRenewal = Parameters<typeof insertRenewal>[1];

test.each([
  ["long before", 30, 8 * DAY_SEC, 0],
  ["a week before", 30, 7 * DAY_SEC, 7],
  ["a second after three days before", 30, 3 * DAY_SEC + 1, 7],
  ["three days before", 30, 3 * DAY_SEC, 3],
  ["on the last day", 30, DAY_SEC, 1],
  ["in the last second", 30, 1, 1],
  ["a week that has just begun", 7, 7 * DAY_SEC - 1, 0],
  ["a week with three days left", 7, 3 * DAY_SEC, 3],
  ["a single day", 1, DAY_SEC - 1, 0],
])("%s", (_name, days, left, stage) => {
  expect(stageOf({ starts_at: 0, ends_at: days * DAY_SEC }, days * DAY_SEC - left)).toBe(stage);
});

describe.each(databases)("reminders on $name", (database) => {
  const clock = fakeClock();
  let mail: MailApp;
  let serial = 0;

  beforeAll(async () => {
    mail = await startMailApp(database, clock);
  });
  afterAll(() => mail.close());

  const run = () => planReminders.run(mail.app.ctx);
  const thirtyDays = terms({ name: "编程套餐", unit: "day", count: 30 });
  async function subscriber(): Promise<SeededUser> {
    const { ctx } = mail.app;
    serial += 1;
    const user = await seedUser(ctx, `reader${serial}`);
    await buyPlan(ctx.db, ctx.ledger, { userId: user.id, terms: thirtyDays });
    return user;
  }
  const pass = (days: number) => clock.advance(days * DAY_SEC * 1_000);

  test("come three times, each once, and name the day", async () => {
    const user = await subscriber();
    const { smtp } = mail;
    expect(await run()).toBe("0 letters");
    for (const [wait, left] of [
      [23, 7],
      [4, 3],
      [2, 1],
    ] as const) {
      pass(wait);
      expect(await Promise.all([run(), run()]).then((told) => told.toSorted())).toEqual([
        "0 letters",
        "1 letters",
      ]);
      expect(await run()).toBe("0 letters");
      const { subject, html } = await smtp.take(`${user.username}@example.com`);
      expect(subject).toBe(`River 套餐“编程套餐”还有 ${left} 天到期`);
      const [period] = await listPeriods(mail.app.ctx.db, user.id, 1);
      const ends = new Date(((period?.ends_at ?? 0) + 8 * 3_600) * 1_000).toISOString().slice(0, 10);
      expect(html).toContain(ends);
      expect(html).toContain("https://gate.example/subscription");
    }
    pass(2);
    expect(await run()).toBe("0 letters");
  });

  test("do not come where a following period was bought, and not to an account that was banned", async () => {
    const { ctx } = mail.app;
    const [renewed, banned] = [await subscriber(), await subscriber()];
    await buyPlan(ctx.db, ctx.ledger, { userId: renewed.id, terms: thirtyDays });
    await ctx.db.updateTable("users").set({ status: 2 }).where("id", "=", banned.id).execute();
    pass(28);
    expect(await run()).toBe("0 letters");
    // The following one ends too.
    pass(30);
    expect(await run()).toBe("1 letters");
    expect((await mail.smtp.take(`${renewed.username}@example.com`)).subject).toContain("2 天");
  });

  /** Stripe renews the plan of a user. */
  async function renewed(user: SeededUser, change: Partial<NewRenewal> = {}): Promise<void> {
    const { ctx } = mail.app;
    const [period] = await listPeriods(ctx.db, user.id, 1);
    if (!period) throw new Error("a plan was bought");
    const text = JSON.stringify(thirtyDays);
    const version_id = await insertPlanVersion(ctx.db, {
      plan_id: 1,
      terms: text,
      actor_id: 1,
      created_at: 1,
    });
    await insertRenewal(ctx.db, {
      user_id: user.id,
      instance_id: 1,
      provider_id: `sub_${period.id}`,
      order_no: period.order_no,
      last_order_no: period.order_no,
      version_id,
      currency: "CNY",
      amount_minor: 3_000,
      renews: 1,
      is_told: 1,
      status: "active",
      next_at: period.ends_at,
      next_check: 0,
      created_at: 1,
      ...change,
    });
  }

  test("do not come where the provider renews the plan; where it was cancelled they do", async () => {
    const [goesOn, cancelled] = [await subscriber(), await subscriber()];
    await renewed(goesOn);
    await renewed(cancelled, { renews: 0 });
    pass(28);
    expect(await run()).toBe("1 letters");
    expect((await mail.smtp.take(`${cancelled.username}@example.com`)).subject).toContain("2 天");
    pass(5);
  });

  test("a payment that was refused is told once, until one succeeds", async () => {
    const user = await subscriber();
    await renewed(user, { status: "failed" });
    const tell = () => renewalLetters.run(mail.app.ctx);
    expect((await Promise.all([tell(), tell()])).toSorted()).toEqual(["0 letters", "1 letters"]);
    expect(await tell()).toBe("0 letters");
    const { subject, html } = await mail.smtp.take(`${user.username}@example.com`);
    expect(subject).toBe("River 套餐“编程套餐”自动续费扣款失败");
    expect(html).toContain("https://gate.example/subscription");
    pass(31);
  });

  test("speak English to who reads it", async () => {
    const user = await subscriber();
    await mail.app.ctx.db.updateTable("users").set({ language: "en" }).where("id", "=", user.id).execute();
    pass(29.5);
    expect(await run()).toBe("1 letters");
    const { subject, html } = await mail.smtp.take(`${user.username}@example.com`);
    expect(subject).toBe('River: your plan "编程套餐" ends in 1 day');
    expect(html).toContain("in 1 day.");
  });
});
