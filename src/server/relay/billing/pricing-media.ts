// What pictures and sound cost (requirements W12, T22): by the piece where the model's price is one, else by the tokens the upstream
// reported, else by common values.
import { imageTokens } from "#contract/image-prices.ts";
import { charge, estimate, explain, type Price } from "#server/money/price.ts";
import { type Counted, chargeUnits, explainUnits, roughSeconds } from "#server/money/units.ts";
import { leastSeconds, mostSeconds, subtitleSeconds } from "#server/relay/media/sound.ts";
import { pictureFault } from "#server/relay/media/tasks.ts";
import type { TaskFacts } from "#server/relay/text/incoming.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import { parseObject } from "#server/upstream/handlers/classify.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import { readUsage, type TokenUsage, type UsageBounds } from "#server/upstream/usage.ts";
import { NO_USAGE, type Pricing, type Reply, type Sum } from "./pricing.ts";

/** The most that is plausible: for one picture, for input pictures and instructions, for a second of sound. */
const MOST_PICTURE = 65_536;
const MOST_PROMPT = 1_048_576;
const MOST_PER_SECOND = 100;
/** Audio tokens in a second of generated speech, and in a second of heard speech (vendors/realtime). */
const SPOKEN_TOKENS_PER_SECOND = 20;
const HEARD_TOKENS_PER_SECOND = 10;
/** Letters, and Chinese characters, spoken in a second. */
const LETTERS_PER_SECOND = 15;
const HAN_PER_SECOND = 4;
/** Common text of a second of speech. */
const TEXT_TOKENS_PER_SECOND = 4;

const REMARK_ESTIMATED = "（上游未返回用量，按本地估算）";
const REMARK_GONE = "（客户端在结果返回前断开）";
const REMARK_IMPOSSIBLE = "（上游用量异常，不予采信，按本地估算）";

/** The whole cost of a task is reserved before the call: it has no running price. */
export class MediaPricing implements Pricing {
  readonly promptTokens = 0;
  readonly #task: TaskFacts;

  constructor(task: TaskFacts) {
    this.#task = task;
  }

