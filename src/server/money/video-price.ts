// Which price a video has: that of its resolution where it has one, and never what a model costs that stands in no table. Pure.
import { videoPriceName } from "#contract/video.ts";
import type { Price } from "./price.ts";
import type { PriceBook } from "./price-book.ts";

/** What the price of a video goes by; `resolution` "" = that of the model. */
export interface PricedVideo {
  readonly model: string;
  readonly upstreamModel: string;
  readonly resolution: string;
  readonly group: string;
}

/** Of the model at this resolution, else of the model; undefined = it has none. */
export function videoPrice(
  prices: Pick<PriceBook, "show">,
  { model, upstreamModel, resolution, group }: PricedVideo,
): Price | undefined {
  const at = (name: string) => videoPriceName(name, resolution);
  const special = resolution === "" ? undefined : prices.show(at(model), at(upstreamModel), group);
  if (special !== undefined && special.isFallback !== true) return special;
  const price = prices.show(model, upstreamModel, group);
  return price?.isFallback === true ? undefined : price;
}
