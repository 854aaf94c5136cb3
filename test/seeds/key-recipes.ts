// Calls of the endpoints of tokens' keys that succeed.
import { FORGET_WORDS } from "#contract/token.ts";
import { randomHex } from "#server/secrets.ts";
import type { FuzzWorld, Generation, Recipe } from "#test/worlds/fuzz-world.ts";
import { seedLimit } from "#test/worlds/limits.ts";
import { seedToken } from "./seed.ts";

async function boostOf({ app: { ctx } }: FuzzWorld, tokenId: number): Promise<object> {
  const limit_id = await seedLimit(ctx, { subject: "token", subject_id: tokenId, amount: 1_000_000_000 });
  return { limit_id, amount: 5, until: ctx.clock.seconds() + 60, reason: "fuzz" };
}

export function keyRecipes(
  freshToken: (world: FuzzWorld, people: Generation) => Promise<number>,
): Readonly<Record<string, Recipe>> {
  return {
    "POST /api/token/find": async ({ app }, { alice }) => ({
      body: { key: `sk-${(await seedToken(app.ctx, alice.id)).key}` },
    }),
    "POST /api/token/disable": async (world, people) => ({ body: { id: await freshToken(world, people) } }),
    "POST /api/token/:id/rotate": () => ({ body: { overlap: 60 } }),
    "POST /api/group/rename": async ({ app }) => {
      const from = `group-${randomHex(4)}`;
      await app.ctx.options.set(
        "GroupRatio",
        JSON.stringify({ ...app.ctx.options.get("GroupRatio"), [from]: 1 }),
      );
      return { body: { from, to: `${from}-new` } };
    },
    "POST /api/token/forget": () => ({ body: { confirm: FORGET_WORDS } }),
    "POST /api/user/:id/token/": () => ({
      body: { name: "granted", remain_quota: 5_000, tags: "a,b", metadata: { team: "x" }, shown_once: true },
    }),
    "GET /api/user/:id/token/:token/limit": async (world, people) => ({
      path: `/api/user/${people.alice.id}/token/${await freshToken(world, people)}/limit`,
    }),
    "PUT /api/user/:id/token/:token/limit": async (world, people) => ({
      path: `/api/user/${people.alice.id}/token/${await freshToken(world, people)}/limit`,
      body: { limits: [{ kind: "rpm", amount: 900 }] },
    }),
    "PUT /api/user/:id/token/:token/limit/boost": async (world, people) => {
      const token = await freshToken(world, people);
      const path = `/api/user/${people.alice.id}/token/${token}/limit/boost`;
      return { path, body: await boostOf(world, token) };
    },
    "PUT /api/token/:id/limit/boost": async (world, people) => {
      const token = await freshToken(world, people);
      return { path: `/api/token/${token}/limit/boost`, body: await boostOf(world, token) };
    },
  };
}
