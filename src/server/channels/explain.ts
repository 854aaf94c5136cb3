// Why calls go to which channel: every channel with its verdict, by the same functions that choose for the relay (requirements C47). Calls
// nothing and changes nothing; what it knows of failures and limits is this process's view.
import { ChannelStatus } from "#contract/channel.ts";
import { NO_CHANNEL_LIMITS } from "#contract/channel-limits.ts";
import type { RouteChannel, RouteExplanation, RouteFormat, RouteKey, RouteVerdict } from "#contract/route.ts";
import { allowedBy } from "#contract/route-rule.ts";
import type { Clock } from "#server/clock.ts";
import type { RenamedGroups } from "#server/coord/renamed-groups.ts";
import { charge } from "#server/money/price.ts";
import type { PriceBook } from "#server/money/price-book.ts";
import type { Options } from "#server/options.ts";
import { planCall } from "#server/upstream/call/plan.ts";
import type { Candidates } from "./candidates.ts";
import type { ChannelGate } from "./channel-caps.ts";
import { choose } from "./choice.ts";
import { outsideOf } from "./decision.ts";
import type { Health } from "./health.ts";
import type { LiveChannel } from "./live-channel.ts";
import { ruleFor } from "./route-rules.ts";
import { costOf, createStrategy, strategyOf } from "./strategy.ts";

export interface ExplainParts {
  readonly candidates: Pick<Candidates, "all" | "find">;
  readonly health: Pick<Health, "openCircuits" | "restOf" | "pace">;
  readonly gate: Pick<ChannelGate, "fullNow">;
  readonly clock: Pick<Clock, "now">;
  prices(): PriceBook;
  readonly options: Pick<Options, "get">;
  readonly renamedGroups: Pick<RenamedGroups, "otherNames">;
}

export interface AskedRoute {
  readonly group: string;
  readonly model: string;
  readonly endpoint: RouteFormat;
  /** What rules go by beside: the team that pays (0 = none) and the size of the body. */
  readonly teamId: number;
  readonly bytes: number;
}

/** Tells of every channel what becomes of it now. */
export function explainRoute(parts: ExplainParts, asked: AskedRoute): RouteExplanation {
  const { group, model } = asked;
  const found = parts.candidates.find(group, model);
  const groups = [group, ...parts.renamedGroups.otherNames(group)];
  const rule = ruleFor(parts.options.get("RouteRules"), { ...asked, groups });
  const candidates = rule === undefined ? found : allowedBy(rule, found);
  const verdicts = new Map<number, readonly [RouteVerdict, number]>();
  const absent = candidates.filter((channel) => !canServe(parts, channel, asked));
  const full = candidates.filter((channel) => parts.gate.fullNow(channel) !== undefined);
  const strategy = strategyOf(parts, group);
  const call = { model, endpoint: asked.endpoint, isStream: true };
  const choice = {
    strategy: createStrategy({ ...parts, pace: parts.health.pace }, strategy, call),
    tried: idsOf(absent),
    full: idsOf(full),
    random: 0,
    isOpen: parts.health.openCircuits(model),
  };
  choose(candidates, choice, {
    most: Number.POSITIVE_INFINITY,
    tell({ id }, verdict, oddsOf) {
      const odds = oddsOf();
      // Chance decides among those that are left.
      const told = verdict === "tried" ? "endpoint_absent" : odds > 0 ? "next" : verdict;
      verdicts.set(id, [told, odds]);
    },
  });
  const channels = parts.candidates
    .all()
    .map((channel) =>
      tell(parts, channel, asked, verdicts.get(channel.id) ?? [outsideOf(channel, asked.group, model), 0]),
    );
  const native_first = parts.options.get("NativeFormatFirstEnabled");
  const refusal = refusalOf(channels, asked, rule?.name);
  return {
    group,
    model,
    strategy,
    native_first,
    rule: rule?.name ?? "",
    refusal,
    channels: channels.sort(byRank),
  };
}

function idsOf(channels: readonly LiveChannel[]): ReadonlySet<number> {
  return new Set(channels.map(({ id }) => id));
}

/** Whether its provider has the interface, and there is a price: the relay finds that out when it is the channel's turn, and goes on. */
function canServe({ options }: ExplainParts, channel: LiveChannel, { model, endpoint }: AskedRoute): boolean {
  const name = channel.mapping.get(model) ?? model;
  const key = { endpoint, model: name, apiVersion: "", isStream: false } as const;
  return planCall(channel.keys?.first(channel) ?? channel, key, (name) => options.get(name)).kind === "plan";
}

