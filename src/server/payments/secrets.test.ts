// Secrets of merchant accounts: one that lacks any is off for everybody, and after a run with all that can happen none of them stands in the
// database, the log or an answer (requirements Y07, Y41). On both databases.
import { describe, expect, test } from "vitest";
import { type ProviderField, paymentProvider, paymentProviderNames } from "#contract/payment-provider.ts";
import { hmacSha256 } from "#server/secrets.ts";
import { asRoot, databases, type Who } from "#test/worlds/app.ts";
import { useDesksWorld } from "#test/worlds/desks-world.ts";
import { keptLog } from "#test/worlds/kept-log.ts";
import type { Told } from "#test/worlds/pay-desks.ts";
import type { Account } from "#test/worlds/payment-world.ts";
import { dumpTables } from "#test/worlds/stores.ts";
import { compareDue } from "./compare.ts";

interface Draft {
  readonly fields: Readonly<Record<string, string>>;
}

describe.each(databases)("secrets of merchant accounts on $name", (database) => {
  /** Whatever the server answered to users, administrators and providers. */
  let answered = "";
  const log = keptLog();
  const world = useDesksWorld(database, { logger: log.logger });

  function at(provider: string) {
    const desk = world.at(provider);
    return { ...desk, draft: desk.draft as Draft };
  }
  const secretsOf = (provider: (typeof paymentProviderNames)[number]) =>
    paymentProvider(provider).fields.flatMap(({ key, isSecret }) => (isSecret ? [key] : []));

  const call = async (who: Who, method: string, path: string, body?: object) => {
    const answer = await world.app.call(who, method, path, body);
    answered += JSON.stringify(answer);
    return answer;
  };
  const tell = async (account: Account, told: Told) => {
    const answer = await world.notify(account, told);
    answered += answer.text;
    return answer;
  };
  const countEvents = async () =>
    (await world.app.ctx.db.selectFrom("payment_events").select("id").execute()).length;

  const lacking = paymentProviderNames.flatMap((provider) =>
    secretsOf(provider).map((key) => ({ provider, key })),
  );

  test.each(lacking)(
    "$provider without its $key is off: 404, and nothing is kept",
    async ({ provider, key }) => {
      const { desk, draft, account, method, notice } = at(provider);
      const { order } = await world.ordered(account, { method });
      desk.pay(order.order_no);
      const before = await countEvents();
      const { [key]: _, ...others } = draft.fields;
      for (const fields of [others, ...["", "   ", "\n\t"].map((blank) => ({ ...others, [key]: blank }))]) {
        const made = await call(asRoot, "POST", "/api/payment/instance", {
          name: "空",
          is_enabled: true,
          ...draft,
          fields,
        });
        expect([made.message, made.data.is_complete]).toEqual(["", false]);
        const bare = { id: made.data.id, path: new URL(made.data.notify_url).pathname };
        expect((await tell(bare, notice(order.order_no))).status).toBe(404);
        expect((await world.buy((await world.buyer()).who, bare, { method })).message).toContain("不可用");
      }
      expect(await countEvents()).toBe(before);
      expect(await world.row(order.order_no)).toMatchObject({ status: "pending", review: "" });
    },
  );

  test.each(paymentProviderNames)(
    "%s: an account that has all it needs is not saved with a key of a wrong form or without one, and goes on taking notices",
    async (provider) => {
      const { desk, draft, method, notice } = at(provider);
      const account = await world.account(draft);
      const path = `/api/payment/instance/${account.id}`;
      const edit = (fields: object, change: object = {}) =>
        call(asRoot, "PUT", path, {
          ...{ name: "改", is_enabled: true, ...draft },
          ...{ fields: { ...draft.fields, ...fields }, ...change },
        });
      const { order, user } = await world.ordered(account, { method });
      for (const { key, isSecret, form, isOptional } of paymentProvider(provider).fields as ProviderField[]) {
        if (form !== undefined)
          expect((await edit({ [key]: "not a key" })).message).toContain("请关闭“启用”");
        // A secret that is left empty stays as it is.
        if (!isSecret && !isOptional && draft.fields[key] !== undefined)
          expect((await edit({ [key]: " " })).message).toContain("请关闭“启用”");
      }
      expect((await edit({}, { is_enabled: false })).message).toBe("");
      desk.pay(order.order_no);
      expect((await tell(account, notice(order.order_no))).status).toBe(200);
      expect(await world.gained(user)).toBe(25_000_000);
      expect((await edit({})).message).toBe("");
    },
  );

  test("what is signed with an empty secret opens nothing, at an account that has one or has none", async () => {
    const [v1, stripe] = [at("epay-v1"), at("stripe")];
    const { order } = await world.ordered(v1.account, { method: v1.method });
    const query = world.desks.epay.noticeV1(v1.desk.pay(order.order_no), {}, "");
    expect((await tell(v1.account, { query })).status).toBe(400);
    const card = await world.ordered(stripe.account, { method: stripe.method });
    stripe.desk.pay(card.order.order_no);
    const { body = "" } = stripe.notice(card.order.order_no);
    const time = world.clock.seconds();
    const signature = `t=${time},v1=${hmacSha256("", `${time}.${body}`).toString("hex")}`;
    const told = { body, headers: { "stripe-signature": signature } };
    expect((await tell(stripe.account, told)).status).toBe(400);
    for (const { account, sent } of [
      { account: v1.account, sent: { query } },
      { account: stripe.account, sent: told },
    ]) {
      const { db } = world.app.ctx;
      const row = await db
        .selectFrom("payment_instances")
        .select("secrets_sealed")
        .where("id", "=", account.id)
        .executeTakeFirstOrThrow();
      const put = (secrets_sealed: string) =>
        db.updateTable("payment_instances").set({ secrets_sealed }).where("id", "=", account.id).execute();
      for (const none of ["", "{}"]) {
        await put(none);
        expect((await tell(account, sent)).status).toBe(404);
      }
      await put(row.secrets_sealed);
    }
    for (const no of [order.order_no, card.order.order_no])
      expect(await world.row(no)).toMatchObject({ status: "pending", trade_no: "" });
  });

  test("after buying, asking, faults, refunds, comparing and editing, no secret was told to anybody", async () => {
    const secrets = paymentProviderNames.flatMap((provider) =>
      secretsOf(provider).map((key) => {
        const secret = at(provider).draft.fields[key] ?? "";
        // A key of several lines is told by any of them.
        return secret.includes("\n") ? (secret.split("\n")[3] ?? "") : secret;
      }),
    );
    expect(secrets.filter((secret) => secret.length < 16)).toEqual([]);
    for (const provider of paymentProviderNames) {
      const { desk, account, method, notice, odd, draft } = at(provider);
      const { user, order } = await world.ordered(account, { method });
      const path = `/api/payment/manage/${order.order_no}`;
      await call(asRoot, "POST", `${path}/ask`, {});
      for (const mode of ["500", "html", "truncated", "redirect"] as const) {
        desk.mode = mode;
        world.clock.advance(6_000);
        await call(asRoot, "POST", `${path}/ask`, {});
        await call((await world.buyer()).who, "POST", "/api/payment/order", {
          dollars: 50,
          instance_id: account.id,
          method,
        });
      }
      desk.mode = "ok";
      desk.pay(order.order_no);
      await tell(account, odd(order.order_no, { isForged: true }));
      await tell(account, odd(order.order_no, { isForeign: true }));
      world.desks.stripe.told.session = {};
      await tell(account, notice(order.order_no));
      expect(await world.gained(user)).toBe(25_000_000);
      expect(
        (await call(asRoot, "POST", `${path}/refund`, { amount: "10.00", reason: "测试" })).message,
      ).toBe("");
      await call(asRoot, "GET", path);
      await call(user.who, "GET", `/api/payment/order/${order.order_no}`);
      await call(user.who, "GET", "/api/payment/shop");
      const edited = {
        ...draft,
        name: "改",
        is_enabled: true,
        fields: { ...draft.fields, base_url: "http://[" },
      };
      await call(asRoot, "PUT", `/api/payment/instance/${account.id}`, edited);
      await call(asRoot, "PUT", `/api/payment/instance/${account.id}`, { ...edited, fields: draft.fields });
    }
    await world.pass(120);
    world.clock.advance(2 * 86_400_000);
    await compareDue(world.app.ctx);
    for (const path of [
      "/api/payment/instance",
      "/api/payment/manage?size=100",
      "/api/payment/event?size=100",
      "/api/reconciliation",
      "/api/audit/?size=100",
      "/api/margin",
    ])
      await call(asRoot, "GET", path);
    const places = { database: await dumpTables(world.app.ctx), logged: log.text(), answered };
    for (const [place, text] of Object.entries(places)) {
      expect(text.length).toBeGreaterThan(1_000);
      expect([place, secrets.filter((secret) => text.includes(secret))]).toEqual([place, []]);
    }
  });
});
