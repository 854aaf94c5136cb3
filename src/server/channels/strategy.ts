// What decides within a tier where weights alone do not (requirements C42, C43): the client's own format, latency, cost. The choice draws by
// the weights that these give, and the explainer tells them. No clock and no chance.
import type { EndpointName } from "#contract/provider.ts";
import type { ChannelStrategy } from "#contract/strategy.ts";
import { charge } from "#server/money/price.ts";
import type { PriceBook } from "#server/money/price-book.ts";
import type { Options } from "#server/options.ts";
import { planCall } from "#server/upstream/call/plan.ts";
import { nativeWay } from "#server/upstream/call/ways/native.ts";
import { passWay } from "#server/upstream/call/ways/pass.ts";
import { withKey } from "./candidates.ts";
import type { Passed, Strategy } from "./choice.ts";
import type { LiveChannel } from "./live-channel.ts";
import type { Pace } from "./pace.ts";

export interface StrategyParts {
  readonly options: Pick<Options, "get">;
  prices(): PriceBook;
  readonly pace: Pick<Pace, "speedOf">;
}

/** The call that a channel is chosen for. */
export interface StrategyCall {
  readonly model: string;
  readonly isStream: boolean;
  /** undefined = no other format is spoken there: a conversation in real time, a video, a file. */
  readonly endpoint?: EndpointName | undefined;
}

/** Channels within so much of the cheapest count as equal. */
const TIE = 1.05;
/** A conversation leaves channels that are so many times as slow as the fastest. */
const SLOW = 2;
/** So many calls go by weight alone: else the gateway would not see that a slow channel has recovered. */
const EXPLORED = 0.02;

/** Of each channel of a tier its weight so far, or why it is passed over. */
type Shares = (number | Passed)[];

/** The strategy of calls of a group. */
export function strategyOf({ options }: Pick<StrategyParts, "options">, group: string): ChannelStrategy {
  const own = options.get("ChannelStrategyByGroup");
  return (Object.hasOwn(own, group) ? own[group] : undefined) ?? options.get("ChannelStrategy");
}

/** The same; undefined = by weight alone, as nearly always: then nothing is made for it. */
export function unusualStrategy(
  { options }: Pick<StrategyParts, "options">,
  group: string,
): ChannelStrategy | undefined {
  const isUsual = options.get("ChannelStrategy") === "weight" && !options.get("NativeFormatFirstEnabled");
  if (isUsual && !Object.hasOwn(options.get("ChannelStrategyByGroup"), group)) return undefined;
  return strategyOf({ options }, group);
}

export function createStrategy(
  parts: StrategyParts,
  name: ChannelStrategy,
  call: StrategyCall,
): Strategy<LiveChannel> {
  const isNativeFirst = parts.options.get("NativeFormatFirstEnabled");
  return {
    weigh(tier, isSticky) {
      const isEven = tier.every(({ weight }) => weight <= 0);
      const shares: Shares = tier.map(({ weight }) => (isEven ? 1 : Math.max(0, weight)));
      if (isNativeFirst) keepNative(parts, tier, shares, call);
      if (name === "cost") keepCheapest(parts, tier, shares, call);
      if (name === "latency") preferFast(parts, tier, shares, { ...call, isSticky });
      return shares;
    },
  };
}

/** Those that are still in the draw. */
function inDraw(shares: Shares): number[] {
  return shares.flatMap((share, at) => (typeof share === "number" && share > 0 ? [at] : []));
}

/** Passes over what `isKept` does not keep, unless nothing would be left. */
function keep(shares: Shares, why: Passed, isKept: (at: number) => boolean): void {
  const drawn = inDraw(shares);
  const left = drawn.filter(isKept);
  if (left.length === 0) return;
  for (const at of drawn) if (!left.includes(at)) shares[at] = why;
}

function keepNative(
  { options }: StrategyParts,
  tier: readonly LiveChannel[],
  shares: Shares,
  { endpoint, model, isStream }: StrategyCall,
): void {
  if (endpoint === undefined) return;
  keep(shares, "format_other", (at) => {
    const channel = tier[at];
    if (channel === undefined) return false;
    const key = { endpoint, model: channel.mapping.get(model) ?? model, apiVersion: "", isStream };
    const plan = planCall(withKey(channel), key, (name) => options.get(name));
    return plan.kind === "plan" && (plan.way === passWay || plan.way === nativeWay);
  });
}