  firstAmount(price: Price): bigint {
    const counted = this.#counted(undefined, this.#task, price);
    if (counted !== undefined) return chargeUnits(counted.counted, price);
    const { promptTokens, completionTokens } = commonUsage(this.#task);
    return estimate(promptTokens, completionTokens, price, 0);
  }

  /** A name that has no table of sizes may stand for a model that has one. */
  fault(price: Price): RelayFault | undefined {
    if (this.#task.kind !== "images") return undefined;
    const fault = pictureFault(price.model, this.#task);
    // The channel has no fault, and another one may map to another model.
    return fault && { ...fault, retry: true };
  }

  /** Never: a partial picture is output without text and without usage. */
  isEmpty(): boolean {
    return false;
  }

  sum(reply: Reply, _isGone: boolean, price: Price): Sum {
    const task = reply === undefined ? begun(this.#task) : this.#task;
    const counted = this.#counted(reply, task, price);
    const estimated = reply === undefined ? REMARK_GONE : REMARK_ESTIMATED;
    if (counted !== undefined) {
      const amount = chargeUnits(counted.counted, price);
      const remark = counted.isEstimated || reply === undefined ? estimated : "";
      const content = explainUnits(counted.counted, price, amount) + remark;
      return { usage: NO_USAGE, amount, content, ...counted };
    }
    const read =
      reply?.usage === undefined ? undefined : readUsage(reply.usage, boundsOf(task), reply.quirks);
    const common = commonUsage(task);
    const usage = read?.usage ?? (reply === undefined ? inputOf(common) : common);
    const amount = charge(usage, price);
    const isEstimated = read?.usage === undefined;
    const remark = read?.isImpossible === true ? REMARK_IMPOSSIBLE : isEstimated ? estimated : "";
    const content = explain(usage, price, amount) + remark;
    return { usage, amount, content, isEstimated };
  }

  /** The pieces to charge; undefined = the model is charged by tokens. */
  #counted(
    reply: Reply,
    task: TaskFacts,
    price: Price,
  ): { counted: Counted; isEstimated: boolean } | undefined {
    const { unit = "token" } = price;
    if (task.kind === "images" && unit === "image") {
      const { size, quality } = task;
      return {
        counted: { unit, images: Math.min(imagesIn(reply) ?? task.images, task.images), size, quality },
        isEstimated: false,
      };
    }
    if (task.kind === "speech" && unit === "character")
      return { counted: { unit, characters: [...task.text].length }, isEstimated: false };
    if (task.kind !== "sound" || (unit !== "minute" && unit !== "second")) return undefined;
    const told = secondsIn(reply, task) ?? task.seconds;
    const seconds = told ?? Math.max(roughSeconds(task.bytes), leastSeconds(reply?.text() ?? ""));
    const length = unit === "minute" ? "second" : "sound";
    return { counted: { unit: length, seconds }, isEstimated: told === undefined };
  }
}

/**
 * The part of a task that is charged when its client leaves before the answer: the input, and of pictures that are charged by the
 * piece the one that was begun (docs/decisions/006, requirements M16).
 */
function begun(task: TaskFacts): TaskFacts {
  return task.kind === "images" ? { ...task, images: 1 } : task;
}

function inputOf(usage: TokenUsage): TokenUsage {
  return { ...usage, completionTokens: 0, imageCompletionTokens: 0, audioCompletionTokens: 0 };
}

/** Pictures in a whole reply, when they can be counted: an upstream may give fewer than were requested. */
function imagesIn(reply: Reply): number | undefined {
  if (reply?.kind !== "whole") return undefined;
  const data = parseObject(reply.body)?.["data"];
  return Array.isArray(data) && data.length > 0 ? data.length : undefined;
}

type Sound = Extract<TaskFacts, { kind: "sound" }>;

/**
 * The length of a sound as a reply reports it, within what its file can hold: in its usage, in its details, or by its last subtitle.
 * Unit: seconds.
 */
function secondsIn(reply: Reply, { bytes, hasStamps }: Sound): number | undefined {
  if (reply === undefined) return undefined;
  const priced = secondsOf(reply.usage?.["seconds"], bytes);
  if (priced !== undefined || reply.kind === "stream") return priced;
  const body: JsonRecord | undefined = asObject(parseObject(reply.body));
  if (body !== undefined) return secondsOf(body["duration"], bytes);
  return hasStamps ? secondsOf(subtitleSeconds(reply.text()), bytes) : undefined;
}

function secondsOf(value: unknown, bytes: number): number | undefined {
  const seconds = typeof value === "string" ? Number(value) : value;
  const isTold = typeof seconds === "number" && Number.isFinite(seconds) && seconds > 0;
  return isTold ? Math.min(seconds, mostSeconds(bytes)) : undefined;
}

/** The most that a task can plausibly have used. */
function boundsOf(task: TaskFacts): UsageBounds {
  switch (task.kind) {
    case "images":
      return { promptTokens: MOST_PROMPT, completionTokens: task.images * MOST_PICTURE };
    case "speech": {
      const slowest = (60 + task.text.length) * MOST_PER_SECOND;
      return { promptTokens: MOST_PROMPT, completionTokens: slowest };
    }
    case "sound": {
      const tokens = Math.ceil(mostSeconds(task.bytes)) * MOST_PER_SECOND;
      return { promptTokens: tokens, completionTokens: tokens };
    }
    default:
      throw new Error(`unknown task ${JSON.stringify(task satisfies never)}`);
  }
}

/** The common usage of a task of this size: for the reservation, and for upstreams that report none. */
function commonUsage(task: TaskFacts): TokenUsage {
  switch (task.kind) {
    case "images": {
      const completionTokens = task.images * imageTokens(task);
      const promptTokens = Math.ceil(Buffer.byteLength(task.prompt) / 3);
      return { ...NO_USAGE, promptTokens, completionTokens, imageCompletionTokens: completionTokens };
    }
    case "speech": {
      const han = task.text.match(/\p{Script=Han}/gu)?.length ?? 0;
      const seconds = han / HAN_PER_SECOND + ([...task.text].length - han) / LETTERS_PER_SECOND;
      const completionTokens = Math.ceil(seconds * SPOKEN_TOKENS_PER_SECOND);
      const promptTokens = Math.ceil(Buffer.byteLength(task.text) / 3);
      return { ...NO_USAGE, promptTokens, completionTokens, audioCompletionTokens: completionTokens };
    }
    case "sound": {
      const seconds = task.seconds ?? roughSeconds(task.bytes);
      const promptTokens = Math.ceil(seconds * HEARD_TOKENS_PER_SECOND);
      const completionTokens = Math.ceil(seconds * TEXT_TOKENS_PER_SECOND);
      return { ...NO_USAGE, promptTokens, completionTokens, audioPromptTokens: promptTokens };
    }
    default:
      throw new Error(`unknown task ${JSON.stringify(task satisfies never)}`);
  }
}
