// Why calls go to which channel: every channel with its verdict, by the same functions that choose for the relay (requirements C47). Calls
// nothing and changes nothing; what it knows of failures is this process's view.
import type { RelayFormat } from "#contract/relay-endpoint.ts";
import type { RouteChannel, RouteExplanation, RouteVerdict } from "#contract/route.ts";
import { allowedBy } from "#contract/route-rule.ts";
import type { RenamedGroups } from "#server/coord/renamed-groups.ts";
import { isBelowCost } from "#server/money/below-cost.ts";
import { charge, type Price } from "#server/money/price.ts";
import type { PriceBook } from "#server/money/price-book.ts";
import { videoPrice } from "#server/money/video-price.ts";
import type { ChannelCap } from "#server/store/channel-limits.ts";
import { planCall } from "#server/upstream/call/plan.ts";
import { type Candidates, withKey } from "./candidates.ts";
import { type CapParts, type CapState, capStates, firstFull, limitsTold } from "./caps-left.ts";
import type { Full } from "./channel-caps.ts";
import { choose, withoutResting } from "./choice.ts";
import { outsideOf } from "./decision.ts";
import { type KeyParts, type KeysOutlook, keyCapsOf, outlookOf } from "./explain-keys.ts";
import { byRank, refusalOf } from "./explain-words.ts";
import { type CallFormat, callFormat, isCountOf, type Lack } from "./formats.ts";
import type { Health } from "./health.ts";
import type { LiveChannel } from "./live-channel.ts";
import { ruleFor } from "./route-rules.ts";
import { costOf, createStrategy, strategyOf } from "./strategy.ts";

export interface ExplainParts extends KeyParts, CapParts {
  readonly clock: CapParts["clock"];
  readonly candidates: Pick<Candidates, "all" | "find">;
  readonly health: Pick<Health, "openCircuits" | "restOf" | "wayRests" | "pace">;
  prices(): PriceBook;
  readonly renamedGroups: Pick<RenamedGroups, "otherNames">;
}

export interface AskedRoute {
  readonly group: string;
  readonly model: string;
  readonly format: RelayFormat;
  /** What rules go by beside: the team that pays (0 = none) and the size of the body. */
  readonly teamId: number;
  readonly bytes: number;
  /** Another group of the token comes after this one. */
  readonly mayMoveOn?: boolean;
}

/** An explanation, and what it knows of the keys of channels that have several. */
export interface Explained {
  readonly told: RouteExplanation;
  readonly keys: ReadonlyMap<number, KeysOutlook>;
}

/** Why a channel is passed over when its turn comes: then the relay goes on to the next one, as after a failed call. */
type Bar = Lack | "price_missing" | "below_cost" | "keys_none";

/** What is known of the candidates before one is chosen. */
interface Known {
  readonly format: CallFormat;
  readonly bars: ReadonlyMap<number, Bar>;
  readonly full: ReadonlyMap<number, Full>;
  readonly states: ReadonlyMap<number, CapState>;
  readonly keys: ReadonlyMap<number, KeysOutlook>;
  readonly priceFor: (channel: LiveChannel) => Price | undefined;
}

type Judged = readonly [RouteVerdict, odds: number];

/** Tells of every channel what becomes of it now. */
export async function explainRoute(parts: ExplainParts, asked: AskedRoute): Promise<Explained> {
  const { group, model } = asked;
  const found = parts.candidates.find(group, model);
  const groups = [group, ...parts.renamedGroups.otherNames(group)];
  const rule = ruleFor(parts.options.get("RouteRules"), { ...asked, groups });
  const candidates = rule === undefined ? found : allowedBy(rule, found);
  const known = await knownOf(parts, candidates, asked);
  const isCount = known.format.counts !== undefined;
  const verdicts = judge(parts, candidates, asked, known);
  const channels = parts.candidates
    .all()
    .map((channel) =>
      tell(
        parts,
        channel,
        { model, known },
        verdicts.get(channel.id) ?? [outsideOf(channel, group, model), 0],
      ),
    );
  const told = {
    group,
    model,
    by_token: known.format.isText,
    strategy: strategyOf(parts, group),
    native_first: parts.options.get("NativeFormatFirstEnabled"),
    rule: rule?.name ?? "",
    refusal: refusalOf(channels, asked, {
      rule: rule?.name,
      isPriced: isCount || candidates.some((one) => known.priceFor(one) !== undefined),
      isCountedHere: isCount && candidates.length > 0,
    }),
    channels: channels.sort(byRank),
  };
  return { told, keys: known.keys };
}

/** By the choice itself. */
function judge(
  parts: ExplainParts,
  candidates: readonly LiveChannel[],
  { group, model, mayMoveOn }: AskedRoute,
  { format, bars, full }: Known,
): ReadonlyMap<number, Judged> {
  const { endpoint, isStream, counts } = format;
  const isOpen = parts.health.openCircuits(model);
  const isOver = (mayMoveOn === true || counts !== undefined) && isOpen !== undefined;
  const left = isOver ? withoutResting(candidates, isOpen) : candidates;
  const verdicts = new Map<number, Judged>(
    candidates.flatMap(({ id }): [number, Judged][] => (isOpen?.(id) === true ? [[id, ["resting", 0]]] : [])),
  );
  const strategy = strategyOf(parts, group);
  const choice = {
    strategy: createStrategy({ ...parts, pace: parts.health.pace }, strategy, { model, endpoint, isStream }),
    tried: new Set(bars.keys()),
    full: new Set(full.keys()),
    random: 0,
    isOpen,
  };
  choose(left, choice, {
    most: Number.POSITIVE_INFINITY,
    tell({ id }, verdict, oddsOf) {
      const odds = oddsOf();
      // Chance decides among those that are left.
      verdicts.set(id, [odds > 0 ? "next" : (bars.get(id) ?? verdict), odds]);
    },
  });
  return verdicts;
}

