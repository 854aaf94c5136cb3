// Handlers: the user's own tokens (requirements W3.7).
import {
  type Token,
  type TokenDraft,
  TokenStatus,
  type TokenUpdate,
  type tokenApi,
} from "#contract/token.ts";
import type { Actor } from "#server/accounts/actors.ts";
import { isCidr } from "#server/address.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { newTokenKey, openKey } from "#server/secrets.ts";
import {
  countTokens,
  findToken,
  insertToken,
  listTokens,
  type NewToken,
  removeToken,
  type TokenChange,
  type TokenRow,
  updateToken,
} from "#server/store/tokens.ts";
import { audit } from "./audit-log.ts";
import type { Call, Handlers } from "./call.ts";
import { sortedPage } from "./page.ts";

export const token: Handlers<{ token: typeof tokenApi }>["token"] = {
  list: (ctx, call) => showPage(ctx, call, ""),

  search: (ctx, call) => showPage(ctx, call, call.query.keyword),

  async get(ctx, call) {
    const row = await getOwn(ctx, call.params.id, call.actor);
    const shown = await ctx.reveals.open(call, "token", [row.id]);
    return present(ctx, row, shown);
  },

  async create(ctx, call) {
    const { actor, body } = call;
    refuseSubnet(body.subnet);
    const key = newTokenKey();
    const id = await ctx.db.transaction().execute(async (tx) => {
      const made = await insertToken(tx, newRow(ctx, actor, body, key));
      const { name, remain_quota, unlimited_quota, expired_time } = body;
      const detail = { name, remain_quota, unlimited_quota, expired_time };
      await audit(ctx, tx, call, { action: "token.create", target: made, detail });
      return made;
    });
    await setQuota(ctx, actor, id, body.remain_quota);
    return present(ctx, await getOwn(ctx, id, actor), new Set([id]));
  },

  async createMany(ctx, call) {
    const { actor, body } = call;
    refuseSubnet(body.subnet);
    const names = Array.from({ length: body.count }, (_, index) => `${body.name}-${index + 1}`);
    const ids = await ctx.db.transaction().execute(async (tx) => {
      const made: number[] = [];
      for (const name of names)
        made.push(await insertToken(tx, newRow(ctx, actor, { ...body, name }, newTokenKey())));
      const { name, count, remain_quota, unlimited_quota, expired_time } = body;
      const detail = { name, count, remain_quota, unlimited_quota, expired_time };
      await audit(ctx, tx, call, { action: "token.create", target: made.join(","), detail });
      return made;
    });
    const shown = new Set(ids);
    const tokens: Token[] = [];
    for (const id of ids) {
      await setQuota(ctx, actor, id, body.remain_quota);
      tokens.push(present(ctx, await getOwn(ctx, id, actor), shown));
    }
    return tokens;
  },

  async update(ctx, call) {
    const { actor, query, body } = call;
    const current = await getOwn(ctx, body.id, actor);
    const isToggle = query.status_only !== "";
    const change = isToggle ? toggle(ctx, current, body.status) : edit(ctx, current, body);
    // After the fields: whether a balance exhausts the token depends on whether it is unlimited now.
    const quota = isToggle ? undefined : changedQuota(current, body);
    await ctx.db.transaction().execute(async (tx) => {
      const isThere = await updateToken(tx, { id: current.id, userId: actor.id, change });
      if (!isThere) throw faults.notFound("找不到该令牌");
      const detail = quota === undefined ? change : { ...change, remain_quota: quota };
      await audit(ctx, tx, call, { action: "token.update", target: current.id, detail });
    });
    if (quota !== undefined) await setQuota(ctx, actor, current.id, quota);
    await ctx.coord.publish("tokens", String(current.id));
    return present(ctx, await getOwn(ctx, current.id, actor), new Set([current.id]));
  },

  async remove(ctx, call) {
    const { actor, params } = call;
    await ctx.db.transaction().execute(async (tx) => {
      const isGone = await removeToken(tx, { id: params.id, userId: actor.id, now: ctx.clock.seconds() });
      if (!isGone) throw faults.notFound("找不到该令牌");
      await audit(ctx, tx, call, { action: "token.delete", target: params.id });
    });
    await ctx.coord.publish("tokens", String(params.id));
    return null;
  },
};

const DOWNWARDS = ["remain_quota", "used_quota"];

/** A page of the user's tokens; opening their keys is counted and logged. */
async function showPage(
  ctx: Context,
  call: Call<typeof tokenApi.list | typeof tokenApi.search>,
  prefix: string,
) {
  const filter = { userId: call.actor.id, prefix };
  const rows = await listTokens(ctx.db, { ...filter, ...sortedPage(call.query, DOWNWARDS) });
  const shown = await ctx.reveals.open(
    call,
    "token",
    rows.map((row) => row.id),
  );
  return { data: rows.map((row) => present(ctx, row, shown)), total: await countTokens(ctx.db, filter) };
}

