// Invoices of what a team paid (requirements Y59, Y62): asked for by its owner and finance, of the wallet's own payments, and told to both.
import { beforeAll, describe, expect, test } from "vitest";
import { INVOICE_PROFILE } from "#test/seeds/invoice-recipes.ts";
import type { SeededUser } from "#test/seeds/seed.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { type Account, useEpayWorld } from "#test/worlds/payment-world.ts";

const PROFILE = { ...INVOICE_PROFILE, title: "示例研发有限公司" };

describe.each(databases)("invoices of a team on $name", (database) => {
  const world = useEpayWorld(database);
  let account: Account;
  const people: Record<string, SeededUser> = {};
  const who = (name: string) => people[name]?.who ?? expect.fail();
  const call = (name: string, method: string, path: string, body?: object) =>
    world.app.call(who(name), method, path, body);

  async function found(name: string): Promise<number> {
    return (await call("owner", "POST", "/api/team/", { name })).data.id;
  }
  async function pay(team: number): Promise<void> {
    const { data } = await world.buy(who("owner"), account, { team_id: team });
    await world.notify(account, { query: world.epay.noticeV1(world.epay.desk.pay(data.order_no)) });
  }
  const ask = (name: string, team: number, amount = "10") =>
    call(name, "POST", "/api/invoice/", { team_id: team, currency: "CNY", amount, profile: PROFILE });
  const desk = async (name: string, team: number) =>
    (await call(name, "GET", `/api/invoice/?team_id=${team}`)).data;

  beforeAll(async () => {
    account = await world.site({ methods: ["alipay"] });
    for (const name of ["owner", "finance", "manager", "member", "viewer", "stranger"])
      people[name] = await world.buyer();
  });

  test("are for what the wallet paid, by owner and finance, and stand in its statement", async () => {
    const team = await found("甲队");
    for (const role of ["finance", "manager", "member", "viewer"]) {
      const made = await call("owner", "POST", `/api/team/${team}/invitation`, { role });
      await call(role, "POST", "/api/team/invitation/accept", { code: made.data.code });
    }
    expect((await ask("finance", team)).message).toBe("可开票金额为 0.00 CNY");
    await pay(team);
    const made = await ask("finance", team);
    expect(made.data).toMatchObject({ amount: "10.00", state: "requested", username: `团队#${team}` });
    expect((await ask("owner", team, "20.01")).message).toBe("可开票金额为 20.00 CNY");
    const seen = await desk("owner", team);
    expect(seen.sums).toEqual([
      { currency: "CNY", paid: "30.00", refunded: "0.00", invoiced: "10.00", available: "20.00" },
    ]);
    expect([seen.profile.title, seen.rows.length]).toEqual([PROFILE.title, 1]);
    // Nothing of it is the person's own, who only asked.
    expect(await desk("finance", 0)).toMatchObject({ sums: [], rows: [], profile: { title: "" } });
    for (const name of ["manager", "member", "viewer", "stranger"]) {
      expect((await ask(name, team)).success, name).toBe(false);
      expect((await call(name, "GET", `/api/invoice/?team_id=${team}`)).success, name).toBe(false);
      expect((await call(name, "POST", `/api/invoice/${made.data.id}/cancel`)).message).toBe(
        "找不到该发票申请",
      );
    }
    const { data: months } = await call("owner", "GET", `/api/team/${team}/statement`);
    const path = `/api/team/${team}/statement/${months.open_month}`;
    expect((await call("finance", "GET", path)).data.buyer).toMatchObject({ title: PROFILE.title });
    // A manager sees the wallet, not its invoices.
    expect((await call("manager", "GET", path)).data.buyer).toBeNull();
    const issued = { number: "24912000000012345678", link: "", note: "" };
    const queue = `/api/invoice_queue/${made.data.id}`;
    expect(await world.app.call(asRoot, "POST", `${queue}/issue`, issued)).toMatchObject({ success: true });
    expect((await desk("finance", team)).rows).toMatchObject([{ state: "issued", number: issued.number }]);
  });

  test("that are not issued end with the team, and whom they were for is forgotten", async () => {
    const team = await found("乙队");
    await pay(team);
    const { data } = await ask("owner", team);
    expect(
      await call("owner", "DELETE", `/api/team/${team}?name=${encodeURIComponent("乙队")}`),
    ).toMatchObject({ success: true });
    const queue = await world.app.call(asRoot, "GET", `/api/invoice_queue/?user_id=${data.user_id}`);
    expect(queue.data).toMatchObject([{ id: data.id, state: "cancelled", profile: { title: "—" } }]);
    expect((await ask("owner", team)).success).toBe(false);
  });
});