/** What calls would find out of the candidates one after the other. */
async function knownOf(
  parts: ExplainParts,
  candidates: readonly LiveChannel[],
  asked: AskedRoute,
): Promise<Known> {
  const format = callFormat(asked.format);
  const priceFor = pricesOf(parts, candidates, asked);
  const states = await capStates(parts, [
    ...parts.candidates.all().flatMap(({ limits }) => limits ?? []),
    ...candidates.flatMap(keyCapsOf),
  ]);
  const takesFrom = takingOf(format);
  const bars = new Map<number, Bar>();
  const full = new Map<number, Full>();
  const keys = new Map<number, KeysOutlook>();
  for (const channel of candidates) {
    const { id, limits, keys: ring } = channel;
    const outlook = ring && outlookOf(parts, channel, ring, { model: asked.model, states, takesFrom });
    if (outlook !== undefined) keys.set(id, outlook);
    const spent = outlook && spentBy(outlook);
    const bar =
      barOf(parts, channel, asked, { format, price: priceFor(channel) }) ??
      (spent === "keys_none" ? spent : undefined);
    if (bar !== undefined) bars.set(id, bar);
    const room =
      firstFull(limits?.filter(takesFrom), states) ??
      parts.gate.fullNow(channel) ??
      (spent === "keys_none" ? undefined : spent);
    if (room !== undefined) full.set(id, room);
  }
  return { format, bars, full, states, keys, priceFor };
}

/** Which limits calls take from: a count uses no tokens and no money of its channel. */
export function takingOf({ counts }: Pick<CallFormat, "counts">): (cap: ChannelCap) => boolean {
  return counts === undefined ? () => true : ({ name }) => name === "rpm" || name === "running";
}

/** Why none of its keys is left, or has room; undefined = some is. */
function spentBy({ keys, full }: KeysOutlook): Full | "keys_none" | undefined {
  if (keys.some(({ verdict }) => verdict === "next")) return undefined;
  const [first] = full.values();
  return first ?? "keys_none";
}

/**
 * What calls to each channel are charged by: one without a price of its own takes that of the first candidate that has one, but for videos and
 * batches; all responses in the background are charged by the first.
 */
function pricesOf(
  { prices }: ExplainParts,
  candidates: readonly LiveChannel[],
  { model, group, format }: AskedRoute,
): (channel: LiveChannel) => Price | undefined {
  const book = prices();
  const own = ({ mapping }: LiveChannel) => {
    const upstreamModel = mapping.get(model) ?? model;
    return format === "videos"
      ? videoPrice(book, { model, upstreamModel, resolution: "", group })
      : book.show(model, upstreamModel, group);
  };
  if (format === "videos" || format === "batches") return own;
  const priced = candidates.find((channel) => own(channel) !== undefined);
  const first = priced && own(priced);
  return format === "background" ? () => first : (channel) => own(channel) ?? first;
}

/** Why the relay passes it over when its turn comes. */
function barOf(
  { options, prices }: ExplainParts,
  channel: LiveChannel,
  { model, format: name }: AskedRoute,
  { format, price }: { readonly format: CallFormat; readonly price: Price | undefined },
): Bar | undefined {
  const lack = format.lacks(channel);
  if (lack !== undefined || format.plan === undefined)
    return lack ?? (name === "videos" && price === undefined ? "price_missing" : undefined);
  const key = { ...format.plan, model: channel.mapping.get(model) ?? model, apiVersion: "", isStream: false };
  const plan = planCall(withKey(channel), key, (option) => options.get(option));
  if (plan.kind !== "plan") return "endpoint_absent";
  if (format.counts !== undefined) return isCountOf(plan, format.counts) ? undefined : "endpoint_absent";
  if (price === undefined || !options.get("RefuseBelowCostEnabled")) return undefined;
  const wanted = { model, promptTokens: 0, isSpoken: name === "realtime" };
  return isBelowCost({ options, prices }, { channel, sold: price }, wanted) ? "below_cost" : undefined;
}

function tell(
  parts: ExplainParts,
  channel: LiveChannel,
  { model, known }: { readonly model: string; readonly known: Known },
  [verdict, odds]: Judged,
): RouteChannel {
  const { id, name, type, priority, weight } = channel;
  const { format, full, states, priceFor } = known;
  const room = verdict === "limited" ? full.get(id) : undefined;
  const rest = verdict === "resting" ? parts.health.restOf(channel, model) : undefined;
  const untilMs = room?.untilMs ?? rest?.untilMs ?? 0;
  const speed = parts.health.pace.speedOf(id, model, format.isStream);
  return {
    ...{ id, name, type, priority, weight, verdict, odds },
    limit: room?.name ?? "",
    limit_of: room?.of ?? "channel",
    rests: rest?.what ?? "",
    until: Math.ceil(untilMs / 1_000),
    ...{ reason: "", since: 0 },
    upstream_model: channel.mapping.get(model) ?? model,
    cost: costOf(parts, channel, model) ?? null,
    latency_ms: Math.round(speed.ms ?? 0),
    in_flight: speed.inFlight,
    price: format.isText ? priceTold(priceFor(channel)) : null,
    limits: limitsTold(channel.limits, states),
    keys: [],
    keys_total: channel.keys?.enabled ?? 0,
  };
}

const MILLION = 1_000_000;

function priceTold(price: Price | undefined): RouteChannel["price"] {
  if (price === undefined) return null;
  const plain = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
  return {
    input: Number(charge({ ...plain, promptTokens: MILLION }, price)),
    output: Number(charge({ ...plain, completionTokens: MILLION }, price)),
  };
}
