// Handlers: redemption codes (requirements W3.8). They are made, disabled and deleted here; used up only by the ledger.
import {
  type Redemption,
  type RedemptionDraft,
  RedemptionStatus,
  type RedemptionUpdate,
  type redemptionApi,
} from "#contract/redemption.ts";
import type { Actor } from "#server/accounts/actors.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { openKey, randomHex } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import { isTaken } from "#server/store/fault.ts";
import {
  countRedemptions,
  findRedemption,
  insertRedemptions,
  listBatch,
  listRedemptions,
  type NewRedemption,
  type RedemptionRow,
  removeRedemption,
  setRedemptionStatus,
  updateRedemption,
} from "#server/store/redemptions.ts";
import { audit } from "./audit-log.ts";
import type { Call, Handlers } from "./call.ts";
import { madeOf, totalBeside } from "./list-query.ts";
import { sortedPage } from "./page.ts";
import { mintOf, tellMint } from "./raises.ts";

/** What a code is sealed for. */
const SEAL = "redemptions.key";
/** Hex characters of a code: 128 bits (requirements M09). */
const KEY_CHARS = 32;

export const redemption: Handlers<{ redemption: typeof redemptionApi }>["redemption"] = {
  list: (ctx, call) => showPage(ctx, call, ""),

  search: (ctx, call) => showPage(ctx, call, call.query.keyword),

  async get(ctx, call) {
    const row = await getRedemption(ctx.db, call.params.id);
    const shown = await ctx.reveals.open(call, "redemption", [row.id]);
    return present(ctx, row, shown);
  },

  async create(ctx, call) {
    const { actor, body, idempotencyKey } = call;
    const made = idempotencyKey === undefined ? [] : await openBatch(ctx, idempotencyKey);
    if (made.length > 0) return made;
    const keys = Array.from({ length: body.count }, () => randomHex(KEY_CHARS));
    const rows = newRows(ctx, keys, { actor, draft: body, batch: idempotencyKey ?? "" });
    const { name, quota, price_minor, count } = body;
    const mint = await mintOf(ctx, call, { delta: BigInt(quota) * BigInt(count) });
    try {
      await ctx.db.transaction().execute(async (tx) => {
        await insertRedemptions(tx, rows);
        const detail = { ...mint, quota, price_minor, count };
        await audit(ctx, tx, call, { action: "redemption.create", target: name, detail });
      });
    } catch (error) {
      // The same call came twice at once: the other one made the codes.
      if (idempotencyKey === undefined || !isTaken(error)) throw error;
      return openBatch(ctx, idempotencyKey);
    }
    tellMint(ctx, call, { ...mint, name });
    return keys;
  },

  async update(ctx, call) {
    const { query, body } = call;
    const current = await getRedemption(ctx.db, body.id);
    const isToggle = query.status_only !== "";
    const more = isToggle ? 0n : BigInt(body.quota ?? current.quota) - BigInt(current.quota);
    const mint = await mintOf(ctx, call, { delta: more });
    await ctx.db.transaction().execute(async (tx) => {
      const detail = isToggle ? await toggle(tx, current, body.status) : await edit(tx, current, body);
      await audit(ctx, tx, call, {
        action: "redemption.update",
        target: current.id,
        detail: { ...mint, ...detail },
        before: current,
      });
    });
    tellMint(ctx, call, { ...mint, name: body.name ?? current.name });
    return present(ctx, await getRedemption(ctx.db, current.id), new Set([current.id]));
  },

  async remove(ctx, call) {
    const { id } = call.params;
    await ctx.db.transaction().execute(async (tx) => {
      if (!(await removeRedemption(tx, id, ctx.clock.seconds()))) throw notFound();
      await audit(ctx, tx, call, { action: "redemption.delete", target: id });
    });
    return null;
  },
};

function notFound() {
  return faults.notFound("找不到该兑换码");
}

/** A page of codes; opening them is counted and logged. */
async function showPage(
  ctx: Context,
  call: Call<typeof redemptionApi.list | typeof redemptionApi.search>,
  keyword: string,
) {
  const { query } = call;
  const filter = { keyword, status: query.status, usedUserId: query.used_user_id, ...madeOf(query) };
  const rows = await listRedemptions(ctx.db, { ...filter, ...sortedPage(query) });
  const ids = rows.map((row) => row.id);
  // A file has no codes: nothing is opened for it.
  const shown = query.export ? new Set<number>() : await ctx.reveals.open(call, "redemption", ids);
  return {
    data: rows.map((row) => present(ctx, row, shown)),
    ...(await totalBeside(query, () => countRedemptions(ctx.db, filter))),
  };
}

/** A code as administrators see it, opened for "copy" when it is among those that may be shown (requirements J7). */
function present(ctx: Context, row: RedemptionRow, shown: ReadonlySet<number>): Redemption {
  return { ...row, key: shown.has(row.id) ? openKey(ctx.secrets, row, SEAL) : "", count: 0 };
}

async function getRedemption(db: Db, id: number): Promise<RedemptionRow> {
  const row = await findRedemption(db, id);
  if (!row) throw notFound();
  return row;
}

/** The codes of a batch that was made before; deleted ones cannot be read any more. */
async function openBatch(ctx: Context, batch: string): Promise<string[]> {
  const rows = await listBatch(ctx.db, batch);
  return rows.filter((row) => row.key_sealed !== "").map((row) => openKey(ctx.secrets, row, SEAL));
}

function newRows(
  ctx: Context,
  keys: readonly string[],
  { actor, draft, batch }: { actor: Actor; draft: RedemptionDraft; batch: string },
): NewRedemption[] {
  return keys.map((key, index) => ({
    user_id: actor.id,
    key_hash: ctx.secrets.hash(key),
    key_sealed: ctx.secrets.seal(key, SEAL),
    status: RedemptionStatus.unused,
    name: draft.name,
    quota: draft.quota,
    price_minor: draft.price_minor,
    created_time: ctx.clock.seconds(),
    batch,
    batch_index: index,
  }));
}

/** Enables or disables a code. Throws: AppError when it is used (requirements M08). */
async function toggle(tx: Db, { id }: RedemptionRow, status: number | undefined) {
  if (status !== RedemptionStatus.unused && status !== RedemptionStatus.disabled) throw faults.invalid();
  if (!(await setRedemptionStatus(tx, id, status))) throw faults.refused("已使用的兑换码不能修改状态");
  return { status };
}

/** Changes name, quota and price. Throws: AppError when the quota or price of a used code would change. */
async function edit(tx: Db, current: RedemptionRow, body: RedemptionUpdate) {
  const { name = current.name, quota = current.quota, price_minor = current.price_minor } = body;
  const change = { name, quota, price_minor };
  if (!(await updateRedemption(tx, current.id, change)))
    throw faults.refused("已使用的兑换码不能修改额度与售价");
  return change;
}
