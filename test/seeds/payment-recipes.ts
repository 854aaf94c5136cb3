// Calls of the endpoints of payments that succeed: each with an account at the provider of the world and an order of its own.
import type { OptionKey } from "#contract/option.ts";
import { markRefund } from "#server/store/order-refunds.ts";
import { AWAITS_SECOND, findOrder, insertEvent, listEvents, listOpenEvents } from "#server/store/orders.ts";
import { asRoot, type Who } from "#test/worlds/app.ts";
import type { FuzzWorld, Recipe } from "#test/worlds/fuzz-world.ts";
import { orderChange, proofOf } from "#test/worlds/order-rows.ts";
import type { SeededUser } from "./seed.ts";

/** What other calls may have changed. */
const shopOptions = {
  ServerAddress: "https://gate.example",
  TopUpPlans: '[{"dollars":10,"yuan":"6"}]',
  QuotaPerUnit: "500000",
};

const accounts = new WeakMap<FuzzWorld, Promise<{ id: number; draft: object }>>();

interface Fresh {
  freshName(): string;
  freshUser(world: FuzzWorld): Promise<SeededUser>;
  set(world: FuzzWorld, values: Partial<Record<OptionKey, string>>): Promise<void>;
}

export function paymentDesk({ freshName, freshUser, set }: Fresh) {
  /** A merchant account at the provider of the world, which also answers as a 易支付 site. */
  async function freshAccount(world: FuzzWorld): Promise<{ id: number; draft: object }> {
    const making = accounts.get(world) ?? makeAccount(world);
    accounts.set(world, making);
    const made = await making;
    // A call that was made up may have switched it off.
    await world.app.call(asRoot, "PUT", `/api/payment/instance/${made.id}`, made.draft);
    return made;
  }

  async function makeAccount(world: FuzzWorld): Promise<{ id: number; draft: object }> {
    const draft = {
      name: "fuzz",
      is_enabled: true,
      methods: ["alipay"],
      fields: { base_url: world.provider.url, key: `canary-pay-key-${freshName()}` },
    };
    const made = { ...draft, provider: "epay-v1", merchant_id: "1001" };
    const { data } = await world.app.call(asRoot, "POST", "/api/payment/instance", made);
    return { id: data.id, draft };
  }

  /** A new user's order that waits, or one that was paid; the amount is that of the plan unless it is named. */
  async function freshOrder(world: FuzzWorld, paidMinor?: number): Promise<{ no: string; who: Who }> {
    const { app } = world;
    const [{ id }, { who }] = [await freshAccount(world), await freshUser(world)];
    await set(world, shopOptions);
    const body = { dollars: 10, instance_id: id, method: "alipay" };
    const { data } = await app.call(who, "POST", "/api/payment/order", body);
    const order = await findOrder(app.ctx.db, data.order_no);
    if (order && paidMinor !== undefined)
      await app.ctx.ledger.changeOrder(orderChange(order, proofOf(order, { amountMinor: paidMinor })));
    return { no: data.order_no, who };
  }

  const managed = async (world: FuzzWorld, act: string, paidMinor?: number) =>
    `/api/payment/manage/${(await freshOrder(world, paidMinor)).no}${act}`;

  const openShop = (world: FuzzWorld) => set(world, shopOptions);
  const recipes: Readonly<Record<string, Recipe>> = {
    "POST /api/payment/instance": ({ provider }) => ({
      body: {
        name: "fresh",
        is_enabled: true,
        provider: "epay-v1",
        merchant_id: "1001",
        methods: ["alipay"],
        fields: { base_url: provider.url, key: `canary-pay-key-${freshName()}` },
      },
    }),
    "PUT /api/payment/instance/:id": async (world) => {
      const { id, draft } = await freshAccount(world);
      return { path: `/api/payment/instance/${id}`, body: draft };
    },
    "POST /api/payment/instance/:id/probe": async (world) => ({
      path: `/api/payment/instance/${(await freshAccount(world)).id}/probe`,
      body: {},
    }),
    "POST /api/payment/order": async (world) => {
      await set(world, shopOptions);
      return {
        body: { dollars: 10, instance_id: (await freshAccount(world)).id, method: "alipay" },
        headers: (await freshUser(world)).who,
      };
    },
    "GET /api/payment/order/:no": async (world) => {
      const { no, who } = await freshOrder(world);
      return { path: `/api/payment/order/${no}`, headers: who };
    },
    "POST /api/payment/order/:no/cancel": async (world) => {
      const { no, who } = await freshOrder(world);
      return { path: `/api/payment/order/${no}/cancel`, headers: who, body: {} };
    },
    "GET /api/payment/manage/:no": async (world) => ({ path: await managed(world, "") }),
    "POST /api/payment/manage/:no/ask": async (world) => ({ path: await managed(world, "/ask"), body: {} }),
    "POST /api/payment/manage/:no/close": async (world) => ({
      path: await managed(world, "/close"),
      body: { reason: "fuzz" },
    }),
    "POST /api/payment/manage/:no/decide": async (world) => ({
      path: await managed(world, "/decide", 300),
      body: { as: "paid", reason: "fuzz" },
    }),
    "POST /api/payment/manage/:no/manual": async (world) => ({
      path: await managed(world, "/manual"),
      body: { trade_no: `manual-${freshName()}`, amount: "6.00", reason: "fuzz" },
    }),
    "POST /api/payment/manage/:no/refund": async (world) => ({
      path: await managed(world, "/refund", 600),
      body: { amount: "1.00", reason: "fuzz" },
    }),
    "POST /api/payment/manage/:no/refund/settle": async (world) => {
      const { no } = await freshOrder(world, 600);
      const { ctx } = world.app;
      const order = await findOrder(ctx.db, no);
      const refund_no = `RF${freshName()}`;
      if (order) {
        const act = {
          verb: "hold",
          refundNo: refund_no,
          amountMinor: 100,
          actorId: 1,
          reason: "fuzz",
        } as const;
        await ctx.ledger.changeOrder(orderChange(order, act));
      }
      await markRefund(ctx.db, refund_no, { state: "unknown", nextCheck: 0, checks: 9, nowSec: 1 });
      const body = { refund_no, is_done: true, reason: "fuzz" };
      return { path: `/api/payment/manage/${no}/refund/settle`, body };
    },
    "POST /api/payment/event/:id/settle": async (world) => {
      const { no } = await freshOrder(world, 300);
      const [event] = await listEvents(world.app.ctx.db, no);
      return { path: `/api/payment/event/${event?.id}/settle`, body: { reason: "fuzz" } };
    },
    "POST /api/payment/event/:id/judge": async (world) => {
      const { no } = await freshOrder(world);
      const { id: actor_id } = await freshUser(world);
      const { db, clock } = world.app.ctx;
      const order = await findOrder(db, no);
      const given = { trade_no: `second-${freshName()}`, amount: "6.00", reason: "fuzz" };
      await insertEvent(db, {
        ...{ instance_id: order?.instance_id ?? 0, event_key: `second/${no}`, kind: "admin", order_no: no },
        ...{ verdict: AWAITS_SECOND, is_open: 1, body_sealed: "", created_at: clock.seconds() },
        facts: JSON.stringify({ ...given, user_id: order?.user_id, actor_id }),
      });
      const [event] = await listEvents(db, no);
      return { path: `/api/payment/event/${event?.id}/judge`, body: { is_approved: true, reason: "fuzz" } };
    },
    "POST /api/payment/event/:id/credit": async (world) => {
      const { ctx } = world.app;
      const [{ id: instance_id }, { id: user_id }] = [await freshAccount(world), await freshUser(world)];
      await set(world, shopOptions);
      const trade_no = freshName();
      const event_key = `orphan/${trade_no}`;
      const facts = JSON.stringify({ trade_no, amount_minor: 600, currency: "CNY" });
      await insertEvent(ctx.db, {
        ...{ instance_id, event_key, kind: "notify", order_no: "", verdict: "unknown_order" },
        ...{ is_open: 1, facts, body_sealed: "", created_at: ctx.clock.seconds() },
      });
      const event = (await listOpenEvents(ctx.db, { page: 0, size: 1_000 })).find(
        (one) => one.event_key === event_key,
      );
      return { path: `/api/payment/event/${event?.id}/credit`, body: { user_id, reason: "fuzz" } };
    },
  };
  return { recipes, shop: { freshAccount, openShop } };
}
