// Without an address of the server providers could not reach it: merchant accounts have no 通知地址 then, and no user can order.
import { describe, expect, test } from "vitest";
import { asRoot, databases } from "#test/worlds/app.ts";
import { useEpayWorld } from "#test/worlds/payment-world.ts";

describe.each(databases)("a merchant account on $name", (database) => {
  const world = useEpayWorld(database);

  test("has no address for notices, and no user can order, until the server has one", async () => {
    const account = await world.site();
    const shown = async () =>
      (await world.app.call(asRoot, "GET", "/api/payment/instance")).data[0].notify_url;
    expect(await shown()).toBe(`https://gate.example${account.path}`);
    await world.app.ctx.options.set("ServerAddress", "");
    expect(await shown()).toBe("");
    const buyer = await world.buyer();
    expect((await world.buy(buyer.who, account)).message).toBe("管理员尚未设置服务器地址，暂时无法在线支付");
    await world.app.ctx.options.set("ServerAddress", "https://gate.example");
    expect((await world.buy(buyer.who, account)).message).toBe("");
  });
});
