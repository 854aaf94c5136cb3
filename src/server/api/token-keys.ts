// Keys of tokens after they were made: another one with an overlap (requirements K12), and no way back to any (requirements K11).
import type { Token, tokenApi } from "#contract/token.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { openKey } from "#server/secrets.ts";
import { rotateKey } from "#server/store/old-keys.ts";
import { forgetKey, listSealedTokens } from "#server/store/tokens.ts";
import { audit } from "./audit-log.ts";
import type { Call } from "./call.ts";
import { reachToken, teamsOf } from "./token-reach.ts";
import { hintOf, isOnceForced, makeKey, present } from "./token-rows.ts";

/** Gives the actor's token another key; quota, limits and logs go on. Throws: when there is none, or another rotation was faster. */
export async function rotate(ctx: Context, call: Call<typeof tokenApi.rotate>): Promise<Token> {
  const { actor, params, body } = call;
  const { row: token, team } = await reachToken(ctx, actor, params.id);
  if (token.user_id !== actor.id) throw faults.refused("只有持有人可以轮换密钥");
  const { key, stored } = makeKey(ctx, token.key_sealed === "" || isOnceForced(ctx));
  const now = ctx.clock.seconds();
  await ctx.db.transaction().execute(async (tx) => {
    const isDone = await rotateKey(tx, { token, key: stored, now, until: now + body.overlap });
    if (!isDone) throw justRotated();
    const detail = { name: token.name, overlap: body.overlap };
    await audit(ctx, tx, call, {
      action: "token.rotate",
      target: token.id,
      detail,
      teams: teamsOf({ team }),
    });
  });
  await ctx.coord.publish("tokens", String(token.id));
  const { row } = await reachToken(ctx, actor, token.id);
  const [shown] = await present(ctx, [row], () => key, team);
  if (!shown) throw faults.notFound("找不到该令牌");
  return shown;
}

/** The key that was read is no longer the token's. */
export function justRotated() {
  return faults.refused("该令牌的密钥刚刚被轮换，请刷新后重试");
}

/** So many keys in one transaction: others write in between. */
const SLICE = 200;

/** Deletes what opens the keys of all living tokens. Returns how many; one that cannot be opened loses its hint only. */
export async function forgetAll(ctx: Context, call: Call<typeof tokenApi.forgetAll>): Promise<number> {
  let count = 0;
  let after = 0;
  for (;;) {
    const rows = await listSealedTokens(ctx.db, after, SLICE);
    const last = rows.at(-1);
    if (last === undefined) break;
    await ctx.db.transaction().execute(async (tx) => {
      for (const row of rows) await forgetKey(tx, { ...row, key_hint: hintOfRow(ctx, row) });
    });
    after = last.id;
    count += rows.length;
  }
  await ctx.db.transaction().execute(async (tx) => {
    await audit(ctx, tx, call, { action: "token.forget", target: 0, detail: { count } });
  });
  return count;
}

function hintOfRow(ctx: Context, row: { readonly key_hash: string; readonly key_sealed: string }): string {
  try {
    return hintOf(openKey(ctx.secrets, row, "tokens.key"));
  } catch {
    // Its owner could not have read it either.
    return "";
  }
}
