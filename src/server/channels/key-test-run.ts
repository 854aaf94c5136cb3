// The test of all or all disabled keys of a channel, some at a time: keys that are finished are disabled as far as the options say, those
// that were disabled by themselves and work come back (requirements C27).
import { ChannelStatus } from "#contract/channel.ts";
import { autoDisableKey, changeKeys, listSealedKeys, type SealedKeyRow } from "#server/store/channel-keys.ts";
import type { Tools } from "#server/tools.ts";
import { type Candidates, isAsCalled } from "./candidates.ts";
import { testKey } from "./key-tests.ts";
import type { LiveChannel } from "./live-channel.ts";
import type { Probe } from "./probe.ts";
import { nextKeyProbe } from "./probe-times.ts";
import { inLanes, type Run, type RunParts, startRun } from "./run.ts";

export type KeyTestParts = RunParts &
  Pick<Tools, "db" | "options" | "egress" | "credentials" | "secrets" | "notify"> & {
    readonly candidates: Candidates;
  };

const REASON_LENGTH = 200;

function nameOf(channelId: number): string {
  return `key-tests-${channelId}`;
}

/** Whether a run for the channel is under way on any node. */
export function areKeysTested({ coord }: Pick<Tools, "coord">, channelId: number): Promise<boolean> {
  return coord.isLocked(nameOf(channelId));
}

/** Starts a run unless one for this channel is under way on any node; false = one is. `begin` as in `Run`. */
export function startKeyTests(
  ctx: KeyTestParts,
  channelId: number,
  scope: "all" | "disabled",
  begin?: Run["begin"],
): Promise<boolean> {
  const tell = (content: string) => {
    if (ctx.stopping.aborted) return;
    const about = `channel ${channelId} run ${ctx.clock.seconds()}`;
    ctx.notify({ event: "channel_test", about, title: `渠道 #${channelId} 的密钥测试完成`, content });
  };
  const work = () => testKeys(ctx, channelId, scope);
  return startRun(ctx, { name: nameOf(channelId), begin, work, tell });
}

interface Findings {
  tested: number;
  failed: number;
  disabled: number;
  enabled: number;
}

async function testKeys(ctx: KeyTestParts, channelId: number, scope: "all" | "disabled"): Promise<string> {
  const rows = await listSealedKeys(ctx.db, channelId);
  const wanted = rows.filter(({ status }) => scope === "all" || status !== ChannelStatus.enabled);
  const findings: Findings = { tested: 0, failed: 0, disabled: 0, enabled: 0 };
  await inLanes(ctx, wanted, (row) => testOne(ctx, row, findings));
  const { tested, failed, disabled, enabled } = findings;
  return `共测试 ${tested} 个密钥，通过 ${tested - failed} 个，失败 ${failed} 个；自动禁用 ${disabled} 个，恢复启用 ${enabled} 个。`;
}

async function testOne(ctx: KeyTestParts, row: SealedKeyRow, findings: Findings): Promise<void> {
  await ctx.candidates.pending;
  const channel = ctx.candidates.byId(row.channel_id);
  if (channel === undefined) return;
  const outcome = await testKey(ctx, channel, row);
  if (ctx.stopping.aborted) return;
  findings.tested += 1;
  if (!outcome.ok) findings.failed += 1;
  // The outcome with another address or proxy says nothing about the key as it is used now.
  if (isAsCalled(channel, ctx.candidates.byId(row.channel_id)))
    await judge(ctx, channel, { row, outcome, findings });
}

async function judge(
  ctx: KeyTestParts,
  channel: LiveChannel,
  { row, outcome, findings }: { row: SealedKeyRow; outcome: Probe; findings: Findings },
): Promise<void> {
  const now = ctx.clock.seconds();
  const at = { channelId: channel.id, keyId: row.id };
  if (!outcome.ok && outcome.isDisabling && row.status === ChannelStatus.enabled) {
    if (!ctx.options.get("AutomaticDisableChannelEnabled")) return;
    const reason = outcome.message.slice(0, REASON_LENGTH);
    const next = nextKeyProbe({ since: now, probes: 0, reason }, ctx);
    if ((await autoDisableKey(ctx.db, at, { reason, now, next })) === undefined) return;
    findings.disabled += 1;
  } else if (outcome.ok && row.status === ChannelStatus.autoDisabled) {
    const which = { channelId: channel.id, ids: [row.id], from: ChannelStatus.autoDisabled };
    const change = { status: ChannelStatus.enabled };
    const changed = await ctx.db.transaction().execute((tx) => changeKeys(tx, which, change, now));
    if (changed === 0) return;
    findings.enabled += 1;
  } else return;
  await ctx.coord.publish("channels", String(channel.id));
}
