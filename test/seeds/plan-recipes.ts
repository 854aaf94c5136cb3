// Calls of the endpoints of plans that succeed.
import { asRoot } from "#test/worlds/app.ts";
import type { FuzzWorld, Recipe } from "#test/worlds/fuzz-world.ts";
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
  return {
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
