// What calls to a channel cost the operator, as far as it is known when the channel is loaded: its own prices, and what others are
// multiplied by. Pure; no call runs this.
import { type CostPrice, readCostSheet } from "#contract/cost-sheet.ts";
import { createPrice, type Price } from "./price.ts";
import { divide, exactText, parseRational, type Rational } from "./rational.ts";

export interface ChannelCosts {
  /** What list prices are multiplied by. */
  readonly factor: Rational;
  /** By the model that the upstream is asked for: dollars of a million tokens in place of a ratio. undefined = none has a price of its own. */
  readonly sheet: ReadonlyMap<string, Price> | undefined;
}

/** `sheetText` = as stored; one that is no sheet counts as none. */
export function channelCosts(costRatio: number, sheetText: string): ChannelCosts {
  const ratio = parseRational(costRatio);
  const sheet = sheetText === "" ? undefined : readCostSheet(sheetText);
  if (sheet === undefined) return { factor: ratio, sheet: undefined };
  const rate = parseRational(sheet.currency === "CNY" ? (sheet.rate ?? "1") : "1");
  const prices = Object.entries(sheet.models).map(
    ([model, price]) => [model, priceOf(model, price, rate)] as const,
  );
  return { factor: divide(ratio, rate), sheet: prices.length === 0 ? undefined : new Map(prices) };
}

function priceOf(model: string, price: CostPrice, rate: Rational): Price {
  const input = parseRational(price.input);
  const multiple = (money: string | undefined, absent: string) => {
    if (money === undefined || input.n === 0n) return absent;
    return exactText(divide(parseRational(money), input));
  };
  return createPrice({
    model,
    modelRatio: exactText(divide(input, rate)),
    groupRatio: "1",
    completionRatio: multiple(price.output, "1"),
    cacheRatio: multiple(price.cache_read, "1"),
    cacheWriteRatio: multiple(price.cache_write, "1"),
  });
}
