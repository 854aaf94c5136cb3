// Jobs: every minute what lasts and no other part of the server tells the begin or the end of: channels that stand disabled, low balances,
// a full disk; and alerts that a process left waiting when it ended. Balances are asked for as often as the operator says.
import { statfs } from "node:fs/promises";
import { type AlertEvent, alertEventRow } from "#contract/alert-events.ts";
import { ChannelStatus } from "#contract/channel.ts";
import { startBalanceUpdate } from "#server/channels/balances.ts";
import type { Context } from "#server/context.ts";
import { countWaiting, listConditions, trimDeliveries } from "#server/store/alerts.ts";
import type { Notice } from "#server/tools.ts";
import type { Job } from "./job.ts";

const MINUTE_MS = 60_000;
const KEPT_SEC = 30 * 86_400;
const KEPT_ROWS = 10_000;
/** A disk is well again with so much more than the threshold free. Unit: percent. */
const DISK_MARGIN = 2;

export const alertWatch: Job = {
  name: "alert-watch",
  periodMs: () => MINUTE_MS,
  firstMs: 15_000,
  async run(ctx) {
    const lasting = [...(await brokenChannels(ctx)), ...(await lowBalances(ctx)), ...(await lowDisk(ctx))];
    const told = await compare(ctx, WATCHED, lasting);
    const waiting = (await countWaiting(ctx.db)).size;
    if (waiting > 0) void ctx.alerts.deliver();
    await trimDeliveries(ctx.db, ctx.clock.seconds() - KEPT_SEC, KEPT_ROWS);
    return `${told} begin or end, ${waiting} targets wait`;
  },
};

export const channelBalances: Job = {
  name: "balances",
  periodMs: ({ channelBalanceFrequencyMs }) => channelBalanceFrequencyMs,
  async run(ctx) {
    return (await startBalanceUpdate(ctx, { withKeys: false })) ? "started" : "a run goes on already";
  },
};

/** Events that are judged here, by what is so now. */
const WATCHED = ["channel_disabled", "balance_low", "disk_low"] as const satisfies readonly AlertEvent[];

/** Raises what of these events has begun, and ends what is not so any more. Returns how many. */
export async function compare(
  ctx: Context,
  watched: readonly AlertEvent[],
  lasting: readonly Notice[],
): Promise<number> {
  const known = await listConditions(ctx.db);
  const nameOf = ({ event, about }: { readonly event: string; readonly about: string }) =>
    `${event} ${about}`;
  const before = new Set(known.map(nameOf));
  const now = new Set(lasting.map(nameOf));
  const begins = lasting.filter((notice) => !before.has(nameOf(notice)));
  const ends = watched.flatMap((event) =>
    known.filter((one) => one.event === event && !now.has(nameOf(one))).map((one) => ({ ...one, event })),
  );
  for (const notice of begins) ctx.alerts.raise(notice);
  for (const { event, about, title } of ends) {
    const content = `“${alertEventRow(event).label}”已解除。`;
    ctx.alerts.raise({ event, about, title: `已恢复：${title}`, content, isOver: true });
  }
  return begins.length + ends.length;
}

async function brokenChannels({ db }: Context): Promise<Notice[]> {
  const rows = await db
    .selectFrom("channels")
    .select(["id", "name", "status_reason"])
    .where("status", "=", ChannelStatus.autoDisabled)
    .where("deleted_at", "=", 0)
    .execute();
  return rows.map(({ id, name, status_reason }) => ({
    event: "channel_disabled",
    about: `channel ${id}`,
    title: `渠道 #${id} ${name} 已被自动禁用`,
    content: status_reason === "" ? "没有记录原因。" : `原因：${status_reason}`,
  }));
}

async function lowBalances({ db, options }: Context): Promise<Notice[]> {
  const threshold = options.get("ChannelBalanceThreshold");
  if (threshold === 0) return [];
  const rows = await db
    .selectFrom("channels")
    .select(["id", "name", "balance"])
    .where("status", "=", ChannelStatus.enabled)
    .where("deleted_at", "=", 0)
    .where("balance_updated_time", ">", 0)
    .where("balance", "<", threshold)
    .execute();
  return rows.map(({ id, name, balance }) => ({
    event: "balance_low",
    about: `channel ${id}`,
    title: `渠道 #${id} ${name} 的余额不足`,
    content: `余额 ${balance}，低于 ${threshold}（单位以该渠道的服务商为准）。`,
  }));
}

/** Of the disk with the data of this process. */
async function lowDisk({ db, options, config }: Context): Promise<Notice[]> {
  const threshold = options.get("DiskFreeThreshold");
  if (threshold === 0) return [];
  const { bavail, blocks, bsize } = await statfs(config.dataDir);
  const free = (100 * bavail) / blocks;
  const isKnown = (await listConditions(db, "disk_low")).length > 0;
  if (free >= threshold + (isKnown ? DISK_MARGIN : 0)) return [];
  const gibibytes = ((bavail * bsize) / 2 ** 30).toFixed(1);
  const content = `数据目录所在磁盘只剩 ${free.toFixed(1)}%（${gibibytes} GiB），低于 ${threshold}%。写满后新的调用会被拒绝。`;
  return [{ event: "disk_low", about: "disk", title: "磁盘空间不足", content }];
}
