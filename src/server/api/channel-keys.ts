// Handlers: the keys of channels that have several (requirements C29). Keys go in and never come out.
import type { z } from "zod";
import { ChannelStatus } from "#contract/channel.ts";
import type { ChannelKey, channelKeyApi } from "#contract/channel-key.ts";
import { type ChannelLimitsChange, NO_CHANNEL_LIMITS, type StoredTimes } from "#contract/channel-limits.ts";
import { areKeysAsked } from "#server/channels/key-balances.ts";
import { openChannelKey } from "#server/channels/key-rings.ts";
import { areKeysTested } from "#server/channels/key-test-run.ts";
import { areKeysProbed } from "#server/channels/probe-times.ts";
import { editedProxy, openProxy, sealProxy, showProxy } from "#server/channels/proxies.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import {
  countKeyReasons,
  countKeys,
  findKeyIds,
  type KeyReasonRow,
  keyUsage,
  listKeys,
} from "#server/store/channel-key-lists.ts";
import {
  addKeys,
  changeKeys,
  listSealedKeys,
  ownKeyIds,
  removeKeys,
  type SealedKeyRow,
} from "#server/store/channel-keys.ts";
import { findChannelLimits, setChannelLimits } from "#server/store/channel-limits.ts";
import type { Db } from "#server/store/db.ts";
import { audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { channelKeyRuns, findKey, getChannel } from "./channel-key-runs.ts";
import { checkCount, readKeys } from "./channel-key-text.ts";
import { sortedPage } from "./page.ts";

export const channelKey: Handlers<{ channelKey: typeof channelKeyApi }>["channelKey"] = {
  async list(ctx, { params, query }) {
    const { id } = params;
    await getChannel(ctx, id);
    const filter = { status: query.status, keyword: query.keyword };
    // One after the other these would take a page of ten thousand keys the time of six answers of the database (requirements C24).
    const [rows, reasons, found, testing, asking] = await Promise.all([
      listKeys(ctx.db, id, { ...filter, ...sortedPage(query) }),
      countKeyReasons(ctx.db, id),
      filter.keyword === "" ? undefined : countKeys(ctx.db, id, filter),
      areKeysTested(ctx, id),
      areKeysAsked(ctx, id),
    ]);
    const ids = rows.map((row) => row.id);
    const [usage, limits] = await Promise.all([
      keyUsage(ctx.db, ids),
      findChannelLimits(ctx.db, "channel_key", ids),
    ]);
    const inState = (status: number) => countOf(reasons.filter((row) => row.status === status));
    return {
      data: rows.map((row) => ({
        ...present(ctx, row, usage.get(row.id)),
        limits: limits.get(row.id) ?? NO_CHANNEL_LIMITS,
      })),
      total: found ?? (filter.status === 0 ? countOf(reasons) : inState(filter.status)),
      enabled: inState(ChannelStatus.enabled),
      disabled: inState(ChannelStatus.disabled),
      auto_disabled: inState(ChannelStatus.autoDisabled),
      reasons: reasons.filter(({ status }) => status !== ChannelStatus.enabled).slice(0, MOST_REASONS),
      testing,
      asking,
    };
  },

  async preview(ctx, { params, body }) {
    const channel = await getChannel(ctx, params.id);
    return (await readKeys(ctx, channel, body.text)).preview;
  },

  async add(ctx, call) {
    const channel = await getChannel(ctx, call.params.id);
    const { preview, keys } = await readKeys(ctx, channel, call.body.text);
    if (keys.length === 0) throw faults.refused("没有可添加的新密钥");
    await ctx.db.transaction().execute(async (tx) => {
      const { added, total } = await addKeys(tx, channel.id, keys, ctx.clock.seconds());
      // Again: others may have been added since they were counted.
      checkCount(total - added, added);
      await audit(ctx, tx, call, { action: "channel.keys_add", target: channel.id, detail: { added } });
    });
    await announce(ctx, channel.id);
    return preview;
  },

  async update(ctx, call) {
    const { id } = call.params;
    const { ids, models, proxy, limits, ...plain } = call.body;
    await getChannel(ctx, id);
    if (proxy !== undefined && ids.length > 1) throw faults.refused("代理只能逐个密钥设置");
    const proxySealed = proxy === undefined ? undefined : await sealedProxy(ctx, id, { ids, proxy });
    const change = {
      ...plain,
      models: models?.join(","),
      ...(proxySealed !== undefined && { proxy_sealed: proxySealed }),
    };
    const changed = await ctx.db.transaction().execute(async (tx) => {
      const changes = await changeKeys(tx, { channelId: id, ids }, change, ctx.clock.seconds());
      const limited = await limitKeys(ctx, tx, { channelId: id, ids }, limits);
      const count = Math.max(changes, limited);
      const detail = {
        count,
        ids: ids.slice(0, 50),
        ...plain,
        ...(models !== undefined && { models }),
        ...(limits !== undefined && { limits }),
        ...(proxy !== undefined && { proxy: showProxy(proxy).proxy }),
      };
      await audit(ctx, tx, call, { action: "channel.keys_update", target: id, detail });
      return count;
    });
    if (changed === 0) throw faults.notFound("找不到该密钥");
    await announce(ctx, id);
    return changed;
  },

  async remove(ctx, call) {
    const { id } = call.params;
    await getChannel(ctx, id);
    const { ids, status, reason } = call.body;
    if (ids === undefined && status === undefined) throw faults.refused("请选择要删除的密钥");
    const removed = await ctx.db.transaction().execute(async (tx) => {
      const which = ids ?? (await findKeyIds(tx, id, { status: status ?? 0, reason }));
      const count = await removeKeys(tx, id, which, ctx.clock.seconds());
      if (count === undefined) throw faults.refused("至少要保留一个密钥");
      const detail = { count, ids: ids?.slice(0, 50), status, reason };
      await audit(ctx, tx, call, { action: "channel.keys_delete", target: id, detail });
      return count;
    });
    await announce(ctx, id);
    return removed;
  },

  ...channelKeyRuns,

  async export(ctx, call) {
    const { id } = call.params;
    await getChannel(ctx, id);
    if (!ctx.options.get("ChannelKeyExportEnabled"))
      throw faults.refused("密钥导出已关闭，请先在运营设置中打开");
    const rows = await listSealedKeys(ctx.db, id);
    if (rows.length === 0) throw faults.refused("该渠道只有一个密钥，不能导出");
    await audit(ctx, ctx.db, call, {
      action: "channel.keys_export",
      target: id,
      detail: { count: rows.length },
    });
    return rows.map((row) => {
      const { id, name, status, weight } = row;
      return { id, key: openChannelKey(ctx.secrets, row).key, name, status, weight, ...timesOf(row) };
    });
  },
};

/** Sets limits of the keys among these ids that are the channel's. Returns how many. */
async function limitKeys(
  { clock }: Context,
  tx: Db,
  { channelId, ids }: { readonly channelId: number; readonly ids: readonly number[] },
  limits: ChannelLimitsChange | undefined,
): Promise<number> {
  if (limits === undefined) return 0;
  const own = await ownKeyIds(tx, channelId, ids);
  await setChannelLimits(tx, { subject: "channel_key", ids: own }, limits, clock.seconds());
  return own.length;
}

/** So many reasons are told. */
const MOST_REASONS = 20;

function countOf(rows: readonly KeyReasonRow[]): number {
  return rows.reduce((sum, { count }) => sum + count, 0);
}

/** The proxy that an edit makes of the stored one; credentials of the same address stay. */
async function sealedProxy(
  ctx: Context,
  channelId: number,
  { ids, proxy }: { readonly ids: readonly number[]; readonly proxy: string },
): Promise<string> {
  const refusal = proxy === "" ? undefined : ctx.egress.refusalOfProxy(proxy);
  if (refusal !== undefined) throw faults.refused(refusal);
  const row = await findKey(ctx, channelId, ids[0] ?? 0);
  return sealProxy(ctx.secrets, editedProxy(proxy, row ? storedProxy(ctx, row) : ""));
}

/** "" also for one that cannot be opened. */
export function storedProxy(ctx: Pick<Context, "secrets">, row: SealedKeyRow): string {
  try {
    return openProxy(ctx.secrets, row.proxy_sealed);
  } catch {
    return "";
  }
}

function present(
  ctx: Context,
  row: SealedKeyRow,
  usage: { readonly quota: number; readonly hour: number } | undefined,
): Omit<z.output<typeof ChannelKey>, "limits"> {
  const { id, name, status, status_reason, status_time, weight, test_time, response_time, created_time } =
    row;
  const keys = ctx.candidates.byId(row.channel_id)?.keys;
  const state = keys?.state(id, ctx.clock.now());
  return {
    id,
    name,
    status,
    status_reason,
    status_time,
    weight,
    test_time,
    response_time,
    created_time,
    ...timesOf(row),
    fingerprint: Buffer.from(row.key_hash, "base64url").toString("hex").slice(0, 8),
    tail: tailOf(ctx, row),
    models: row.models.split(",").filter((model) => model !== ""),
    ...showProxy(storedProxy(ctx, row)),
    balance: row.balance,
    balance_currency: row.balance_currency,
    balance_updated_time: row.balance_updated_time,
    probe_time: areKeysProbed(ctx) ? row.probe_time : 0,
    used_quota: usage?.quota ?? 0,
    last_used: usage?.hour ?? 0,
    in_flight: state?.inFlight ?? 0,
    rests_until: Math.ceil((state?.restsUntilMs ?? 0) / 1000),
  };
}

/** Of a shorter key four characters would be too much of it. */
const LONG_KEY = 16;
const TAIL = 4;

/** "" also for a key that cannot be opened, and for a document, which ends in brackets. */
function tailOf({ secrets }: Pick<Context, "secrets">, row: SealedKeyRow): string {
  try {
    const { key } = openChannelKey(secrets, row);
    return key.length < LONG_KEY || key.startsWith("{") ? "" : key.slice(-TAIL);
  } catch {
    return "";
  }
}

function timesOf({ connect_ms, first_byte_ms, idle_ms, total_ms }: StoredTimes): StoredTimes {
  return { connect_ms, first_byte_ms, idle_ms, total_ms };
}

/** Announces the change to all processes and waits until this one serves by it. */
async function announce(ctx: Context, id: number): Promise<void> {
  await ctx.coord.publish("channels", String(id));
  await ctx.candidates.pending;
}
