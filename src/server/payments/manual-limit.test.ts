// Who raises the sum above which a payment that is vouched for needs another super administrator gains nothing by it for a day; and quota that is
// added by hand beside it is told of (requirements Y39). On both databases.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Role } from "#contract/user.ts";
import { seedUser } from "#test/seeds/seed.ts";
import { asRoot, databases, type Who } from "#test/worlds/app.ts";
import { EpayWorld } from "#test/worlds/payment-world.ts";
import { manualLimitYuan } from "./manual-limit.ts";

const KEY = "ManualOrderLimitYuan";
const DAY_MS = 86_400_000;

describe.each(databases)("the limit of one super administrator on $name", (database) => {
  const world = new EpayWorld();
  beforeAll(() => world.start(database));
  afterAll(() => world.stop());

  const limit = () => manualLimitYuan(world.app.ctx);
  async function set(value: string): Promise<void> {
    const answer = await world.app.call(asRoot, "PUT", "/api/option/", { key: KEY, value });
    expect(answer.message).toBe("");
  }
  let serial = 0;
  async function vouched(amount: string): Promise<string> {
    const { order } = await world.ordered(await world.site());
    serial += 1;
    const body = { trade_no: `bank-${serial}000`, amount, reason: "银行流水" };
    const path = `/api/payment/manage/${order.order_no}/manual`;
    const { message } = await world.app.call(asRoot, "POST", path, body);
    expect(message).toBe("");
    return (await world.row(order.order_no)).status;
  }
  /** Lets a day pass in which nothing was changed. */
  const rest = () => world.clock.advance(DAY_MS + 1_000);

  test("is lowered at once, and raised or lifted after a day in which the others can see it", async () => {
    expect(await limit()).toBe(0);
    await set("29");
    expect([await limit(), await vouched("30.00")]).toEqual([29, "pending"]);
    await set("5000");
    expect([await limit(), await vouched("30.00")]).toEqual([29, "pending"]);
    world.clock.advance(DAY_MS / 2);
    await set("0");
    expect(await limit()).toBe(29);
    world.clock.advance(DAY_MS / 2 + 1_000);
    // A day after 29, half a day after 5000.
    expect([await limit(), await vouched("30.00")]).toEqual([5_000, "credited"]);
    rest();
    expect(await limit()).toBe(0);
    await set("100");
    await set("20");
    await set("60");
    expect(await limit()).toBe(20);
    rest();
    expect(await limit()).toBe(60);
  });

  test("is not passed unseen by adding quota by hand: it stands so in the audit log, and super administrators hear of it", async () => {
    rest();
    await set("60");
    rest();
    const admin = await seedUser(world.app.ctx, "clerk", { role: Role.admin });
    const user = await world.buyer();
    const notify = vi.spyOn(world.app.ctx, "notify");
    const topUp = (quota: number, who: Who = admin.who) =>
      world.app.call(who, "POST", "/api/topup", { user_id: user.id, quota, remark: "" });
    const edit = async (quota: number) => {
      const { data } = await world.app.call(asRoot, "GET", `/api/user/${user.id}`);
      return world.app.call(asRoot, "PUT", "/api/user/", { ...data, password: "", quota });
    };
    const details = async (action: string) => {
      const rows = await world.app.ctx.db
        .selectFrom("audit")
        .select("detail")
        .where("action", "=", action)
        .orderBy("id")
        .execute();
      return rows.map(({ detail }) => JSON.parse(detail));
    };
    // $4 are 28 yuan at face value, and $8 are 56.
    expect(await topUp(2_000_000)).toMatchObject({ success: true });
    expect(await edit(500_000 + 4_000_000)).toMatchObject({ success: true });
    // Lowered again, they were added all the same.
    expect(await edit(500_000)).toMatchObject({ success: true });
    expect(notify).not.toHaveBeenCalled();
    expect(await topUp(300_000)).toMatchObject({ success: true });
    expect(await details("user.topup")).toMatchObject([
      { raised: 2_000_000, quota: 2_000_000 },
      { raised: 300_000, above_limit: true },
    ]);
    const updates = await details("user.update");
    expect(updates.map(({ raised, above_limit }) => [raised, above_limit])).toEqual([
      [2_000_000, undefined],
      [undefined, undefined],
    ]);
    expect(notify.mock.calls.map(([{ event, content }]) => [event, content.includes("clerk")])).toEqual([
      ["payment_review", true],
    ]);
    notify.mockClear();
    rest();
    expect(await topUp(2_000_000)).toMatchObject({ success: true });
    expect(notify).not.toHaveBeenCalled();
    const made = { name: "大队", owner: "root", members: [] };
    const team = await world.app.call(asRoot, "POST", "/api/team/all", made);
    expect(team.message).toBe("");
    const amount = 5_000_000;
    const raise = { id: team.data.id, amount, reason: "对公转账" };
    expect(await world.app.call(asRoot, "POST", "/api/team/adjust", raise)).toMatchObject({ success: true });
    expect(await details("team.adjust")).toMatchObject([{ raised: amount, above_limit: true }]);
    expect(notify).toHaveBeenCalledTimes(1);
    notify.mockRestore();
  });

  test("codes that an administrator makes worth more than it, or makes worth more later, are marked and told", async () => {
    await set("60");
    rest();
    const admin = await seedUser(world.app.ctx, "printer", { role: Role.admin });
    const notify = vi.spyOn(world.app.ctx, "notify");
    const make = (quota: number, count: number, who: Who = admin.who) =>
      world.app.call(who, "POST", "/api/redemption/", { name: "批次", quota, count });
    const last = async () => {
      const row = await world.app.ctx.db
        .selectFrom("audit")
        .select("detail")
        .where("action", "like", "redemption.%")
        .orderBy("id", "desc")
        .executeTakeFirstOrThrow();
      return JSON.parse(row.detail);
    };
    // $8 are 56 yuan at face value.
    expect(await make(400_000, 10)).toMatchObject({ success: true });
    expect(await last()).toMatchObject({ raised: 4_000_000 });
    // Another administrator's are counted apart.
    expect(await make(500_000, 1, asRoot)).toMatchObject({ success: true });
    expect(notify).not.toHaveBeenCalled();
    const { data: codes } = await world.app.call(admin.who, "GET", "/api/redemption/?p=0&size=2");
    const [one] = codes.filter((code: { user_id: number }) => code.user_id === admin.id);
    const change = { id: one.id, name: "批次", quota: 800_000 };
    const edited = await world.app.call(admin.who, "PUT", "/api/redemption/", change);
    expect(edited).toMatchObject({ success: true });
    expect(await last()).toMatchObject({ raised: 400_000, above_limit: true });
    expect(notify.mock.calls.map(([{ event, content }]) => [event, content.includes("printer")])).toEqual([
      ["payment_review", true],
    ]);
    notify.mockClear();
    rest();
    expect(await make(1_000_000, 5)).toMatchObject({ success: true });
    expect(await last()).toMatchObject({ raised: 5_000_000, above_limit: true });
    expect(notify).toHaveBeenCalledTimes(1);
    notify.mockRestore();
  });
});
