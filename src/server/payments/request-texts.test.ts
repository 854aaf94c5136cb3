// What people typed reaches no provider: neither names nor codes, remarks or reasons, so that nothing of theirs is ever signed (requirements
// Y10). On both databases.
import { describe, expect, test } from "vitest";
import { paymentProviderNames } from "#contract/payment-provider.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { useDesksWorld } from "#test/worlds/desks-world.ts";

/** What would be further parameters in a text that is signed unescaped. */
const TYPED = "typed&trade_no=1&trade_status=TRADE_SUCCESS";

describe.each(databases)("what providers are sent on $name", (database) => {
  const world = useDesksWorld(database);

  test.each(paymentProviderNames)("holds no text of a user's or an administrator's: %s", async (provider) => {
    const { db } = world.app.ctx;
    const { desk, account, method, draft, notice } = world.at(provider);
    const [user, giver] = [await world.buyer(), await world.buyer()];
    const names = { display_name: TYPED, email: `${TYPED}-${provider}@example.com` };
    await db
      .updateTable("users")
      .set({ ...names, username: `${TYPED}=${user.id}` })
      .where("id", "=", user.id)
      .execute();
    const code = `${TYPED}=${giver.id}`.toUpperCase();
    await db.updateTable("users").set({ aff_code: code }).where("id", "=", giver.id).execute();
    const named = { ...draft, name: TYPED.slice(0, 40), is_enabled: true };
    expect((await world.app.call(asRoot, "PUT", `/api/payment/instance/${account.id}`, named)).message).toBe(
      "",
    );
    const who = {
      ...user.who,
      "user-agent": TYPED,
      referer: `https://gate.example/?${TYPED}`,
      "x-forwarded-for": TYPED,
    };
    const before = desk.heard.length;

    const bought = await world.buy(who, account, { method, gift_code: code });
    expect(bought.message).toBe("");
    const no: string = bought.data.order_no;
    expect((await world.row(no)).giver_id).toBe(giver.id);
    const plan = await world.app.call(asRoot, "POST", "/api/plan/", {
      ...{ name: TYPED.slice(0, 20), about: TYPED, is_enabled: true, price: "30", unit: "month", count: 1 },
      ...{ quota: 1_000, overflow: true },
    });
    expect(plan.message).toBe("");
    const { id: plan_id, version_id } = plan.data;
    const wish = { plan_id, version_id, instance_id: account.id, method };
    expect((await world.app.call(who, "POST", "/api/plan/order", wish)).message).toBe("");
    const manage = (act: string, body: object) =>
      world.app.call(asRoot, "POST", `/api/payment/manage/${no}/${act}`, body);
    await manage("ask", {});
    desk.pay(no);
    expect((await world.notify(account, notice(no))).status).toBe(200);
    expect((await manage("refund", { amount: "30.00", reason: TYPED })).message).toBe("");

    const heard = desk.heard.slice(before);
    expect(heard.length).toBeGreaterThan(2);
    const sent = heard.map(({ path, search, body, headers }) =>
      JSON.stringify([path, search, body, headers].map((part) => decodeURIComponent(JSON.stringify(part)))),
    );
    expect(sent.filter((text) => text.toLowerCase().includes("typed"))).toEqual([]);
  });
});
