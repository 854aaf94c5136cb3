// Calls of the endpoints of alerts that succeed: targets are webhooks of a server that takes everything.
import { insertDeliveries, removeAlertTarget } from "#server/store/alerts.ts";
import { asRoot } from "#test/worlds/app.ts";
import type { FuzzWorld, Recipe } from "#test/worlds/fuzz-world.ts";

function draft({ provider }: FuzzWorld) {
  return {
    kind: "webhook",
    name: "fuzz",
    is_enabled: true,
    events: ["ledger_differs"],
    address: `${provider.url}/hook`,
    secret: `whsec_${Buffer.from("canary-webhook-secret-5a6b7c8d").toString("base64")}`,
  };
}

async function fresh(world: FuzzWorld): Promise<number> {
  const { data, message } = await world.app.call(asRoot, "POST", "/api/alert/target", draft(world));
  if (!data) throw new Error(message);
  return data.id;
}

/** A message that failed. Returns its id. */
async function lost(world: FuzzWorld): Promise<number> {
  const target_id = await fresh(world);
  const told = { event: "test", about: "", level: "info", title: "t", content: "c" } as const;
  const end = { state: "failed", tries: 3, problem: "p", created_at: 1, next_ms: 0, done_at: 1 } as const;
  await insertDeliveries(world.app.ctx.db, [{ target_id, ...told, ...end }]);
  const { data } = await world.app.call(asRoot, "GET", `/api/alert/delivery?target=${target_id}`);
  return data[0].id;
}

/** There is a bound on targets, and the fuzz makes many. */
async function room({ app }: FuzzWorld): Promise<void> {
  const { data } = await app.call(asRoot, "GET", "/api/alert/target");
  for (const { id } of data.slice(20)) await removeAlertTarget(app.ctx.db, id);
}

export const alertRecipes: Readonly<Record<string, Recipe>> = {
  "POST /api/alert/target": async (world) => {
    await room(world);
    return { body: draft(world) };
  },
  "PUT /api/alert/target/:id": async (world) => {
    await room(world);
    return { path: `/api/alert/target/${await fresh(world)}`, body: draft(world) };
  },
  "DELETE /api/alert/target/:id": async (world) => {
    await room(world);
    return { path: `/api/alert/target/${await fresh(world)}` };
  },
  "POST /api/alert/target/:id/test": async (world) => {
    await room(world);
    return { path: `/api/alert/target/${await fresh(world)}/test`, body: {} };
  },
  "POST /api/alert/delivery/:id/retry": async (world) => {
    await room(world);
    return { path: `/api/alert/delivery/${await lost(world)}/retry`, body: {} };
  },
};
