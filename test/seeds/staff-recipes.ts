// Calls that succeed on the endpoints of permission sets.
import { insertStaffSet } from "#server/store/staff.ts";
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

export const staffRecipes: Readonly<Record<string, Recipe>> = {
  "POST /api/staff/set": () => ({ body: draft() }),
  "PUT /api/staff/set/:id": async (world) => ({
    path: `/api/staff/set/${await fresh(world)}`,
    body: draft(),
  }),
  "DELETE /api/staff/set/:id": async (world) => ({ path: `/api/staff/set/${await fresh(world)}` }),
  "PUT /api/staff/user/:id": async (world) => {
    serial += 1;
    const { id } = await seedUser(world.app.ctx, `staff_${serial}`, { role: 10 });
    return { path: `/api/staff/user/${id}`, body: { staff_set_id: await fresh(world) } };
  },
};
