// What the size and the quality of a picture do to its price. Pure data and look-ups; it charges nothing.

/** One request for pictures, as the client gave it; "" = it did not say. */
export interface ImageKind {
  readonly size: string;
  readonly quality: string;
}

/** Factors on the model's ratio, as exact text, of what stands in a model's list of prices. */
interface ImageTable {
  /** The first one stands when no size is given. */
  readonly sizes: ReadonlyMap<string, string>;
  /** Of a square and of any other size; `[]` = no factor. */
  readonly qualities: ReadonlyMap<string, readonly [square: string, other: string] | readonly []>;
}

const SQUARE = "1024x1024";

/** Source: requirements W12.1. */
const TABLES: Readonly<Record<string, ImageTable>> = {
  "dall-e-2": {
    sizes: new Map([
      [SQUARE, "1.25"],
      ["512x512", "1.125"],
      ["256x256", "1"],
    ]),
    qualities: new Map([["standard", []]]),
  },
  "dall-e-3": {
    sizes: new Map([
      [SQUARE, "1"],
      ["1024x1792", "2"],
      ["1792x1024", "2"],
    ]),
    qualities: new Map<string, readonly [string, string] | readonly []>([
      ["standard", []],
      ["hd", ["2", "1.5"]],
    ]),
  },
};

function tableOf(model: string): ImageTable | undefined {
  return Object.hasOwn(TABLES, model) ? TABLES[model] : undefined;
}

/**
 * What of a request has no price in the model's table; undefined = all has one, or the model has no table. The words are OpenAI's,
 * letter by letter: an upstream may read others as one of them (`HD`).
 */
export function unlistedPart(model: string, { size, quality }: ImageKind): "size" | "quality" | undefined {
  const table = tableOf(model);
  if (table === undefined) return undefined;
  if (size !== "" && !table.sizes.has(size)) return "size";
  return quality === "" || table.qualities.has(quality) ? undefined : "quality";
}

/**
 * The factors on the model's ratio of one picture, to be multiplied; models without a table have none, and so has what stands in no
 * table.
 */
export function imageFactors(model: string, { size, quality }: ImageKind): readonly string[] {
  const table = tableOf(model);
  if (table === undefined) return [];
  const [first = ""] = table.sizes.keys();
  const asked = size === "" ? first : size;
  const factor = table.sizes.get(asked);
  if (factor === undefined) return [];
  const [square, other] = table.qualities.get(quality) ?? [];
  const dearer = asked === SQUARE ? square : other;
  return dearer === undefined ? [factor] : [factor, dearer];
}

/** Output tokens of a gpt-image picture: square, tall, wide (vendors/prices). */
const IMAGE_TOKENS: Readonly<Record<string, readonly [square: number, tall: number, wide: number]>> = {
  low: [272, 408, 400],
  medium: [1056, 1584, 1568],
  high: [4160, 6240, 6208],
};

/**
 * How many LLM tokens of output one picture of a model that is charged by tokens comes to, for a reservation and for upstreams
 * that tell no usage. An open choice (`auto`) counts as the dearest.
 */
export function imageTokens({ size, quality }: ImageKind): number {
  const [square, tall, wide] = (Object.hasOwn(IMAGE_TOKENS, quality) ? IMAGE_TOKENS[quality] : undefined) ?? [
    4160, 6240, 6208,
  ];
  if (size === "1024x1024") return square;
  return size === "1536x1024" ? wide : tall;
}
