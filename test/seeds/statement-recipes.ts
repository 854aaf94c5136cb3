// Calls of the endpoints of receipts and statements that succeed: the month that runs is there as soon as something is booked.
import { monthOf } from "#contract/month.ts";
import type { FuzzWorld, Recipe } from "#test/worlds/fuzz-world.ts";
import { type SeededUser, seedToken } from "./seed.ts";

function monthNow({ app }: FuzzWorld): string {
  return monthOf(app.ctx.clock.seconds());
}

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
    path: `/api/statement/${monthNow(world)}`,
    headers: (await freshUser(world)).who,
  }),
  "GET /api/statement/:month/pdf": async (world) => ({
    path: `/api/statement/${monthNow(world)}/pdf`,
    headers: (await freshUser(world)).who,
  }),
  "GET /api/user/:id/statement": async (world) => ({
    path: `/api/user/${(await freshUser(world)).id}/statement`,
  }),
  "GET /api/user/:id/statement/:month": async (world) => ({
    path: `/api/user/${(await freshUser(world)).id}/statement/${monthNow(world)}`,
  }),
  "GET /api/user/:id/statement/:month/pdf": async (world) => ({
    path: `/api/user/${(await freshUser(world)).id}/statement/${monthNow(world)}/pdf`,
  }),
});