function newRow(ctx: Context, actor: Actor, draft: TokenDraft, key: string): NewToken {
  const nowSec = ctx.clock.seconds();
  return {
    user_id: actor.id,
    key_hash: ctx.secrets.hash(key),
    key_sealed: ctx.secrets.seal(key, "tokens.key"),
    status: TokenStatus.enabled,
    name: draft.name,
    created_time: nowSec,
    accessed_time: nowSec,
    expired_time: draft.expired_time,
    unlimited_quota: Number(draft.unlimited_quota),
    models: draft.models ?? "",
    subnet: draft.subnet ?? "",
  };
}

/**
 * The row as its owner sees it, with the key opened for "copy" when it is among those that may be shown. It may have expired since it
 * was written.
 */
function present(ctx: Context, row: TokenRow, shown: ReadonlySet<number>): Token {
  const unlimited_quota = row.unlimited_quota === 1;
  const isEnded = row.status !== TokenStatus.disabled && isExpired(ctx, { ...row, unlimited_quota });
  return {
    ...row,
    status: isEnded ? TokenStatus.expired : row.status,
    key: shown.has(row.id) ? openKey(ctx.secrets, row, "tokens.key") : "",
    unlimited_quota,
  };
}

async function getOwn(ctx: Context, id: number, actor: Actor): Promise<TokenRow> {
  const row = await findToken(ctx.db, id, actor.id);
  if (!row) throw faults.notFound("找不到该令牌");
  return row;
}

/** Balances change in the ledger only: the requested amount becomes a delta there (requirements J10). */
async function setQuota(ctx: Context, actor: Actor, tokenId: number, quota: number): Promise<void> {
  const { outcome } = await ctx.ledger.adjust({
    userId: actor.id,
    tokenId,
    kind: "token-adjust",
    quota: { target: BigInt(quota) },
    actorId: actor.id,
    reason: "修改令牌额度",
  });
  if (outcome === "not_found") throw faults.notFound("找不到该令牌");
  if (outcome !== "done") throw faults.refused("额度超出范围", outcome);
}

type Life = Pick<Token, "expired_time" | "remain_quota" | "unlimited_quota">;

function isExpired(ctx: Context, { expired_time }: Life): boolean {
  return expired_time !== -1 && expired_time <= ctx.clock.seconds();
}

function isExhausted({ remain_quota, unlimited_quota }: Life): boolean {
  return !unlimited_quota && remain_quota <= 0;
}

/** Enabling or disabling by hand; refused while there is a reason not to be enabled (requirements W3.7). */
function toggle(ctx: Context, row: TokenRow, status: number | undefined): TokenChange {
  if (status !== TokenStatus.enabled && status !== TokenStatus.disabled) throw faults.invalid();
  const life = { ...row, unlimited_quota: row.unlimited_quota === 1 };
  if (status === TokenStatus.enabled && isExpired(ctx, life))
    throw faults.refused("令牌已到期，请先修改有效期");
  if (status === TokenStatus.enabled && isExhausted(life))
    throw faults.refused("令牌额度已用完，请先增加额度");
  return { status };
}

/** The fields of the form; a token that had expired or run out is enabled again when the edit removes the cause. */
function edit(ctx: Context, row: TokenRow, body: TokenUpdate): TokenChange {
  refuseSubnet(body.subnet);
  const life = {
    expired_time: body.expired_time ?? row.expired_time,
    remain_quota: changedQuota(row, body) ?? row.remain_quota,
    unlimited_quota: body.unlimited_quota ?? row.unlimited_quota === 1,
  };
  const wasStopped = row.status === TokenStatus.expired || row.status === TokenStatus.exhausted;
  const isUsable = !isExpired(ctx, life) && !isExhausted(life);
  return {
    expired_time: life.expired_time,
    unlimited_quota: Number(life.unlimited_quota),
    ...(body.name === undefined ? {} : { name: body.name }),
    ...(body.models === undefined ? {} : { models: body.models ?? "" }),
    ...(body.subnet === undefined ? {} : { subnet: body.subnet }),
    ...(wasStopped && isUsable ? { status: TokenStatus.enabled } : {}),
  };
}

/** The new balance; undefined = unchanged. Calls may have spent some since the form was opened (requirements W3.7). */
function changedQuota(row: TokenRow, body: TokenUpdate): number | undefined {
  const isKept = body.remain_quota === row.remain_quota || body.remain_quota === body.original_remain_quota;
  return isKept ? undefined : body.remain_quota;
}

function refuseSubnet(subnet: TokenDraft["subnet"]): void {
  const parts = (subnet ?? "").split(",").filter((part) => part.trim() !== "");
  if (!parts.every(isCidr)) throw faults.invalid("IP 限制须为以逗号分隔的 IP 或 CIDR");
}
