// Calls of the endpoints of receipts and statements that succeed: the month that runs is there as soon as something is booked.
import { monthOf } from "#contract/month.ts";
import type { FuzzWorld, Recipe } from "#test/worlds/fuzz-world.ts";
import { type SeededUser, seedToken } from "./seed.ts";

export const statementRecipes = (
  freshUser: (world: FuzzWorld) => Promise<SeededUser>,
  freshName: () => string,
): Readonly<Record<string, Recipe>> => ({
  "GET /api/log/receipt/:request_id": async (world) => {
    const { ctx } = world.app;
    const { id: userId, who } = await freshUser(world);
    const { id: tokenId } = await seedToken(ctx, userId);
    const requestId = freshName();
    await ctx.ledger.reserve({ requestId, userId, tokenId, amount: 1n, modelName: "gpt-4" });
    return { path: `/api/log/receipt/${requestId}`, headers: who };
  },
  "GET /api/statement/:month": async (world) => ({
    path: `/api/statement/${monthOf(world.app.ctx.clock.seconds())}`,
    headers: (await freshUser(world)).who,
  }),
});
