// Calls of the endpoints of a channel's keys and rules that succeed.
import { addKeys, listSealedKeys, newKey } from "#server/store/channel-keys.ts";
import { insertLog } from "#server/store/logs.ts";
import { saveModelList } from "#server/store/model-lists.ts";
import { NO_CALL } from "#server/store/no-call.ts";
import type { FuzzWorld, Recipe } from "#test/worlds/fuzz-world.ts";

export function channelKeyRecipes(
  freshChannel: (world: FuzzWorld) => Promise<number>,
  freshName: () => string,
): Readonly<Record<string, Recipe>> {
  /** A channel with two keys. */
  async function freshKeys(world: FuzzWorld): Promise<{ id: number; keys: number[] }> {
    const { ctx } = world.app;
    const id = await freshChannel(world);
    const key = `sk-canary-${freshName()}`;
    const sealed = { key_hash: ctx.secrets.hash(key), key_sealed: ctx.secrets.seal(key, "channels.key") };
    const now = ctx.clock.seconds();
    await ctx.db.transaction().execute((tx) => addKeys(tx, id, [{ ...newKey(now), ...sealed }], now));
    await ctx.coord.publish("channels", "");
    await ctx.candidates.pending;
    return { id, keys: (await listSealedKeys(ctx.db, id)).map((row) => row.id) };
  }

  return {
    "POST /api/channel/rewrite/preview": () => ({
      body: {
        type: 1,
        rewrite: { v: 1, rules: [{ id: "r", do: [{ op: "set", path: "/user", value: "u" }] }] },
        format: "chat",
        body: '{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}',
      },
    }),
    "GET /api/route/call/:id": async ({ app }) => ({
      path: `/api/route/call/${await insertLog(app.ctx.db, { ...NO_CALL, user_id: 1, username: "root", content: "", type: 2, model_name: "gpt-4o", created_at: 1 })}`,
    }),
    "GET /api/route/keys/:id": async (world) => ({
      path: `/api/route/keys/${(await freshKeys(world)).id}?model=gpt-4o`,
    }),
    "GET /api/route/explain": () => ({ path: "/api/route/explain?model=gpt-4o" }),
    "POST /api/channel/:id/upstream_models/check": async (world) => ({
      path: `/api/channel/${await freshChannel(world)}/upstream_models/check`,
      body: {},
    }),
    "POST /api/channel/:id/upstream_models/apply": async (world) => {
      const id = await freshChannel(world);
      const { db } = world.app.ctx;
      const { type, base_url, other } = await db
        .selectFrom("channels")
        .selectAll()
        .where("id", "=", id)
        .executeTakeFirstOrThrow();
      const source = `${type} ${base_url} ${other}`;
      const lists = { known: "[]", fresh: '["gpt-4o-new"]', gone: "[]" };
      await saveModelList(db, { channel_id: id, source, checked_time: 1, total: 1, problem: "", ...lists });
      return { path: `/api/channel/${id}/upstream_models/apply`, body: { ignore: ["gpt-4o-new"] } };
    },
    "POST /api/channel/:id/keys/preview": () => ({ body: { text: `sk-canary-${freshName()}` } }),
    "POST /api/channel/:id/keys": () => ({ body: { text: `sk-canary-${freshName()}` } }),
    "PUT /api/channel/:id/keys": async (world) => {
      const { id, keys } = await freshKeys(world);
      return { path: `/api/channel/${id}/keys`, body: { ids: keys, weight: 3 } };
    },
    "POST /api/channel/:id/keys/delete": async (world) => {
      const { id, keys } = await freshKeys(world);
      return { path: `/api/channel/${id}/keys/delete`, body: { ids: keys.slice(1) } };
    },
    "POST /api/channel/:id/keys/test": async (world) => {
      const { id, keys } = await freshKeys(world);
      return { path: `/api/channel/${id}/keys/test`, body: { key_id: keys[0] } };
    },
    "POST /api/channel/:id/keys/test_all": async (world) => {
      const { id } = await freshKeys(world);
      return { path: `/api/channel/${id}/keys/test_all`, body: { scope: "disabled" } };
    },
    "POST /api/channel/:id/keys/balance": async (world) => {
      const { id, keys } = await freshKeys(world);
      return { path: `/api/channel/${id}/keys/balance`, body: { key_id: keys[0] } };
    },
    "POST /api/channel/:id/keys/balance_all": async (world) => {
      const { id } = await freshKeys(world);
      return { path: `/api/channel/${id}/keys/balance_all` };
    },
    "POST /api/channel/:id/keys/export": async (world) => {
      await world.app.ctx.options.set("ChannelKeyExportEnabled", "true");
      const { id } = await freshKeys(world);
      return { path: `/api/channel/${id}/keys/export` };
    },
  };
}