function keepCheapest(
  parts: StrategyParts,
  tier: readonly LiveChannel[],
  shares: Shares,
  { model }: StrategyCall,
): void {
  const costs = tier.map((channel) => costOf(parts, channel, model));
  const known = inDraw(shares).flatMap((at) => costs[at] ?? []);
  if (known.length === 0) return;
  const most = Math.min(...known) * TIE;
  keep(shares, "dearer", (at) => (costs[at] ?? Number.POSITIVE_INFINITY) <= most);
}

/** Of what cost is compared by: three parts of input, one of output. */
const SAMPLE = { promptTokens: 750_000, completionTokens: 250_000, cachedTokens: 0 };

/** A sheet has dollars of a million in place of ratios. */
const MILLION = 1_000_000;

/**
 * What a million LLM tokens cost at a channel, a quarter of them output: its own price of the model that it is asked for, else the list
 * price times what the channel costs of that. undefined = it has no price. Unit: quota.
 */
export function costOf(
  { prices, options }: Pick<StrategyParts, "prices" | "options">,
  channel: LiveChannel,
  model: string,
): number | undefined {
  const upstream = channel.mapping.get(model) ?? model;
  const { sheet, factor } = channel.costs;
  const own = sheet?.get(upstream);
  if (own !== undefined) return (Number(charge(SAMPLE, own)) * options.get("QuotaPerUnit")) / MILLION;
  const book = prices();
  // A group without a ratio has 1.
  const price = book.find(upstream, upstream, "");
  if (price === undefined || price.isFallback === true) return undefined;
  return (Number(charge(SAMPLE, price)) * Number(factor.n)) / Number(factor.d);
}

/**
 * Two are drawn by weight, and the better one is called: the best of all would get every node's calls at once. A conversation keeps the
 * channel that its own draw gives it, among those that are not slow.
 */
function preferFast(
  { pace }: StrategyParts,
  tier: readonly LiveChannel[],
  shares: Shares,
  { model, isStream, isSticky }: StrategyCall & { isSticky: boolean },
): void {
  const drawn = inDraw(shares);
  const speeds = drawn.map((at) => pace.speedOf(tier[at]?.id ?? 0, model, isStream));
  const usual = median(speeds.flatMap(({ ms }) => ms ?? []));
  if (isSticky) {
    const fastest = Math.min(...speeds.map(({ ms }) => ms ?? usual));
    keep(shares, "slower", (at) => (speeds[drawn.indexOf(at)]?.ms ?? usual) <= fastest * SLOW);
    return;
  }
  const lots = drawn.map((at, index) => {
    const { ms = usual, inFlight = 0 } = speeds[index] ?? {};
    return { at, weight: Number(shares[at]), score: ms * (inFlight + 1) };
  });
  for (const { at, odds } of oddsOfTwo(lots)) shares[at] = odds;
}

/** 1 where nothing is known. */
function median(known: readonly number[]): number {
  return known.toSorted((one, other) => one - other)[Math.floor(known.length / 2)] ?? 1;
}

interface ScoredLot {
  readonly at: number;
  readonly weight: number;
  /** The less the better. */
  readonly score: number;
}

/**
 * How often each is called when two different ones are drawn by weight and the better is taken; equals share what they win. Pure.
 * P(i) = w_i/W × (Σ w_j / (W − w_i) + Σ w_j / (W − w_j)), over the j that are worse.
 */
export function oddsOfTwo(lots: readonly ScoredLot[]): { readonly at: number; readonly odds: number }[] {
  const total = lots.reduce((sum, { weight }) => sum + weight, 0);
  if (lots.length < 2) return lots.map(({ at }) => ({ at, odds: 1 }));
  const best = lots.toSorted((one, other) => one.score - other.score);
  const odds: { at: number; odds: number }[] = [];
  let [worse, worseSecond] = [0, 0];
  for (let end = best.length; end > 0; ) {
    const score = best[end - 1]?.score;
    let start = end;
    while (start > 0 && best[start - 1]?.score === score) start -= 1;
    const equals = best.slice(start, end);
    const second = (weight: number) => weight / (total - weight);
    const tied = equals.reduce((sum, { weight }) => sum + weight, 0);
    const tiedSecond = equals.reduce((sum, { weight }) => sum + second(weight), 0);
    for (const { at, weight } of equals) {
      const first = (worse + (tied - weight) / 2) / (total - weight);
      const won = first + worseSecond + (tiedSecond - second(weight)) / 2;
      odds.push({ at, odds: (weight / total) * ((1 - EXPLORED) * won + EXPLORED) });
    }
    worse += tied;
    worseSecond += tiedSecond;
    end = start;
  }
  return odds;
}
