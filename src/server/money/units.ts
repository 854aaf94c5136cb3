// Charges that count something else than LLM tokens: pictures, characters, seconds of sound. Exact, pure and total like price.ts.
import { type ImageKind, imageFactors } from "#contract/image-prices.ts";
import { TOKENS_OF_UNIT } from "#contract/price-unit.ts";
import { collect, formula, nearest, type Price, shown, whole } from "./price.ts";
import { exactText, multiply, parseRational, type Rational } from "./rational.ts";

/** What is counted, and how much of it there was. Counts are whole numbers; seconds may have a fraction. */
export type Counted =
  | ({ readonly unit: "image"; readonly images: number } & ImageKind)
  | { readonly unit: "character"; readonly characters: number }
  /** Of sound, at a price of a minute. */
  | { readonly unit: "second"; readonly seconds: number }
  /** Of sound, at a price of a second. */
  | { readonly unit: "sound"; readonly seconds: number }
  /** Of video that is made. */
  | { readonly unit: "video"; readonly seconds: number };

/** A picture of ratio 1 costs as much as so many LLM tokens (requirements W12.1). */
const TOKENS_PER_IMAGE = BigInt(TOKENS_OF_UNIT.image);
/** LLM tokens in a minute of sound: whisper-1 at ratio 15 is 3,000 quota = $0.006 (requirements W12.3). */
const TOKENS_PER_MINUTE = BigInt(TOKENS_OF_UNIT.minute);
/** A second at ratio 1 costs as much as a picture: $0.002. */
const TOKENS_PER_SECOND = BigInt(TOKENS_OF_UNIT.second);
const MS_PER_MINUTE = 60_000n;
/** Sound is rarely coded in less: 32 kbit/s. */
const SOUND_BYTES_PER_SECOND = 4_000;

/** How many times the model's ratio is to be paid, and the same as the log's formula writes it. */
interface Count {
  readonly times: Rational;
  readonly text: string;
  readonly label: string;
}

function countOf(counted: Counted, model: string): Count {
  if (counted.unit === "character") {
    const characters = whole(counted.characters);
    return { times: { n: characters, d: 1n }, text: String(characters), label: "按字符计费" };
  }
  if (counted.unit === "video" || counted.unit === "sound") {
    const ms = wholeMs(counted.seconds);
    return {
      times: { n: ms * TOKENS_PER_SECOND, d: 1000n },
      text: `${exactText({ n: ms, d: 1000n })} × ${TOKENS_PER_SECOND}`,
      label: counted.unit === "video" ? "按视频时长（秒）计费" : "按时长（秒）计费",
    };
  }
  if (counted.unit === "second") {
    const ms = wholeMs(counted.seconds);
    return {
      times: { n: ms * TOKENS_PER_MINUTE, d: MS_PER_MINUTE },
      text: `${exactText({ n: ms, d: 1000n })} × ${TOKENS_PER_MINUTE}/60`,
      label: "按时长（秒）计费",
    };
  }
  const images = whole(counted.images);
  // What the model has no price for was refused before; should it come all the same, it costs the plain price.
  const factors = imageFactors(model, counted);
  const plain = { n: images * TOKENS_PER_IMAGE, d: 1n };
  return {
    times: factors.map(parseRational).reduce(multiply, plain),
    text: [images, ...factors, TOKENS_PER_IMAGE].join(" × "),
    label: "按张计费",
  };
}

/** Milliseconds, rounded up. */
function wholeMs(seconds: number): bigint {
  return whole(Math.ceil(seconds * 1000));
}

/**
 * The charge of a call that is not counted in LLM tokens: ceil(count × unit × model ratio × group ratio); at least 1 when the
 * ratio is not 0, 0 when nothing was counted. Known before the call for pictures and characters, so it is what to set aside.
 * Unit: quota. Source: requirements W12, W21.1.
 */
export function chargeUnits(counted: Counted, price: Price): bigint {
  const { times } = countOf(counted, price.model);
  if (times.n === 0n) return 0n;
  return collect(times.n * price.weights.text, times.d * price.weights.over, price.weights);
}

/** What was counted, by a price, times `scale`: rounded to the nearest whole number. */
export function costOfUnits(counted: Counted, price: Price, scale: Rational): number {
  const { times } = countOf(counted, price.model);
  return nearest(times.n * price.weights.text * scale.n, times.d * price.weights.over * scale.d);
}

/** Like `explain`. Example: `按张计费，模型倍率 20，分组倍率 1；(1 × 2 × 1.5 × 1000) × 20 × 1 = 60000`. */
export function explainUnits(counted: Counted, price: Price, charged: bigint): string {
  const { text, label } = countOf(counted, price.model);
  const ratios = `模型倍率 ${shown(price.modelRatio)}，分组倍率 ${shown(price.groupRatio)}`;
  return `${label}，${ratios}；${formula(text, price, charged)}`;
}

/** How long a sound file of this size may be, before it has been decoded. Unit: seconds. */
export function roughSeconds(bytes: number): number {
  return bytes / SOUND_BYTES_PER_SECOND;
}
