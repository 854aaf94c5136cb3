// Handlers: the caller's own tokens (contract 3.7).
import {
  type Token,
  type TokenDraft,
  TokenStatus,
  type TokenUpdate,
  type tokenApi,
} from "#contract/token.ts";
import type { Actor } from "#server/accounts/actors.ts";
import { isCidr } from "#server/accounts/address.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { newTokenKey, openKey } from "#server/secrets.ts";
import {
  countTokens,
  findToken,
  insertToken,
  listTokens,
  removeToken,
  type TokenChange,
  type TokenRow,
  updateToken,
} from "#server/store/tokens.ts";
import type { Handlers } from "./call.ts";
import { sortedPage } from "./page.ts";

export const token: Handlers<{ token: typeof tokenApi }>["token"] = {
  async list(ctx, { actor, query }) {
    const rows = await listTokens(ctx.db, { userId: actor.id, ...sortedPage(query) });
    return {
      data: rows.map((row) => present(ctx, row)),
      total: await countTokens(ctx.db, { userId: actor.id }),
    };
  },

  async search(ctx, { actor, query }) {
    const filter = { userId: actor.id, prefix: query.keyword };
    const rows = await listTokens(ctx.db, { ...filter, ...sortedPage(query) });
    return { data: rows.map((row) => present(ctx, row)), total: await countTokens(ctx.db, filter) };
  },

  async get(ctx, { actor, params }) {
    return present(ctx, await getOwn(ctx, params.id, actor));
  },

  async create(ctx, { actor, body }) {
    refuseSubnet(body.subnet);
    const key = newTokenKey();
    const nowSec = ctx.clock.seconds();
    const id = await insertToken(ctx.db, {
      user_id: actor.id,
      key_hash: ctx.secrets.hash(key),
      key_sealed: ctx.secrets.seal(key, "tokens.key"),
      status: TokenStatus.enabled,
      name: body.name,
      created_time: nowSec,
      accessed_time: nowSec,
      expired_time: body.expired_time,
      unlimited_quota: Number(body.unlimited_quota),
      models: body.models ?? "",
      subnet: body.subnet ?? "",
    });
    await setQuota(ctx, actor, id, body.remain_quota);
    return present(ctx, await getOwn(ctx, id, actor));
  },

  async update(ctx, { actor, query, body }) {
    const current = await getOwn(ctx, body.id, actor);
    const isToggle = query.status_only !== "";
    const change = isToggle ? toggle(ctx, current, body.status) : edit(ctx, current, body);
    await updateToken(ctx.db, { id: current.id, userId: actor.id, change });
    // After the fields: whether a balance exhausts the token depends on whether it is unlimited now.
    const quota = isToggle ? undefined : body.remain_quota;
    if (quota !== undefined && quota !== current.remain_quota) await setQuota(ctx, actor, current.id, quota);
    await ctx.coord.publish("tokens", String(current.id));
    return present(ctx, await getOwn(ctx, current.id, actor));
  },

  async remove(ctx, { actor, params }) {
    const isGone = await removeToken(ctx.db, { id: params.id, userId: actor.id, now: ctx.clock.seconds() });
    if (!isGone) throw faults.notFound("找不到该令牌");
    await ctx.coord.publish("tokens", String(params.id));
    return null;
  },
};

/** The row as its owner sees it, with the key opened for "copy". */
function present(ctx: Context, row: TokenRow): Token {
  return {
    ...row,
    key: openKey(ctx.secrets, row, "tokens.key"),
    unlimited_quota: row.unlimited_quota === 1,
    models: row.models === "" ? null : row.models,
  };
}

async function getOwn(ctx: Context, id: number, actor: Actor): Promise<TokenRow> {
  const row = await findToken(ctx.db, id, actor.id);
  if (!row) throw faults.notFound("找不到该令牌");
  return row;
}

/** Balances change in the ledger only: the amount asked for becomes a delta there (design 1.3 #10). */
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

/** Enabling or disabling by hand; refused while there is a reason not to be enabled (contract 3.7). */
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
    remain_quota: body.remain_quota ?? row.remain_quota,
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

function refuseSubnet(subnet: TokenDraft["subnet"]): void {
  const parts = (subnet ?? "").split(",").filter((part) => part.trim() !== "");
  if (!parts.every(isCidr)) throw faults.invalid("IP 限制须为以逗号分隔的 IP 或 CIDR");
}
