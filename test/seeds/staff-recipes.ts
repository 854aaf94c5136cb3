// Calls that succeed on the endpoints of permission sets.
import { insertStaffSet } from "#server/store/staff.ts";
import { asRoot } from "#test/worlds/app.ts";
import type { FuzzWorld, Recipe } from "#test/worlds/fuzz-world.ts";
import { seedUser } from "./seed.ts";

let serial = 0;

function draft() {
  serial += 1;
  return { name: `fuzz ${serial}`, permissions: ["user.read"] };
}

function fresh({ app: { ctx } }: FuzzWorld): Promise<number> {
  return insertStaffSet(ctx.db, { name: draft().name, permissions: "user.read" }, 1);
}

const machine = () => ({ ...draft(), days: 30 });

export const staffRecipes: Readonly<Record<string, Recipe>> = {
  "POST /api/staff/set": () => ({ body: draft() }),
  "PUT /api/staff/set/:id": async (world) => ({
    path: `/api/staff/set/${await fresh(world)}`,
    body: draft(),
  }),
  "DELETE /api/staff/set/:id": async (world) => ({ path: `/api/staff/set/${await fresh(world)}` }),
  "GET /api/service_account/": () => ({}),
  "POST /api/service_account/": () => ({ body: machine() }),
  "DELETE /api/service_account/:id": async ({ app }) => {
    const { data } = await app.call(asRoot, "POST", "/api/service_account/", machine());
    return { path: `/api/service_account/${data.id}`, headers: asRoot };
  },
  // Of a session: there is none to look with an access token.
  "POST /api/user/:id/view": async ({ app: { ctx } }, { alice }) => ({
    path: `/api/user/${alice.id}/view`,
    headers: { cookie: `session=${await ctx.sessions.start(1, {}, {})}` },
  }),
  "PUT /api/staff/user/:id": async (world) => {
    serial += 1;
    const { id } = await seedUser(world.app.ctx, `staff_${serial}`, { role: 10 });
    return { path: `/api/staff/user/${id}`, body: { staff_set_id: await fresh(world) } };
  },
};
