// Prices as lists and drafts print them, for tests.
import type { ModelPrice } from "#contract/price-list.ts";

/** A price without tiers and without a last day; "" = as the rule for the name. */
export function listPrice(
  model_ratio: string,
  completion_ratio = "",
  cache_ratio = "",
  cache_write_ratio = "",
): ModelPrice {
  return {
    model_ratio,
    completion_ratio,
    cache_ratio,
    cache_write_ratio,
    audio_ratio: "",
    audio_completion_ratio: "",
    image_ratio: "",
    image_completion_ratio: "",
    tiers: [],
    last_day: "",
  };
}
