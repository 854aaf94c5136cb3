// Calls of the endpoints of plans that succeed.
import { findRenewalByFirst, insertRenewal } from "#server/store/plan-renewals.ts";
import { asRoot } from "#test/worlds/app.ts";
import type { FuzzWorld, Recipe } from "#test/worlds/fuzz-world.ts";
import { buyPlan, periodOf } from "#test/worlds/plans.ts";
import type { SeededUser } from "./seed.ts";

const draftOf = (name: string) => ({
  name,
  is_enabled: true,
  price: "30",
  unit: "month",
  count: 1,
  quota: 5_000_000,
  windows: [{ kind: "session", quota: 100_000 }],
  overflow: true,
});

export const planRecipes = (deps: {
  freshName(): string;
  freshUser(world: FuzzWorld): Promise<SeededUser>;
  freshAccount(world: FuzzWorld): Promise<{ id: number }>;
  openShop(world: FuzzWorld): Promise<unknown>;
}): Readonly<Record<string, Recipe>> => {
  const fresh = async ({ app }: FuzzWorld) =>
    (await app.call(asRoot, "POST", "/api/plan/", draftOf(`plan-${deps.freshName()}`))).data;
  /** A period of a plan that a user has bought. */
  const bought = async (world: FuzzWorld) => {
    const { ctx } = world.app;
    const { id: userId, who } = await deps.freshUser(world);
    const { id: planId, version_id: versionId } = await fresh(world);
    const order = await buyPlan(ctx.db, ctx.ledger, { userId, planId, versionId });
    return { who, userId, versionId, order, period: await periodOf(ctx.db, order) };
  };
  /** A renewal of a user's, at the account of its order unless another is named. */
  const renewed = async (world: FuzzWorld, instanceId?: number) => {
    const { ctx } = world.app;
    const { who, userId, versionId, order } = await bought(world);
    await insertRenewal(ctx.db, {
      user_id: userId,
      instance_id: instanceId ?? order.instance_id,
      provider_id: `sub_${deps.freshName()}`,
      order_no: order.order_no,
      last_order_no: order.order_no,
      version_id: versionId,
      currency: "CNY",
      amount_minor: 3_000,
      renews: 1,
      is_told: 1,
      status: "active",
      next_at: ctx.clock.seconds() + 86_400,
      next_check: 0,
      created_at: ctx.clock.seconds(),
    });
    const renewal = await findRenewalByFirst(ctx.db, order.order_no);
    return { path: `/api/plan/renewal/${renewal?.id}`, headers: who };
  };
  return {
    "POST /api/plan/renewal/:id": async (world) => ({ ...(await renewed(world)), body: { renews: false } }),
    "POST /api/plan/renewal/:id/card": async (world) => {
      const made = await world.app.call(asRoot, "POST", "/api/payment/instance", {
        ...{ name: "cards", is_enabled: true, provider: "stripe", methods: ["card"] },
        merchant_id: `acct-${deps.freshName()}`,
        fields: { base_url: world.provider.url, secret_key: "sk_test_1", webhook_secret: "whsec_1" },
      });
      const { path, headers } = await renewed(world, made.data.id);
      return { path: `${path}/card`, headers, body: {} };
    },
    "POST /api/plan/period/:id/change": async (world) => {
      const { who, period } = await bought(world);
      const cheap = { ...draftOf(`plan-${deps.freshName()}`), price: "3" };
      const { data } = await world.app.call(asRoot, "POST", "/api/plan/", cheap);
      const body = { plan_id: data.id, version_id: data.version_id };
      return { path: `/api/plan/period/${period.id}/change`, body, headers: who };
    },
    "POST /api/plan/": () => ({ body: draftOf(`plan-${deps.freshName()}`) }),
    "PUT /api/plan/:id": async (world) => ({
      path: `/api/plan/${(await fresh(world)).id}`,
      body: draftOf(`plan-${deps.freshName()}`),
    }),
    "POST /api/plan/order": async (world) => {
      await deps.openShop(world);
      const { id: plan_id, version_id } = await fresh(world);
      const { id: instance_id } = await deps.freshAccount(world);
      return {
        body: { plan_id, version_id, instance_id, method: "alipay" },
        headers: (await deps.freshUser(world)).who,
      };
    },
  };
};
