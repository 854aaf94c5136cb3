import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { checkLedger } from "#server/money/ledger-check.ts";
import { grantPromised, grantSignup, promiseSignup } from "#server/money/signup.ts";
import { getUser, updateUserProfile } from "#server/store/users.ts";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp, type Who } from "#test/worlds/app.ts";
import { seedRedemption } from "#test/worlds/stores.ts";

const HOUR_MS = 3_600_000;

describe.each(databases)("topping up and the partner plan on $name", (database) => {
  const clock = fakeClock();
  let app: TestApp;
  let admin: SeededUser;

  beforeAll(async () => {
    app = await createAppOn(database, { clock });
    admin = await seedUser(app.ctx, "admin", { role: 10 });
  });
  afterAll(async () => {
    expect(await checkLedger(app.ctx.db)).toEqual([]);
    await app.close();
  });

  const codes = async (quota: number, count = 1): Promise<string[]> =>
    (await app.call(admin.who, "POST", "/api/redemption/", { name: "code", quota, count })).data;
  const topUp = (who: Who, body: object) => app.call(who, "POST", "/api/user/topup", body);
  const info = async (who: Who) => (await app.call(who, "GET", "/api/user/partner_plan_info")).data;
  const logsOf = async (id: number) =>
    (
      await app.ctx.db
        .selectFrom("logs")
        .select(["type", "content"])
        .where("user_id", "=", id)
        .orderBy("id")
        .execute()
    ).map(({ type, content }) => [type, content]);

  test.each([
    [500_000_000, 525_000_000, 25_000_000, "25"],
    [5_000_000, 5_250_000, 250_000, "0.25"],
    [100_000, 105_000, 5_000, "0.005"],
  ])("a code of %i with the inviter's code adds %i in all", async (...[quota, sum, bonus, cash]) => {
    const inviter = await seedUser(app.ctx, `i${bonus}`);
    const user = await seedUser(app.ctx, `u${bonus}`);
    await updateUserProfile(app.ctx.db, inviter.id, { aff_code: "" });
    await updateUserProfile(app.ctx.db, user.id, { inviter_id: inviter.id });
    const plan = await info(inviter.who);
    expect(plan).toEqual({ aff_code: plan.gift_code, gift_code: plan.aff_code, invite_balance: "0" });
    expect(plan.gift_code).toMatch(/^[2-9A-HJ-NP-Z]{5}$/);
    const [key = ""] = await codes(quota);
    const answer = await topUp(user.who, { key: ` ${key} `, gift_code: ` ${plan.gift_code.toLowerCase()} ` });
    expect(answer).toMatchObject({ success: true, message: "", data: sum, bonus });
    expect((await getUser(app.ctx.db, user.id)).quota).toBe(500_000 + sum);
    expect((await getUser(app.ctx.db, inviter.id)).quota).toBe(500_000 + bonus);
    expect((await info(inviter.who)).invite_balance).toBe(cash);
    expect((await app.call(inviter.who, "GET", "/api/user/self")).data.invite_commission_balance).toBe(cash);
    expect((await logsOf(user.id)).map(([type]) => type)).toEqual([1, 4]);
    expect((await logsOf(inviter.id)).map(([type]) => type)).toEqual([4, 4]);
  });

  test("a code without a gift code brings its quota, and no commission without an inviter", async () => {
    const user = await seedUser(app.ctx, "plain");
    for (const gift_code of [undefined, "", null, "  "]) {
      const [key] = await codes(1_000);
      expect(await topUp(user.who, { key, gift_code })).toMatchObject({ data: 1_000, bonus: 0 });
    }
    expect((await getUser(app.ctx.db, user.id)).quota).toBe(504_000);
    await app.ctx.options.set("DisplayInCurrencyEnabled", "false");
    const [key] = await codes(1_234);
    await topUp(user.who, { key });
    await app.ctx.options.set("DisplayInCurrencyEnabled", "true");
    expect((await logsOf(user.id)).at(-1)).toEqual([1, "通过兑换码充值 1234 点额度"]);
  });

  test("errors are reported before the code is used up", async () => {
    const user = await seedUser(app.ctx, "wrong");
    const giver = await seedUser(app.ctx, "giver");
    const [key = ""] = await codes(100);
    const ask = async (body: object) => {
      const { success, message, data } = await topUp(user.who, body);
      expect([success, data]).toEqual([false, null]);
      return message;
    };
    expect(await ask({})).toBe("请求参数有误");
    expect(await ask({ key: "  " })).toBe("请输入兑换码");
    expect(await ask({ key: "f".repeat(32) })).toBe("兑换码无效");
    expect(await ask({ key, gift_code: "WRONG" })).toBe("不能使用自己的礼品码");
    expect(await ask({ key, gift_code: "NOBODY" })).toBe("礼品码无效");
    await updateUserProfile(app.ctx.db, giver.id, { status: 2 });
    expect(await ask({ key, gift_code: "GIVER" })).toBe("礼品码无效");
    await app.call(asRoot, "DELETE", `/api/user/${giver.id}`);
    expect(await ask({ key, gift_code: "GIVER" })).toBe("礼品码无效");
    expect((await getUser(app.ctx.db, user.id)).quota).toBe(500_000);
    expect((await topUp(user.who, { key })).data).toBe(100);
  });

  test("capitals and blanks in a code are no wrong guess; an imported code is compared letter by letter", async () => {
    const user = await seedUser(app.ctx, "capitals");
    const { db, secrets } = app.ctx;
    const [key = ""] = await codes(1_000);
    const halves = `${key.slice(0, 16)}\n${key.slice(16)}`;
    expect((await topUp(user.who, { key: ` ${halves.toUpperCase()} ` })).data).toBe(1_000);
    const imported = { "Spring 2026": 20, spring2026: 7, "ONLY CAPITALS": 5 };
    for (const [code, quota] of Object.entries(imported))
      await seedRedemption(db, { key_hash: secrets.hash(code), quota });
    expect((await topUp(user.who, { key: "Spring 2026" })).data).toBe(20);
    expect((await topUp(user.who, { key: "SPRING2026" })).data).toBe(7);
    expect((await topUp(user.who, { key: "only capitals" })).message).toBe("兑换码无效");
    expect((await topUp(user.who, { key: "ONLY CAPITALS" })).data).toBe(5);
  });

  test("wrong codes are limited: at most ten an hour by one user, and no other user is kept from redeeming", async () => {
    const [guesser, honest] = [await seedUser(app.ctx, "guesser"), await seedUser(app.ctx, "honest")];
    const [key] = await codes(100);
    const guess = async () => (await topUp(guesser.who, { key: "0".repeat(32) })).status;
    let evaluated = 0;
    for (let minute = 0; minute < 60; minute += 1) {
      for (let time = 0; time < 5; time += 1) if ((await guess()) === 200) evaluated += 1;
      clock.advance(60_000);
    }
    expect(evaluated).toBeGreaterThanOrEqual(5);
    expect(evaluated).toBeLessThanOrEqual(10);
    while ((await guess()) === 200);
    // A right code counts for nothing while the budget is empty: else guessing would go on.
    const locked = await app.request("/api/user/topup", {
      method: "POST",
      headers: { host: "localhost", ...guesser.who },
      body: JSON.stringify({ key }),
    });
    expect(locked.status).toBe(429);
    const waitSec = Number(locked.headers.get("retry-after"));
    expect(waitSec).toBeGreaterThan(60);
    const message = `连续输错的码过多，为防止有人猜码，暂停兑换，请 ${Math.ceil(waitSec / 60)} 分钟后再试`;
    expect(await locked.json()).toEqual({ success: false, message, data: null });
    expect((await topUp(honest.who, { key })).data).toBe(100);
    clock.advance(2 * HOUR_MS);
    expect(await guess()).toBe(200);
  });

  test("300 wrong codes of one user at once: five are evaluated, and a right one after them is not", async () => {
    const [burst, lucky] = [await seedUser(app.ctx, "burst"), await seedUser(app.ctx, "lucky")];
    const [key] = await codes(100);
    const tries = Array.from({ length: 300 }, (_, index) =>
      topUp(burst.who, { key: String(index).padStart(32, "0") }),
    );
    const answers = await Promise.all(tries);
    expect(answers.filter(({ message }) => message === "兑换码无效")).toHaveLength(5);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(295);
    expect((await topUp(burst.who, { key })).status).toBe(429);
    // A user with many right codes can redeem them all.
    const many = await codes(100, 30);
    const taken = await Promise.all(many.map((each) => topUp(lucky.who, { key: each })));
    expect(taken.every(({ data }) => data === 100)).toBe(true);
    clock.advance(10 * HOUR_MS);
  });

  test("wrong codes are limited by address too, over all users", async () => {
    clock.advance(10 * HOUR_MS);
    const crowd = await Promise.all(
      Array.from({ length: 40 }, (_, index) => seedUser(app.ctx, `crowd${index}`)),
    );
    let evaluated = 0;
    for (let time = 0; time < 4; time += 1)
      for (const { who } of crowd)
        if ((await topUp(who, { key: "1".repeat(32) })).status === 200) evaluated += 1;
    expect(evaluated).toBe(40);
    clock.advance(10 * HOUR_MS);
  });

  test("of many users who redeem one code at once one gets it, the others get an error", async () => {
    const crowd = await Promise.all(
      Array.from({ length: 20 }, (_, index) => seedUser(app.ctx, `race${index}`)),
    );
    const [key] = await codes(1_000);
    const answers = await Promise.all(crowd.map(({ who }) => topUp(who, { key })));
    expect(answers.filter(({ data }) => data === 1_000)).toHaveLength(1);
    expect(answers.filter(({ message }) => message === "兑换码已被使用")).toHaveLength(19);
    clock.advance(10 * HOUR_MS);
  });

  test("a call that is repeated with its Idempotency-Key counts once and is answered twice", async () => {
    const user = await seedUser(app.ctx, "again");
    const [key] = await codes(1_000);
    const who = { ...user.who, "idempotency-key": "try-1" };
    const answers = await Promise.all([topUp(who, { key }), topUp(who, { key }), topUp(who, { key })]);
    for (const answer of answers) expect(answer).toMatchObject({ success: true, data: 1_000, bonus: 0 });
    expect((await topUp({ ...who, "idempotency-key": "try-2" }, { key })).message).toBe("兑换码已被使用");
    const payment = { user_id: user.id, quota: 5, remark: "订单 7" };
    for (let time = 0; time < 3; time += 1) {
      const callback = { ...admin.who, "idempotency-key": "order-7" };
      expect((await app.call(callback, "POST", "/api/topup", payment)).success).toBe(true);
    }
    expect((await getUser(app.ctx.db, user.id)).quota).toBe(501_005);
  });

  test("an administrator tops up a user of lower rank, with a remark, in ledger and log", async () => {
    const user = await seedUser(app.ctx, "payer");
    const pay = (body: object) => app.call(admin.who, "POST", "/api/topup", body);
    expect(await pay({ user_id: user.id, quota: 500_000, remark: "微信支付" })).toMatchObject({
      success: true,
      data: null,
    });
    await pay({ user_id: user.id, quota: 1 });
    expect((await getUser(app.ctx.db, user.id)).quota).toBe(1_000_001);
    expect(await logsOf(user.id)).toEqual([
      [1, "管理员充值 ＄1.000000 额度（微信支付）"],
      [1, "管理员充值 ＄0.000002 额度"],
    ]);
    const entries = await app.ctx.db
      .selectFrom("ledger")
      .select(["amount", "actor_id", "detail"])
      .where("user_id", "=", user.id)
      .where("kind", "=", "topup")
      .orderBy("id")
      .execute();
    expect(entries).toEqual([
      { amount: 500_000, actor_id: admin.id, detail: "微信支付" },
      { amount: 1, actor_id: admin.id, detail: "管理员充值" },
    ]);
    for (const quota of [0, -5, 1.5, "9", 2 ** 53, null])
      expect((await pay({ user_id: user.id, quota })).success, String(quota)).toBe(false);
    expect((await pay({ user_id: user.id, quota: Number.MAX_SAFE_INTEGER })).message).toBe("额度超出范围");
    expect((await pay({ user_id: 987_654_321, quota: 1 })).message).toBe("找不到该用户");
    expect((await getUser(app.ctx.db, user.id)).quota).toBe(1_000_001);
  });

  test("a withdrawal is recorded from 100 yuan, when there is as much, and never twice for one payment", async () => {
    const user = await seedUser(app.ctx, "earner");
    await app.call(admin.who, "PUT", "/api/user/", { id: user.id, invite_commission_balance: "250.5" });
    const withdraw = (amount: unknown, more: Who = {}) => {
      const body = { user_id: user.id, amount, remark: "支付宝" };
      return app.call({ ...admin.who, ...more }, "POST", "/api/user/withdrawal", body);
    };
    expect((await withdraw("99.99")).message).toBe("提现金额不能少于 100 元");
    expect((await withdraw("250.500001")).message).toBe("返现余额不足");
    // The audit log names what was requested, and that it was not done.
    const auditLog = await app.call(asRoot, "GET", "/api/audit/?action=user&size=4");
    expect(auditLog.data.map((act: { action: string; detail: string }) => [act.action, act.detail])).toEqual([
      ["user.amount_refused", '{"what":"withdrawal","outcome":"below_zero"}'],
      ["user.withdraw", '{"amount":"250.500001","remark":"支付宝"}'],
      ["user.amount_refused", '{"what":"withdrawal","outcome":"below_least"}'],
      ["user.withdraw", '{"amount":"99.99","remark":"支付宝"}'],
    ]);
    for (const amount of ["-100", "1e3", "abc", "", 100, null])
      expect((await withdraw(amount)).success, String(amount)).toBe(false);
    const payment = { "idempotency-key": "alipay-1" };
    expect(await withdraw("100.00", payment)).toMatchObject({ success: true, data: "150.5" });
    expect(await withdraw("100.00", payment)).toMatchObject({ success: true, data: "150.5" });
    expect((await info(user.who)).invite_balance).toBe("150.5");
    expect((await logsOf(user.id)).at(-1)).toEqual([
      3,
      "提现 100 元 已支付，返现余额从 250.5 元 变为 150.5 元（支付宝）",
    ]);
    expect((await withdraw("100")).data).toBe("50.5");
    expect((await withdraw("100")).message).toBe("返现余额不足");
    expect((await app.call(user.who, "POST", "/api/user/withdrawal", {})).message).toBe(
      "权限不够，无法执行该操作",
    );
  });

  test("friends are the users who came by the own invitation, newest first, ten a page from page 1", async () => {
    const host = await seedUser(app.ctx, "host");
    const times: number[] = [];
    for (let index = 0; index < 12; index += 1) {
      clock.advance(1_000);
      times.push(clock.seconds());
      const friend = await seedUser(app.ctx, `friend${index}`);
      await updateUserProfile(app.ctx.db, friend.id, { inviter_id: host.id });
      if (index === 5) await app.call(admin.who, "DELETE", `/api/user/${friend.id}`);
    }
    const page = async (query: string) => app.call(host.who, "GET", `/api/user/friends?${query}`);
    const first = await page("page=1&size=10");
    expect(first.total).toBe(11);
    expect(first.data).toHaveLength(10);
    expect(first.data[0]).toEqual({ invited_time: times[11], username: "friend11" });
    expect((await page("page=0&size=10")).data).toEqual(first.data);
    expect((await page("")).data).toEqual(first.data);
    expect((await page("page=-3")).data).toEqual(first.data);
    expect((await page("page=2&size=10")).data).toEqual([{ invited_time: times[0], username: "friend0" }]);
    expect((await page("page=3")).data).toEqual([]);
    expect((await page("page=6&size=2")).data).toHaveLength(1);
    const stranger = await seedUser(app.ctx, "stranger");
    expect(await app.call(stranger.who, "GET", "/api/user/friends")).toMatchObject({ data: [], total: 0 });
    expect((await app.call(asRoot, "GET", "/api/user/friends")).data).toEqual([]);
  });

  /** A promise made with these gifts in the options, which are 0 again afterwards. */
  async function promised(who: { userId: number; inviterId: number }) {
    const gifts = { QuotaForNewUser: "1000", QuotaForInvitee: "200", QuotaForInviter: "300" } as const;
    for (const key of ["QuotaForNewUser", "QuotaForInvitee", "QuotaForInviter"] as const)
      await app.ctx.options.set(key, gifts[key]);
    const promise = await promiseSignup(app.ctx, app.ctx.db, who);
    for (const key of ["QuotaForNewUser", "QuotaForInvitee", "QuotaForInviter"] as const)
      await app.ctx.options.set(key, "0");
    return promise;
  }
  const quotaOf = async (id: number) => (await getUser(app.ctx.db, id)).quota;

  test("a registration brings what the options said when it was made, once", async () => {
    const [host, guest] = [await seedUser(app.ctx, "inviting"), await seedUser(app.ctx, "invited")];
    const promise = await promised({ userId: guest.id, inviterId: host.id });
    await Promise.all([grantSignup(app.ctx, promise), grantSignup(app.ctx, promise), grantPromised(app.ctx)]);
    expect(await grantPromised(app.ctx)).toBe(0);
    expect(await quotaOf(guest.id)).toBe(501_200);
    expect(await quotaOf(host.id)).toBe(500_300);
  });

  test("a gift that could not be booked stays promised, and the next check books it", async () => {
    const [host, guest] = [await seedUser(app.ctx, "hosting"), await seedUser(app.ctx, "waiting")];
    const promise = await promised({ userId: guest.id, inviterId: host.id });
    const closed = { ...app.ctx, ledger: { grantSignup: () => Promise.reject(new Error("closed")) } };
    await expect(grantSignup(closed, promise)).rejects.toThrow("closed");
    expect(await quotaOf(guest.id)).toBe(500_000);
    expect(await grantPromised(app.ctx)).toBe(1);
    expect(await grantPromised(app.ctx)).toBe(0);
    expect([await quotaOf(guest.id), await quotaOf(host.id)]).toEqual([501_200, 500_300]);
  });
});
