// What jobs find, as a target of alerts gets it: books that differ and agree again, a budget that is nearly spent (requirements I50, M33, L10).
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { ROBOT, type Robots, startRobots } from "#test/emulators/robots.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { seedLimit } from "#test/worlds/limits.ts";
import type { Job } from "./job.ts";
import { limitWarnings } from "./limit-warnings.ts";
import { reconcile } from "./reconcile.ts";

const MINUTE_MS = 60_000;

describe.each(databases)("alerts of jobs on $name", (database) => {
  const clock = fakeClock(Date.now());
  let app: TestApp;
  let robots: Robots;

  beforeAll(async () => {
    robots = await startRobots(clock.now);
    app = await createAppOn(database, { clock });
    const { message } = await app.call(asRoot, "POST", "/api/alert/target", {
      kind: "webhook",
      name: "duty",
      is_enabled: true,
      address: `${robots.url}/hook`,
      secret: ROBOT.webhookSecret,
      events: ["ledger_differs", "budget_spent"],
    });
    expect(message).toBe("");
  });
  afterAll(async () => {
    await app.close();
    await robots.close();
  });

  /** One run of a job; what the target got of it, as `level event title`. */
  async function run(job: Job): Promise<string[]> {
    robots.taken.length = 0;
    clock.advance(MINUTE_MS);
    await job.run(app.ctx);
    await app.ctx.alerts.idle();
    return robots.taken.flatMap(({ body }) =>
      body.data.alerts.map(
        ({ event, title }: { event: string; title: string }) => `${body.data.level} ${event} ${title}`,
      ),
    );
  }
  const content = () => robots.taken[0]?.body.data.alerts[0].content;
  const lasting = async () =>
    (await app.call(asRoot, "GET", "/api/alert/condition")).data.map(({ event }: { event: string }) => event);

  test("a balance that differs from the ledger is told once, and that all agree again", async () => {
    const { id } = await seedUser(app.ctx, "cheat");
    const shift = (by: number) =>
      sql`UPDATE users SET quota = quota + ${by} WHERE id = ${id}`.execute(app.ctx.db);
    expect(await run(reconcile)).toEqual([]);
    await shift(5);
    expect(await run(reconcile)).toEqual(["critical ledger_differs 余额与账本不一致"]);
    expect(content()).toContain(`users #${id} quota：500005，应为 500000`);
    expect(await lasting()).toEqual(["ledger_differs"]);
    expect(await run(reconcile)).toEqual([]);
    await shift(-5);
    expect(await run(reconcile)).toEqual(["over ledger_differs 余额与账本重新一致"]);
    expect(await lasting()).toEqual([]);
    expect(await run(reconcile)).toEqual([]);
  });

  test("a budget of which four fifths are spent is told once; it has no end that could be told", async () => {
    const { ledger, db } = app.ctx;
    const { id } = await seedUser(app.ctx, "spender");
    const token = await seedToken(app.ctx, id, "build");
    const limit = await seedLimit(app.ctx, { subject: "user", subject_id: id, amount: 100 });
    const spend = async (amount: bigint) => {
      const parties = { requestId: `${database.name}-${amount}`, userId: id, tokenId: token.id };
      const order = { ...parties, amount, modelName: "m", zone: "Asia/Shanghai" };
      expect(await ledger.reserve({ ...order, limits: [{ limitId: limit, holder: 0 }] })).toBe("reserved");
      const usage = { promptTokens: 1, completionTokens: 1, cachedTokens: 0 };
      await ledger.settle({ ...parties, channelId: 0, charge: amount, usage, log: null });
    };
    await spend(79n);
    expect(await run(limitWarnings)).toEqual([]);
    await spend(2n);
    const title = "账户“spender”的总计（不重置）额度已用 80% 以上";
    expect(await run(limitWarnings)).toEqual([`warning budget_spent ${title}`]);
    expect(content()).toContain("这个限额不会自动重置");
    expect(await run(limitWarnings)).toEqual([]);
    expect(await lasting()).toEqual([]);
    await db.updateTable("limits").set({ amount: 1_000 }).where("id", "=", limit).execute();
    expect(await run(limitWarnings)).toEqual([]);
    // What happens once is told once in ten minutes; the next time is told anew.
    clock.advance(10 * MINUTE_MS);
    await spend(720n);
    expect(await run(limitWarnings)).toEqual([`warning budget_spent ${title}`]);
  });
});
