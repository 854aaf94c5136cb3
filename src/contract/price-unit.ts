// What the price of a model may count, and what one unit is charged like. Pure data; it charges nothing.

export const PRICE_UNITS = ["token", "image", "character", "minute", "second", "call"] as const;
export type PriceUnit = (typeof PRICE_UNITS)[number];

/** LLM tokens that a unit is charged like, of tokens and characters a million (requirements X05, W12). */
export const TOKENS_OF_UNIT: Readonly<Record<PriceUnit, number>> = {
  token: 1_000_000,
  character: 1_000_000,
  image: 1_000,
  minute: 200,
  second: 1_000,
  call: 1_000,
};
