// What a task costs: by the price of the moment it was submitted, for what the upstream says it made, or else for what was asked. Pure.
import type { VideoSize } from "#contract/video.ts";
import { charge, createPrice, estimate, explain, type PriceRatios } from "#server/money/price.ts";
import { chargeUnits, explainUnits } from "#server/money/units.ts";

/** What the row of a task remembers of it, as JSON. No prompt. */
export interface TaskFacts {
  readonly seconds: number;
  /** As the client wrote it; "" = it did not. */
  readonly size: string;
  readonly resolution: string;
  /** Of the wire: what is charged. */
  readonly unit: "token" | "video";
  readonly ratios: PriceRatios;
  readonly upstreamModel: string;
  readonly group: string;
  readonly isGroupNamed: boolean;
}

/** What an upstream says it made. */
export interface Made {
  readonly seconds?: number | undefined;
  readonly tokens?: number | undefined;
}

export interface TaskCharge {
  readonly amount: bigint;
  readonly completionTokens: number;
  /** The log's explanation. */
  readonly content: string;
  readonly isEstimated: boolean;
}

const REMARK_UNTOLD = "（上游未返回用量，按请求的时长计）";
const FRAMES_PER_SECOND = 24;
const PIXELS_PER_TOKEN = 1_024;
/** Wider frames, more of them, and sound: a report of more than this many times the usual is not believed. */
const MOST_TIMES = 4;
/** Of a size that nobody named: the dearest that is usual. */
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
  return facts.unit === "video"
    ? chargeUnits({ unit: "video", seconds: facts.seconds }, price)
    : estimate(0, usualTokens(facts), price, 0);
}

/** What a finished task costs. */
export function taskCharge(facts: TaskFacts, made: Made): TaskCharge {
  const price = createPrice(facts.ratios);
  const remark = facts.isGroupNamed ? `（分组 ${facts.group}）` : "";
  if (facts.unit === "video") {
    const told = isWithin(made.seconds, facts.seconds) ? made.seconds : undefined;
    const counted = { unit: "video", seconds: told ?? facts.seconds } as const;
    const amount = chargeUnits(counted, price);
    return {
      amount,
      completionTokens: 0,
      content: explainUnits(counted, price, amount) + remark,
      isEstimated: false,
    };
  }
  const usual = usualTokens(facts);
  const told = isWithin(made.tokens, usual * MOST_TIMES) ? Math.ceil(made.tokens) : undefined;
  const completionTokens = told ?? usual;
  const usage = { promptTokens: 0, completionTokens, cachedTokens: 0 };
  const amount = charge(usage, price);
  const content = explain(usage, price, amount) + (told === undefined ? REMARK_UNTOLD : "") + remark;
  return { amount, completionTokens, content, isEstimated: told === undefined };
}

function isWithin(told: number | undefined, most: number): told is number {
  return told !== undefined && told > 0 && told <= most;
}
