// The test of all or all disabled channels (requirements W9.6): disables channels that are broken or slow and enables those that work
// again, as far as the options say, and notifies the super administrator at the end.
import { ChannelStatus } from "#contract/channel.ts";
import { type ChannelRow, listLiveChannels, setChannelStatus } from "#server/store/channels.ts";
import type { Tools } from "#server/tools.ts";
import { type Candidates, isAsCalled } from "./candidates.ts";
import { type Probe, testChannel } from "./probe.ts";
import { oneByOne, type Run, type RunParts, startRun } from "./run.ts";
import { recordTest, type Tester } from "./test-record.ts";

export type TestScope = "all" | "disabled";

export type BulkTestParts = RunParts &
  Pick<Tools, "db" | "options" | "egress" | "credentials" | "notify"> & { readonly candidates: Candidates };

const NAME = "channel-tests";
/** What a run found, as sentences about channels. */
interface Findings {
  tested: number;
  readonly failed: string[];
  readonly slow: string[];
  readonly disabled: string[];
  readonly enabled: string[];
}

/** Starts a run unless one is under way on any node; false = one is (requirements M32). `begin` as in `Run`. */
export function startChannelTests(
  ctx: BulkTestParts,
  scope: TestScope,
  tester: Tester,
  begin?: Run["begin"],
): Promise<boolean> {
  // Sent once the next run may start.
  const tell = (content: string) => {
    if (ctx.stopping.aborted) return;
    const about = `run ${ctx.clock.seconds()}`;
    ctx.notify({ event: "channel_test", about, title: "渠道测试完成", content });
  };
  const work = () => testChannels(ctx, scope, tester);
  return startRun(ctx, { name: NAME, begin, work, tell });
}

/** Whether a run is under way on any node. */
export function areChannelsTested({ coord }: Pick<Tools, "coord">): Promise<boolean> {
  return coord.isLocked(NAME);
}

/** Tests the channels of a scope one after another. Returns a sentence for the diagnostic log. */
async function testChannels(ctx: BulkTestParts, scope: TestScope, tester: Tester): Promise<string> {
  const rows = await listLiveChannels(ctx.db);
  const wanted = rows.filter(({ status }) => scope === "all" || status !== ChannelStatus.enabled);
  const findings: Findings = { tested: 0, failed: [], slow: [], disabled: [], enabled: [] };
  await oneByOne(ctx, wanted, (row) => testOne(ctx, row, tester, findings));
  return summary(findings);
}

async function testOne(
  ctx: BulkTestParts,
  row: ChannelRow,
  tester: Tester,
  findings: Findings,
): Promise<void> {
  await ctx.candidates.pending;
  const live = ctx.candidates.byId(row.id);
  // Deleted meanwhile, or of a type that cannot be called.
  if (!live) return;
  const outcome = await testChannel(ctx, live);
  if (ctx.stopping.aborted) return;
  findings.tested += 1;
  await recordTest(ctx, tester, row, outcome);
  await ctx.candidates.pending;
  // The outcome with another key or address says nothing about the channel as it is now.
  if (isAsCalled(live, ctx.candidates.byId(row.id))) await judge(ctx, row, outcome, findings);
}

function nameOf(row: ChannelRow): string {
  return `#${row.id} ${row.name}`;
}

/** Why a passed test is not good enough: it took longer than ChannelDisableThreshold; undefined = it did not. */
export function slowness({ options }: Pick<BulkTestParts, "options">, outcome: Probe): string | undefined {
  const thresholdMs = options.get("ChannelDisableThreshold") * 1000;
  if (thresholdMs <= 0 || outcome.ms <= thresholdMs) return undefined;
  return `响应时间 ${seconds(outcome.ms)} 超过阈值 ${seconds(thresholdMs)}`;
}

/** Records the outcome and changes the channel's status where the options say so. */
async function judge(ctx: BulkTestParts, row: ChannelRow, outcome: Probe, findings: Findings): Promise<void> {
  const slow = slowness(ctx, outcome);
  if (!outcome.ok) findings.failed.push(`${nameOf(row)}：${outcome.message}`);
  else if (slow !== undefined) findings.slow.push(`${nameOf(row)}：${slow}`);
  if (row.status === ChannelStatus.enabled) {
    // One of several keys says nothing of the others.
    const isEnd = !outcome.ok && outcome.isDisabling && row.keys_version === 0;
    const reason = slow ?? (isEnd ? outcome.message : undefined);
    if (reason !== undefined) await disable(ctx, row, reason, findings);
  } else if (outcome.ok && slow === undefined) await enable(ctx, row, findings);
}

async function disable(
  ctx: BulkTestParts,
  row: ChannelRow,
  reason: string,
  findings: Findings,
): Promise<void> {
  if (!ctx.options.get("AutomaticDisableChannelEnabled")) return;
  if (await move(ctx, row, ChannelStatus.autoDisabled, reason))
    findings.disabled.push(`${nameOf(row)}：${reason}`);
}

/** A channel that an administrator disabled stays disabled (requirements W9.6). */
async function enable(ctx: BulkTestParts, row: ChannelRow, findings: Findings): Promise<void> {
  if (row.status !== ChannelStatus.autoDisabled || !ctx.options.get("AutomaticEnableChannelEnabled")) return;
  if (await move(ctx, row, ChannelStatus.enabled, "")) findings.enabled.push(nameOf(row));
}

/** Changes the status unless it has changed since the run read it. */
async function move(ctx: BulkTestParts, row: ChannelRow, to: number, reason: string): Promise<boolean> {
  const now = ctx.clock.seconds();
  const hasMoved = await setChannelStatus(ctx.db, row.id, {
    from: [row.status],
    to,
    reason: reason.slice(0, 200),
    now,
  });
  if (!hasMoved) return false;
  await ctx.coord.publish("channels", String(row.id));
  ctx.events.channelStatusChanged({ channelId: row.id, status: to, reason });
  return true;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} 秒`;
}

/** So many lines are listed; further ones are only counted. */
const LINES = 20;

function summary({ tested, failed, slow, disabled, enabled }: Findings): string {
  const part = (title: string, lines: readonly string[]) => {
    if (lines.length === 0) return [];
    const rest = lines.length > LINES ? [`……以及其他 ${lines.length - LINES} 个`] : [];
    return [`${title}（${lines.length}）`, ...lines.slice(0, LINES), ...rest];
  };
  return [
    `共测试 ${tested} 个渠道，通过 ${tested - failed.length} 个。`,
    ...part("失败", failed),
    ...part("响应过慢", slow),
    ...part("已自动禁用", disabled),
    ...part("已自动启用", enabled),
  ].join("\n");
}
