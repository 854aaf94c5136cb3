import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Role } from "#contract/user.ts";
import { fakeClock } from "#server/clock.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { databases } from "#test/worlds/app.ts";
import { seedLimit } from "#test/worlds/limits.ts";
import { type MailApp, startMailApp } from "#test/worlds/mail-app.ts";
import { limitWarnings } from "./limit-warnings.ts";

const HOUR_MS = 3_600_000;
const ZONE = "Asia/Shanghai";

describe.each(databases)("warnings of limits on $name", (database) => {
  const clock = fakeClock(Date.parse("2026-11-25T02:00:00Z"));
  let mail: MailApp;
  let user: { id: number; tokenId: number };
  let serial = 0;

  beforeAll(async () => {
    mail = await startMailApp(database, clock);
    const { ctx } = mail.app;
    await seedUser(ctx, "boss", { role: Role.admin });
    const { id } = await seedUser(ctx, "spender");
    user = { id, tokenId: (await seedToken(ctx, id, "build")).id };
    const by = { kind: "adjust", actorId: 1, reason: "test" } as const;
    await ctx.ledger.adjust({ userId: id, quota: { delta: 1_000_000n }, ...by });
  });
  afterAll(() => mail.close());

  /** Sets so much aside in a limit; the answer gives it back or books it. */
  async function open(limitId: number, amount: number, holder = 0) {
    const { ledger } = mail.app.ctx;
    const requestId = `warn-${database.name}-${++serial}`;
    const parties = { requestId, userId: user.id, tokenId: user.tokenId };
    const order = { ...parties, amount: BigInt(amount), modelName: "m", zone: ZONE };
    expect(await ledger.reserve({ ...order, limits: [{ limitId, holder }] })).toBe("reserved");
    const usage = { promptTokens: 1, completionTokens: 1, cachedTokens: 0 };
    return {
      book: (charge: number) =>
        ledger.settle({ ...parties, channelId: 0, charge: BigInt(charge), usage, log: null }),
      release: () => ledger.release(requestId),
    };
  }
  const spend = async (limitId: number, amount: number, holder = 0) =>
    (await open(limitId, amount, holder)).book(amount);

  /** Subjects of the letters of one look, by who got them. */
  async function look(): Promise<string[]> {
    const before = mail.smtp.letters.length;
    await limitWarnings.run(mail.app.ctx);
    await mail.app.ctx.mailer.idle();
    return mail.smtp.letters
      .slice(before)
      .map(({ to, subject }) => `${to.join()} ${subject}`)
      .sort();
  }

  const TOKEN_LETTER = "spender@example.com River 令牌“build”的每日额度已用 80% 以上";

  test("one letter for a window however often four fifths are passed, one for the next window", async () => {
    const day = { subject: "token", subject_id: user.tokenId, time_window: "day" } as const;
    const limit = await seedLimit(mail.app.ctx, { ...day, amount: 100 });
    await spend(limit, 79);
    expect(await look()).toEqual([]);
    // What is only set aside comes back, and may be set aside again.
    const running = await open(limit, 20);
    expect(await look()).toEqual([]);
    await running.release();
    expect(await look()).toEqual([]);
    await spend(limit, 1);
    expect(await look()).toEqual([TOKEN_LETTER]);
    expect(mail.smtp.letters.at(-1)?.html).toMatch(/2026年11月26日.*00:00.*Asia\/Shanghai/);
    // The page of limits does not show those of a token.
    expect(mail.smtp.letters.at(-1)?.html).toContain(`/token/limit/${user.tokenId}"`);
    for (const end of [(await open(limit, 20)).release, () => spend(limit, 20)]) {
      await end();
      expect(await look()).toEqual([]);
    }
    clock.advance(24 * HOUR_MS);
    expect(await look()).toEqual([]);
    await spend(limit, 85);
    expect(await look()).toEqual([TOKEN_LETTER]);
  });

  test("a window that the job did not look at in time is not told of afterwards", async () => {
    const day = { subject: "token", subject_id: user.tokenId, time_window: "day" } as const;
    const limit = await seedLimit(mail.app.ctx, { ...day, amount: 100 });
    await spend(limit, 90);
    clock.advance(24 * HOUR_MS);
    expect(await look()).toEqual([]);
    await spend(limit, 90);
    expect(await look()).toEqual([TOKEN_LETTER]);
  });

  test("a rolling budget, and one that was raised, are told again after less than half of them was used", async () => {
    const { ctx } = mail.app;
    const own = { subject: "user", subject_id: user.id, amount: 100 } as const;
    const rolling = await seedLimit(ctx, { ...own, time_window: "rolling_5h" });
    const ROLLING = "spender@example.com River 账户“spender”的最近 5 小时额度已用 80% 以上";
    await spend(rolling, 85);
    expect(await look()).toEqual([ROLLING]);
    clock.advance(6 * HOUR_MS);
    expect(await look()).toEqual([]);
    await spend(rolling, 60);
    expect(await look()).toEqual([]);
    await spend(rolling, 25);
    expect(await look()).toEqual([ROLLING]);
    const total = await seedLimit(ctx, own);
    const TOTAL = "spender@example.com River 账户“spender”的总计（不重置）额度已用 80% 以上";
    await spend(total, 80);
    expect(await look()).toEqual([TOTAL]);
    await ctx.db.updateTable("limits").set({ amount: 1_000 }).where("id", "=", total).execute();
    expect(await look()).toEqual([]);
    await spend(total, 720);
    expect(await look()).toEqual([TOTAL]);
  });

  test("each member is told of his share, administrators of what many have in common; calls are counted too", async () => {
    const { ctx } = mail.app;
    const ofGroup = { subject_name: "default", kind: "calls", amount: 5 } as const;
    const member = await seedLimit(ctx, { ...ofGroup, subject: "member" });
    const group = await seedLimit(ctx, { ...ofGroup, subject: "group" });
    const all = await seedLimit(ctx, { kind: "calls", amount: 5, mode: "soft", model_pattern: "gpt-*" });
    for (let n = 0; n < 4; n += 1) {
      await spend(member, 1, user.id);
      await spend(group, 1);
      await spend(all, 1);
    }
    expect(await look()).toEqual([
      "boss@example.com River 全站的总计（不重置）请求数（模型 gpt-*）已用 80% 以上",
      "boss@example.com River 分组“default”的总计（不重置）请求数已用 80% 以上",
      "spender@example.com River 账户“spender”的总计（不重置）请求数已用 80% 以上",
    ]);
  });

  test("two processes that look at once send one letter", async () => {
    const limit = await seedLimit(mail.app.ctx, { subject: "user", subject_id: user.id, amount: 100 });
    await spend(limit, 100);
    const before = mail.smtp.letters.length;
    await Promise.all([limitWarnings.run(mail.app.ctx), limitWarnings.run(mail.app.ctx)]);
    await mail.app.ctx.mailer.idle();
    expect(mail.smtp.letters.length - before).toBe(1);
  });

  test("a boost that has ended counts no more, and no administrator has to end it", async () => {
    const { ctx } = mail.app;
    const boost_until = clock.seconds() + 3_600;
    const own = { subject: "user", subject_id: user.id, amount: 100 } as const;
    const limit = await seedLimit(ctx, { ...own, boost_amount: 100, boost_until });
    await spend(limit, 100);
    expect(await look()).toEqual([]);
    clock.advance(2 * HOUR_MS);
    expect(await look()).toHaveLength(1);
    const parties = { requestId: `over-${database.name}`, userId: user.id, tokenId: user.tokenId };
    const order = { ...parties, amount: 1n, modelName: "m", zone: ZONE };
    const verdict = await ctx.ledger.reserve({ ...order, limits: [{ limitId: limit, holder: 0 }] });
    expect(verdict).toMatchObject({ limitId: limit, amount: 100n, used: 100n });
  });
});
