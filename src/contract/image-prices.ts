// What the size and the quality of a picture do to its price. Pure data and look-ups; it charges nothing.

/** One request for pictures, as the client gave it; "" = it did not say. */
export interface ImageKind {
  readonly size: string;
  readonly quality: string;
}

/** Size → factor on the model's ratio, as exact text. The first one stands when no size is given. Source: contract 12.1. */
const SIZE_FACTORS: Readonly<Record<string, ReadonlyMap<string, string>>> = {
  "dall-e-2": new Map([
    ["1024x1024", "1.25"],
    ["512x512", "1.125"],
    ["256x256", "1"],
  ]),
  "dall-e-3": new Map([
    ["1024x1024", "1"],
    ["1024x1792", "2"],
    ["1792x1024", "2"],
  ]),
};

/** `hd` of dall-e-3, of a square and of any other size (contract 12.1). */
const HD_SQUARE = "2";
const HD_WIDE = "1.5";

/**
 * The factors on the model's ratio of one picture, to be multiplied; models without a table of sizes have none. undefined =
 * the model has no such size.
 */
export function imageFactors(model: string, { size, quality }: ImageKind): readonly string[] | undefined {
  const sizes = Object.hasOwn(SIZE_FACTORS, model) ? SIZE_FACTORS[model] : undefined;
  if (sizes === undefined) return [];
  const [first = ""] = sizes.keys();
  const asked = size === "" ? first : size;
  const factor = sizes.get(asked);
  if (factor === undefined) return undefined;
  if (model !== "dall-e-3" || quality !== "hd") return [factor];
  return [factor, asked === "1024x1024" ? HD_SQUARE : HD_WIDE];
}

/** Output tokens of a gpt-image picture: square, tall, wide (providers 26.1). */
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
