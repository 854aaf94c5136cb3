// Calls of the endpoints of tasks that succeed: each cancels one of its own.
import type { FuzzWorld, Recipe } from "#test/worlds/fuzz-world.ts";
import { seedTask } from "./task.ts";

export function taskRecipes(
  freshChannel: (world: FuzzWorld) => Promise<number>,
): Readonly<Record<string, Recipe>> {
  return {
    "POST /api/task/self/:id/cancel": async (world, { alice }) => {
      const owner = { user_id: alice.id, channel_id: await freshChannel(world) };
      return { path: `/api/task/self/${await seedTask(world.app.ctx, owner)}/cancel` };
    },
    "POST /api/task/:id/cancel": async (world, { alice }) => {
      const owner = { user_id: alice.id, channel_id: await freshChannel(world) };
      return { path: `/api/task/${await seedTask(world.app.ctx, owner)}/cancel` };
    },
  };
}
