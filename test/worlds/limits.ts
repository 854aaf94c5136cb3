// Limits for tests of calls: stored as the management API stores them, and told to all caches.
import type { Context } from "#server/context.ts";
import { insertLimit, type NewLimit } from "#server/store/limits.ts";

/** A limit's row; by default of quota in all, for everybody. */
export function newLimit(change: Partial<NewLimit> = {}): NewLimit {
  return {
    subject: "all",
    subject_id: 0,
    subject_name: "",
    model_pattern: "",
    kind: "quota",
    amount: 0,
    time_window: "total",
    anchor: 1,
    mode: "hard",
    created_at: 1_800_000_000,
    ...change,
  };
}

/** Sets a limit; by default quota in all for everybody. Returns its id. */
export async function seedLimit(
  ctx: Pick<Context, "db" | "coord" | "clock">,
  change: Partial<NewLimit>,
): Promise<number> {
  const id = await insertLimit(ctx.db, newLimit({ created_at: ctx.clock.seconds(), ...change }));
  await ctx.coord.publish("users", "");
  return id;
}

/** Removes all limits. */
export async function dropLimits(ctx: Pick<Context, "db" | "coord">): Promise<void> {
  await ctx.db.updateTable("limits").set({ deleted_at: 1 }).execute();
  await ctx.coord.publish("users", "");
}
