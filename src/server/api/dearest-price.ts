// The price that a model is shown with: channels may map a name without a price of its own to different models.
import type { Price } from "#server/money/price.ts";
import type { PriceBook } from "#server/money/price-book.ts";

/** The dearest of the prices that calls may be charged: no user is to pay more than was shown. undefined = it has none. */
export function dearestPrice(
  book: PriceBook,
  model: string,
  upstreamModels: Iterable<string>,
  group: string,
): Price | undefined {
  return [...new Set(upstreamModels)]
    .flatMap((name) => book.show(model, name, group) ?? [])
    .reduce<Price | undefined>((most, price) => (most && !isDearer(price, most) ? most : price), undefined);
}

function isDearer({ weights }: Price, than: Price): boolean {
  return sumOf(weights) * than.weights.over > sumOf(than.weights) * weights.over;
}

function sumOf({ text, completion }: Price["weights"]): bigint {
  return text + completion;
}
