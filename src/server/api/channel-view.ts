// Channels as the management API shows them: never with a key, a proxy without its credentials.
import type { Channel } from "#contract/channel.ts";
import { KeyMode } from "#contract/channel-key.ts";
import { NO_CHANNEL_LIMITS } from "#contract/channel-limits.ts";
import { originOf } from "#server/channels/candidates.ts";
import { openDiff, problemOf } from "#server/channels/model-lists.ts";
import { areProbed, nextProbeOf } from "#server/channels/probe-times.ts";
import { openProxy, ownerOf, showProxy } from "#server/channels/proxies.ts";
import type { Context } from "#server/context.ts";
import { findChannelLimits } from "#server/store/channel-limits.ts";
import type { ChannelRow } from "#server/store/channels.ts";
import { findModelLists, type ModelListHead } from "#server/store/model-lists.ts";

export async function presentChannels(ctx: Context, rows: readonly ChannelRow[]): Promise<Channel[]> {
  const ids = rows.map(({ id }) => id);
  const limits = await findChannelLimits(ctx.db, "channel", ids);
  const lists = await findModelLists(ctx.db, ids);
  return rows.map((row) => ({
    ...present(ctx, row),
    ...presentList(row, lists.get(row.id)),
    limits: limits.get(row.id) ?? NO_CHANNEL_LIMITS,
  }));
}

export async function presentChannel(ctx: Context, row: ChannelRow): Promise<Channel> {
  const [channel] = await presentChannels(ctx, [row]);
  if (channel === undefined) throw new Error("one row makes one channel");
  return channel;
}

function presentList(row: ChannelRow, list: ModelListHead | undefined) {
  const { fresh, gone } = openDiff(row, list);
  return {
    models_fresh: fresh.length,
    models_gone: gone.length,
    models_problem: problemOf(row, list) !== "",
  };
}

function present(
  ctx: Context,
  row: ChannelRow,
): Omit<Channel, "limits" | "models_fresh" | "models_gone" | "models_problem"> {
  const owner = ownerOf(row.id);
  const live = ctx.candidates.byId(row.id);
  const proxyMs = (live && ctx.egress.restingProxies()?.(live.route, originOf(live))) ?? 0;
  return {
    ...row,
    key: "",
    models: splitCsv(row.models),
    group: splitCsv(row.group),
    ...showProxy(storedProxy(ctx, row)),
    proxy_resting: proxyMs > 0,
    reuse: row.reuse === "never" ? "never" : "auto",
    has_keys: row.keys_version > 0,
    key_mode: KeyMode.catch("random").parse(row.key_mode),
    probe_time: areProbed(ctx) ? nextProbeOf(row, ctx) : 0,
    reuse_stopped: ctx.egress.isReuseStopped(owner),
  };
}

/** "" also for one that cannot be opened: then its channel cannot be called either, which the logger says. */
export function storedProxy(ctx: Context, row: ChannelRow): string {
  try {
    return openProxy(ctx.secrets, row.proxy_sealed);
  } catch {
    return "";
  }
}

function splitCsv(text: string): string[] {
  return text.split(",").filter((part) => part !== "");
}
