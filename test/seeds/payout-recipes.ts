// Calls of the endpoints of payouts that succeed: each of a user who has commission enough.
import { asRoot, type Who } from "#test/worlds/app.ts";
import type { FuzzWorld, Recipe } from "#test/worlds/fuzz-world.ts";
import type { SeededUser } from "./seed.ts";

const DRAFT = { amount: "100", way: "alipay", account: "13800000000", name: "fuzz" };

export function payoutRecipes(
  freshUser: (world: FuzzWorld) => Promise<SeededUser>,
): Readonly<Record<string, Recipe>> {
  async function rich({ app }: FuzzWorld, { id, who }: SeededUser): Promise<Who> {
    const by = { userId: id, actorId: 1, reason: "fuzz" };
    const micro = { delta: 200_000_000n };
    await app.ctx.ledger.changeCommission({ ...by, kind: "commission-adjust", micro });
    return who;
  }
  async function asked(world: FuzzWorld): Promise<{ id: number; who: Who }> {
    const who = await rich(world, await freshUser(world));
    const { data } = await world.app.call(who, "POST", "/api/payout/", DRAFT);
    return { id: data.id, who };
  }
  const decided =
    (verb: "pay" | "reject"): Recipe =>
    async (world) => ({
      path: `/api/payout_queue/${(await asked(world)).id}/${verb}`,
      headers: asRoot,
      body: { note: "fuzz" },
    });
  return {
    "POST /api/payout/": async (world) => ({
      body: DRAFT,
      headers: await rich(world, await freshUser(world)),
    }),
    "POST /api/payout/:id/cancel": async (world) => {
      const { id, who } = await asked(world);
      return { path: `/api/payout/${id}/cancel`, headers: who };
    },
    "POST /api/payout_queue/:id/pay": decided("pay"),
    "POST /api/payout_queue/:id/reject": decided("reject"),
  };
}
