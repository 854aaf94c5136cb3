// Vendor price lists as they are printed, and how they become ratios. Pure; it knows no model.

/** What one unit of a model's ratio is charged for; models without an entry are charged by LLM tokens. */
export type ChargeUnit =
  /** Per image: quota = ratio × size factor × 1000 × n (requirements W12.1). */
  | "image"
  /** Per input character of a speech request (requirements W12.2). */
  | "character"
  /** Per LLM token of the spoken text; by duration, 200 of them make a minute (whisper-1: 15 × 200 = 3,000 quota = $0.006). */
  | "spoken";

/** Prices per million LLM tokens: input, output, cache read, cache write. */
type Prices = readonly [
  input: number,
  output?: number | undefined,
  cacheRead?: number | undefined,
  cacheWrite?: number | undefined,
];

/** What only some models have; prices per million LLM tokens. */
export interface MorePrices {
  readonly audioIn?: number;
  readonly audioOut?: number;
  readonly imageIn?: number;
  readonly imageOut?: number;
  /** Prices of the whole request when its input has more than so many LLM tokens (requirements T22.2). */
  readonly above?: Readonly<Record<number, Prices>>;
}

/**
 * Models with one price, names separated by spaces, then the prices. Without an output price the completion ratio comes from
 * the family rule.
 * Example: `["gpt-5.4", 2.5, 15, 0.25, undefined, { above: { 272_000: [5, 22.5] } }]`.
 */
export type PriceRow = readonly [
  names: string,
  input: number,
  output?: number | undefined,
  cacheRead?: number | undefined,
  cacheWrite?: number | undefined,
  more?: MorePrices,
];

export interface PriceSheet {
  /** Input price that makes a model ratio of 1. */
  readonly unitPrice: number;
  readonly unit?: ChargeUnit;
  readonly rows: readonly PriceRow[];
}

/** Prices per million that make ratio 1: $0.002 per thousand, and the same at 7 yuan to the dollar (requirements T22.1). */
export const usd = 2;
export const cny = 14;
/** Prices in yuan stand for those in dollars so many times. */
export const yuanOfDollar = cny / usd;
/** Price of one image that makes ratio 1: 1000 quota of 500,000 to the dollar. */
export const usdPerImage = 0.002;
export const cnyPerImage = 0.014;
/** For rows that give the ratio itself. */
export const asRatio = 1;

export interface Ratios {
  readonly model: Record<string, number>;
  readonly completion: Record<string, number>;
  readonly cache: Record<string, number>;
  readonly cacheWrite: Record<string, number>;
  readonly audio: Record<string, number>;
  readonly audioCompletion: Record<string, number>;
  readonly image: Record<string, number>;
  readonly imageCompletion: Record<string, number>;
  readonly unit: Record<string, ChargeUnit>;
}

/** Turns sheets into ratio tables. Every name stands in one row only. */
export function ratiosOf(sheets: readonly PriceSheet[]): Ratios {
  const ratios: Ratios = {
    model: table(),
    completion: table(),
    cache: table(),
    cacheWrite: table(),
    audio: table(),
    audioCompletion: table(),
    image: table(),
    imageCompletion: table(),
    unit: table(),
  };
  for (const sheet of sheets) {
    for (const [names, input, output, cacheRead, cacheWrite, more = {}] of sheet.rows) {
      for (const name of names.split(" ")) {
        enter(ratios, name, [input, output, cacheRead, cacheWrite], sheet);
        enterMedia(ratios, name, input, more);
        for (const [above, prices] of Object.entries(more.above ?? {}))
          enter(ratios, tierName(name, Number(above)), prices, sheet);
      }
    }
  }
  return ratios;
}

/** The name under which tables keep the prices of a model's long prompts: `gpt-5.4>272000`. */
export function tierName(model: string, above: number): string {
  return `${model}>${above}`;
}

/** A name of `tierName`: the model, and above how much input. */
export const TIER_NAME = /^(.+)>(\d{1,15})$/;

/** Whether a row of the tables is a tier of a model. */
export function isTierName(name: string): boolean {
  return TIER_NAME.test(name);
}

/** Makes a table without a prototype: names come from requests, and `constructor` must not be found. */
export function table<T>(): Record<string, T> {
  return Object.create(null);
}

function enter(ratios: Ratios, name: string, prices: Prices, sheet: PriceSheet): void {
  const [input, output, cacheRead, cacheWrite] = prices;
  ratios.model[name] = sixDecimals(input / sheet.unitPrice);
  if (sheet.unit !== undefined) ratios.unit[name] = sheet.unit;
  if (input === 0) return;
  if (output !== undefined) ratios.completion[name] = sixDecimals(output / input);
  if (cacheRead !== undefined) ratios.cache[name] = sixDecimals(cacheRead / input);
  if (cacheWrite !== undefined) ratios.cacheWrite[name] = sixDecimals(cacheWrite / input);
}

/** Output of a kind is told as a multiple of the input of its kind (requirements T22.1). */
function enterMedia(ratios: Ratios, name: string, input: number, more: MorePrices): void {
  const { audioIn, audioOut, imageIn, imageOut } = more;
  if (audioIn !== undefined) ratios.audio[name] = sixDecimals(audioIn / input);
  if (audioOut !== undefined) ratios.audioCompletion[name] = sixDecimals(audioOut / (audioIn ?? input));
  if (imageIn !== undefined) ratios.image[name] = sixDecimals(imageIn / input);
  if (imageOut !== undefined) ratios.imageCompletion[name] = sixDecimals(imageOut / (imageIn ?? input));
}

/** Ratios are read back from their decimal text, so they carry no more than six decimals. */
function sixDecimals(value: number): number {
  return Math.round(value * 1_000_000) / 1_000_000;
}