function tell(
  parts: ExplainParts,
  channel: LiveChannel,
  { model, group }: AskedRoute,
  [verdict, odds]: readonly [RouteVerdict, number],
): RouteChannel {
  const { id, name, type, priority, weight } = channel;
  const upstreamModel = channel.mapping.get(model) ?? model;
  const full = verdict === "limited" ? parts.gate.fullNow(channel) : undefined;
  const rest = verdict === "resting" ? parts.health.restOf(channel, model) : undefined;
  const untilMs = full?.untilMs ?? rest?.untilMs ?? 0;
  const limits = { ...NO_CHANNEL_LIMITS };
  const speed = parts.health.pace.speedOf(id, model, true);
  for (const cap of channel.limits ?? []) limits[cap.name] = cap.amount;
  return {
    ...{ id, name, type, priority, weight, verdict, odds, limits },
    limit: full?.name ?? "",
    rests: rest?.what ?? "",
    until: Math.ceil(untilMs / 1_000),
    upstream_model: upstreamModel,
    cost: costOf(parts, channel, model) ?? null,
    latency_ms: Math.round(speed.ms ?? 0),
    in_flight: speed.inFlight,
    price: priceOf(parts, { model, upstreamModel, group }),
    keys: [],
    keys_total: channel.keys?.enabled ?? 0,
  };
}

const MILLION = 1_000_000;

function priceOf(
  { prices }: ExplainParts,
  { model, upstreamModel, group }: { model: string; upstreamModel: string; group: string },
): RouteChannel["price"] {
  const price = prices().find(model, upstreamModel, group);
  if (price === undefined) return null;
  const plain = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
  return {
    input: Number(charge({ ...plain, promptTokens: MILLION }, price)),
    output: Number(charge({ ...plain, completionTokens: MILLION }, price)),
  };
}

const PASSED = ["weight_zero", "format_other", "dearer", "slower"] as const satisfies readonly RouteVerdict[];
const SERVES: readonly RouteVerdict[] = ["next", "left", ...PASSED, "priority_lower"];

/** Why a call is refused before or after the choice; "" = some channel serves it. */
function refusalOf(
  channels: readonly RouteChannel[],
  { group, model }: AskedRoute,
  rule: string | undefined,
): string {
  if (channels.length === 0) return "还没有渠道";
  const serving = channels.filter(({ verdict }) => verdict === "next");
  if (serving.length > 0) {
    const priced = channels.some(({ verdict, price }) => SERVES.includes(verdict) && price !== null);
    return priced ? "" : `模型 ${model} 没有价格，调用会被拒绝`;
  }
  const has = (verdict: RouteVerdict) => channels.some((channel) => channel.verdict === verdict);
  if (rule !== undefined && has("rule") && !SERVES.some(has) && !has("limited") && !has("resting"))
    return `路由规则“${rule}”没有给模型 ${model} 留下可用的渠道`;
  if (has("limited")) return "能用的渠道都达到了限额，请求会排队或得到 429";
  if (has("endpoint_absent")) return "有此模型的渠道都不支持这种接口";
  if (has("disabled") || has("auto_disabled") || has("keys_none"))
    return `分组 ${group} 下有模型 ${model} 的渠道都已停用`;
  if (has("group")) return `有模型 ${model} 的渠道都不在分组 ${group}`;
  return `没有渠道提供模型 ${model}`;
}

/** Those that serve come first, then those that nearly do. */
function byRank(a: RouteChannel, b: RouteChannel): number {
  return rank(a) - rank(b) || b.odds - a.odds || b.priority - a.priority || a.id - b.id;
}

const RANKS: readonly RouteVerdict[] = [
  "next",
  ...PASSED,
  "priority_lower",
  "limited",
  "resting",
  "endpoint_absent",
  "rule",
  "keys_none",
  "auto_disabled",
  "disabled",
  "group",
  "model",
];

function rank({ verdict }: RouteChannel): number {
  return RANKS.indexOf(verdict);
}

/** What becomes of one of a channel's keys; `row` = as it is stored. */
export function explainKey(
  { gate, clock }: Pick<ExplainParts, "gate" | "clock">,
  channel: LiveChannel,
  row: { readonly id: number; readonly name: string; readonly status: number; readonly models: string },
  model: string,
): RouteKey {
  const { id, name, status } = row;
  const { inFlight, restsUntilMs } = channel.keys?.state(id, clock.now()) ?? { inFlight: 0, restsUntilMs: 0 };
  const full = gate.fullNow({ ...channel, keyId: id, limits: undefined });
  const untilMs = restsUntilMs || (full?.untilMs ?? 0);
  const told = { id, name, until: Math.ceil(untilMs / 1_000), in_flight: inFlight };
  if (status === ChannelStatus.autoDisabled) return { ...told, verdict: "auto_disabled" };
  if (status !== ChannelStatus.enabled) return { ...told, verdict: "disabled" };
  if (row.models !== "" && !row.models.split(",").includes(model)) return { ...told, verdict: "model" };
  if (restsUntilMs > 0) return { ...told, verdict: "resting" };
  return { ...told, verdict: full === undefined ? "next" : "limited" };
}
