// What a task costs: by the price of the moment it was submitted, for what the upstream says it made, or else for what was asked. Pure.
import type { VideoSize } from "#contract/video.ts";
import { charge, createPrice, estimate, explain, type PriceRatios } from "#server/money/price.ts";
import { chargeUnits, explainUnits } from "#server/money/units.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import { readUsage, type TokenUsage } from "#server/upstream/usage.ts";

/** What the row of a task remembers of it, as JSON. No prompt. */
export interface TaskFacts {
  readonly seconds: number;
  /** As the client wrote it; "" = it did not. */
  readonly size: string;
  readonly resolution: string;
  /** Of the wire: what is charged. */
  readonly unit: "token" | "video" | "text";
  readonly ratios: PriceRatios;
  /** Of the price tables; absent = an older program noted none. */
  readonly priceVersion?: number | undefined;
  /** Of text: dearer prices of long prompts, and the usage that was set aside for. */
  readonly tiers?: readonly { readonly above: number; readonly ratios: PriceRatios }[];
  readonly usual?: Pick<TokenUsage, "promptTokens" | "completionTokens">;
  readonly upstreamModel: string;
  readonly group: string;
  readonly isGroupNamed: boolean;
}

/** What an upstream says it made. */
export interface Made {
  readonly seconds?: number | undefined;
  readonly tokens?: number | undefined;
  readonly usage?: JsonRecord | undefined;
}

export interface TaskCharge {
  readonly amount: bigint;
  readonly usage: TokenUsage;
  /** The log's explanation. */
  readonly content: string;
  readonly isEstimated: boolean;
}

const REMARK_UNTOLD = "（上游未返回用量，按请求的时长计）";
const REMARK_NO_USAGE = "（上游未返回用量，按本地估算）";
const NOTHING: TokenUsage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
const MOST_TEXT = { promptTokens: 20_000_000, completionTokens: 2_000_000 };
const FRAMES_PER_SECOND = 24;
const PIXELS_PER_TOKEN = 1_024;
/** Wider frames, more of them, and sound: a report of more than this many times the usual is not believed. */
const MOST_TIMES = 4;
/** Of a size that the client did not name: the dearest that is usual. */
const USUAL: Pick<VideoSize, "width" | "height"> = { width: 1_920, height: 1_080 };
const WIDE = 16 / 9;

/** LLM tokens that a video of this size comes to. Source: vendors/video-ark. */
export function usualTokens({ seconds, resolution }: Pick<TaskFacts, "seconds" | "resolution">): number {
  const height = Number.parseInt(resolution, 10);
  const { width, height: tall } = Number.isNaN(height) ? USUAL : { width: height * WIDE, height };
  return Math.ceil((width * tall * FRAMES_PER_SECOND * seconds) / PIXELS_PER_TOKEN);
}

/** What is set aside for a task. Unit: quota. */
export function taskEstimate(facts: Omit<TaskFacts, "upstreamModel" | "group" | "isGroupNamed">): bigint {
  const price = createPrice(facts.ratios);
  if (price.unit === "call") return estimate(0, 0, price, 0);
  return facts.unit === "video"
    ? chargeUnits({ unit: "video", seconds: facts.seconds }, price)
    : estimate(0, usualTokens(facts), price, 0);
}

/** What a finished task costs. */
export function taskCharge(facts: TaskFacts, made: Made): TaskCharge {
  const charged = chargedBy(facts, made);
  return facts.isGroupNamed ? { ...charged, content: `${charged.content}（分组 ${facts.group}）` } : charged;
}

function chargedBy(facts: TaskFacts, made: Made): TaskCharge {
  if (facts.ratios.unit === "call") return callCharge(facts);
  return facts.unit === "video" ? videoCharge(facts, made) : tokenCharge(facts, made);
}

/** However long it is. */
function callCharge({ ratios }: TaskFacts): TaskCharge {
  const price = createPrice(ratios);
  const amount = estimate(0, 0, price, 0);
  return { amount, usage: NOTHING, content: explain(NOTHING, price, amount), isEstimated: false };
}

function videoCharge(facts: TaskFacts, made: Made): TaskCharge {
  const price = createPrice(facts.ratios);
  const told = isWithin(made.seconds, facts.seconds) ? made.seconds : undefined;
  const counted = { unit: "video", seconds: told ?? facts.seconds } as const;
  const amount = chargeUnits(counted, price);
  return { amount, usage: NOTHING, content: explainUnits(counted, price, amount), isEstimated: false };
}

function tokenCharge(facts: TaskFacts, made: Made): TaskCharge {
  const tiers = (facts.tiers ?? []).map(({ above, ratios }) => ({ above, price: createPrice(ratios) }));
  const price = createPrice(facts.ratios, tiers);
  const told = facts.unit === "text" ? textUsage(made) : videoUsage(facts, made);
  const remark = facts.unit === "text" ? REMARK_NO_USAGE : REMARK_UNTOLD;
  const usual = facts.usual ?? { promptTokens: 0, completionTokens: usualTokens(facts) };
  const usage = told ?? { ...NOTHING, ...usual };
  const amount = charge(usage, price);
  const content = explain(usage, price, amount) + (told === undefined ? remark : "");
  return { amount, usage, content, isEstimated: told === undefined };
}

function videoUsage(facts: TaskFacts, { tokens }: Made): TokenUsage | undefined {
  const most = usualTokens(facts) * MOST_TIMES;
  return isWithin(tokens, most) ? { ...NOTHING, completionTokens: Math.ceil(tokens) } : undefined;
}

/** As the upstream reports it, within what any model takes. */
function textUsage({ usage }: Made): TokenUsage | undefined {
  return usage === undefined ? undefined : readUsage(usage, MOST_TEXT)?.usage;
}

function isWithin(told: number | undefined, most: number): told is number {
  return told !== undefined && told > 0 && told <= most;
}
