// The second factors of a super administrator are removed by another one, a day after it was asked for, unless their owner or a super
// administrator stops it (requirements I34). On both databases.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Role } from "#contract/user.ts";
import { fakeClock } from "#server/clock.ts";
import { countFactors } from "#server/store/factors.ts";
import { databases } from "#test/worlds/app.ts";
import { type MailApp, startMailApp } from "#test/worlds/mail-app.ts";
import { newcomer, signedIn, withPhone } from "#test/worlds/people.ts";
import type { Visitor } from "#test/worlds/visitor.ts";

const DAY_MS = 86_400_000;
const NONE = { totp: 0, passkeys: 0, recovery: 0 };
const ACTIONS = ["user.factor_reset_ask", "user.factor_reset_cancel", "user.factor_reset"] as const;

describe.each(databases)("resets of super administrators on $name", (database) => {
  const clock = fakeClock();
  let world: MailApp;

  beforeAll(async () => {
    world = await startMailApp(database, clock);
  });
  afterAll(() => world.close());
  beforeEach(() => clock.advance(DAY_MS));

  const ask = (browser: Visitor, id: number) =>
    browser.call("POST", "/api/user/factor/reset", { id, reason: "lost in the river" });
  const cancel = (browser: Visitor, id: number) =>
    browser.call("POST", "/api/user/factor/reset/cancel", { id });
  const pending = (browser: Visitor, id = 0) => browser.call("GET", `/api/user/factor/reset?user_id=${id}`);
  const factorsOf = (id: number) => countFactors(world.app.ctx.db, id);

  /** A super administrator who lost the phone, and another one in a browser that has just proved to be there. */
  async function pair() {
    const lost = await withPhone(world.app, Role.root);
    const helper = await newcomer(world.app, Role.root);
    return { lost, helper, browser: await signedIn(world.app, helper.id) };
  }

  async function lettersTo(username: string): Promise<string> {
    await world.app.ctx.security.idle();
    await world.app.ctx.mailer.idle();
    const own = world.smtp.letters.filter(({ to }) => to.includes(`${username}@example.com`));
    return own.map(({ html }) => html).join("\n");
  }

  async function audited(id: number): Promise<string[]> {
    const query = world.app.ctx.db.selectFrom("audit").select("action").where("target", "=", String(id));
    const rows = await query
      .where("action", "in", [...ACTIONS])
      .orderBy("id")
      .execute();
    return rows.map(({ action }) => action);
  }

  test("is asked for, told to all, and carried out after 24 hours, not a second sooner", async () => {
    const { lost, helper, browser } = await pair();
    const third = await newcomer(world.app, Role.root);
    const asked = await ask(browser, lost.user.id);
    expect(asked.data, asked.message).toEqual({ due_at: clock.seconds() + 86_400 });
    expect(await factorsOf(lost.user.id)).toMatchObject({ totp: 1, recovery: 10 });
    expect((await lost.home.call("GET", "/api/user/self")).success).toBe(true);
    for (const { username } of [lost.user, helper, third]) {
      const letters = await lettersTo(username);
      expect(letters, username).toContain(`${helper.username} 申请清除超级管理员 ${lost.user.username}`);
      expect(letters).not.toContain("river");
    }
    expect((await pending(lost.home)).data).toMatchObject({ asked_by_name: helper.username, reason: "" });

    clock.advance(DAY_MS - 1_000);
    const almost = await signedIn(world.app, helper.id);
    expect((await ask(almost, lost.user.id)).message).toBe("申请满 24 小时后才能执行");
    expect((await pending(almost, lost.user.id)).data).toMatchObject({ is_mine: true });
    // The clock is set back: it takes as much longer.
    clock.advance(-3_600_000);
    expect((await ask(await signedIn(world.app, helper.id), lost.user.id)).success).toBe(false);
    expect(await factorsOf(lost.user.id)).toMatchObject({ totp: 1 });

    clock.advance(3_601_000);
    const due = await signedIn(world.app, helper.id);
    const other = await signedIn(world.app, third.id);
    expect((await ask(other, lost.user.id)).message).toBe("另一位超级管理员已提出申请，只能由其执行");
    expect((await ask(due, lost.user.id)).data).toEqual({ due_at: 0 });
    expect(await factorsOf(lost.user.id)).toEqual(NONE);
    expect((await lost.home.call("GET", "/api/user/self")).status).toBe(401);
    expect((await world.app.call(lost.user.who, "GET", "/api/user/self")).success).toBe(false);
    expect(await audited(lost.user.id)).toEqual(["user.factor_reset_ask", "user.factor_reset"]);
    expect(await lettersTo(lost.user.username)).toContain("被管理员清除了全部两步验证方式");
    expect(await lettersTo(third.username)).toContain(`${helper.username} 清除了超级管理员`);
    expect((await pending(due, lost.user.id)).data).toBeNull();
  });

  test("needs a fresh proof to ask, to carry out and to stop", async () => {
    const { lost, browser } = await pair();
    clock.advance(301_000);
    expect(await ask(browser, lost.user.id)).toMatchObject({ status: 403, code: "VERIFICATION_EXPIRED" });
    expect(await cancel(browser, lost.user.id)).toMatchObject({ status: 403, code: "VERIFICATION_EXPIRED" });
    expect(await audited(lost.user.id)).toEqual([]);
  });

  test.each(["the owner", "another super administrator", "who asked"])("%s stops it", async (who) => {
    const { lost, helper, browser } = await pair();
    await ask(browser, lost.user.id);
    const third = await newcomer(world.app, Role.root);
    const one = {
      "the owner": lost.home,
      "another super administrator": await signedIn(world.app, third.id),
      "who asked": browser,
    }[who];
    if (!one) throw new Error(who);
    expect(await cancel(one, lost.user.id)).toMatchObject({ success: true });
    expect((await cancel(one, lost.user.id)).message).toContain("没有待执行的申请");
    expect(await lettersTo(helper.username)).toContain("撤销了清除超级管理员");
    expect(await audited(lost.user.id)).toEqual(["user.factor_reset_ask", "user.factor_reset_cancel"]);
    // A day later it begins anew.
    clock.advance(DAY_MS);
    const again = await ask(await signedIn(world.app, helper.id), lost.user.id);
    expect(again.data).toEqual({ due_at: clock.seconds() + 86_400 });
    expect(await factorsOf(lost.user.id)).toMatchObject({ totp: 1 });
  });

  test("an owner who came in by a recovery code stops it; one with a password alone does not", async () => {
    const { lost, browser } = await pair();
    await ask(browser, lost.user.id);
    const now = clock.seconds();
    const bare = await signedIn(world.app, lost.user.id, { method: "password" });
    expect(await cancel(bare, lost.user.id)).toMatchObject({ status: 403, code: "VERIFICATION_REQUIRED" });
    const traits = { method: "recovery", mfa_at: now, recovered_at: now };
    const recovered = await signedIn(world.app, lost.user.id, traits);
    expect(await cancel(recovered, lost.user.id)).toMatchObject({ success: true });

    const { helper } = await pair();
    await ask(browser, helper.id);
    const factorless = await signedIn(world.app, helper.id);
    expect((await cancel(factorless, helper.id)).message).toContain("请用验证方式登录后再撤销");
  });

  test("of two who ask at once, one has asked", async () => {
    const { lost, browser } = await pair();
    const third = await newcomer(world.app, Role.root);
    const browsers = [browser, await signedIn(world.app, third.id)];
    const answers = await Promise.all(browsers.map((one) => ask(one, lost.user.id)));
    expect(answers.filter(({ success }) => success)).toHaveLength(1);
    expect(await audited(lost.user.id)).toEqual(["user.factor_reset_ask"]);
  });

  test("of a due one that is carried out and stopped at once, one happens", async () => {
    const { lost, helper, browser } = await pair();
    await ask(browser, lost.user.id);
    clock.advance(DAY_MS);
    const [doing, stopping] = [await signedIn(world.app, helper.id), await signedIn(world.app, 1)];
    const answers = await Promise.all([ask(doing, lost.user.id), cancel(stopping, lost.user.id)]);
    const [done, stopped] = answers;
    const { totp } = await factorsOf(lost.user.id);
    // After it was stopped, the other call asks anew.
    expect(done.success && done.data.due_at === 0 ? 0 : 1).toBe(totp);
    expect(stopped.success).toBe(totp === 1);
  });

  test("an account that is no super administrator any more is reset at once, and the request is gone", async () => {
    const { lost, browser } = await pair();
    await ask(browser, lost.user.id);
    const { db } = world.app.ctx;
    await db.updateTable("users").set({ role: Role.admin }).where("id", "=", lost.user.id).execute();
    expect((await ask(browser, lost.user.id)).data).toEqual({ due_at: 0 });
    await db.updateTable("users").set({ role: Role.root }).where("id", "=", lost.user.id).execute();
    clock.advance(DAY_MS);
    expect((await pending(await signedIn(world.app, 1), lost.user.id)).data).toBeNull();
  });

  test("a request that was not carried out for a week is none", async () => {
    const { lost, helper, browser } = await pair();
    await ask(browser, lost.user.id);
    clock.advance(DAY_MS * 8);
    const late = await signedIn(world.app, helper.id);
    expect((await pending(late, lost.user.id)).data).toBeNull();
    expect((await cancel(late, lost.user.id)).success).toBe(false);
    expect((await ask(late, lost.user.id)).data).toEqual({ due_at: clock.seconds() + 86_400 });
    expect(await factorsOf(lost.user.id)).toMatchObject({ totp: 1 });
  });

  test("is not for lower ranks", async () => {
    const { lost, helper, browser } = await pair();
    await ask(browser, lost.user.id);
    for (const role of [Role.admin, Role.user]) {
      const below = await signedIn(world.app, (await newcomer(world.app, role)).id);
      for (const call of [ask, cancel, pending])
        expect(await call(below, lost.user.id), call.name).toMatchObject({ success: false });
    }
    expect((await ask(browser, helper.id)).success).toBe(false);
    expect(await audited(lost.user.id)).toEqual(["user.factor_reset_ask"]);
  });
});
