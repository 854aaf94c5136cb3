// A price in money, as people read it: dollars for a million LLM tokens, or for the unit the model is charged by. Exact up to the last
// decimal that is written; charges nothing.
import type { ModelMoney, MoneyPrice, OtherKind } from "#contract/catalogue.ts";
import { TOKENS_OF_UNIT } from "#contract/price-unit.ts";
import type { Price } from "./price.ts";
import { sixDecimals } from "./prices/draft.ts";
import { divide, multiply, parseRational, type Rational } from "./rational.ts";

const OTHERS = {
  audio: ["audio", "text"],
  image: ["image", "text"],
  audio_output: ["audioCompletion", "completion"],
  image_output: ["imageCompletion", "completion"],
} as const satisfies Record<OtherKind, readonly [keyof Price["weights"], keyof Price["weights"]]>;

/** What a model costs one group, in dollars. `quotaPerUnit` = quota of a dollar. Source: requirements X05. */
export function moneyOf(price: Price, quotaPerUnit: number): ModelMoney {
  const { unit = "token" } = price;
  const tokens = BigInt(TOKENS_OF_UNIT[unit]);
  const dollars = parseRational(quotaPerUnit);
  if (unit !== "token") {
    const input = textOf(price, "text", { tokens, dollars });
    return { unit, input, output: "", cache_read: "", cache_write: "", others: [], tiers: [] };
  }
  const scale = { tokens, dollars };
  return {
    unit,
    ...pricesOf(price, scale),
    others: othersOf(price, scale),
    tiers: price.tiers.map(({ above, price: tier }) => ({ above, ...pricesOf(tier, scale) })),
  };
}

interface Scale {
  readonly tokens: bigint;
  /** Quota of a dollar. */
  readonly dollars: Rational;
}

function pricesOf(price: Price, scale: Scale): MoneyPrice {
  const { weights } = price;
  const apart = (kind: "cached" | "cacheWrite") =>
    weights[kind] === weights.text ? "" : textOf(price, kind, scale);
  return {
    input: textOf(price, "text", scale),
    output: textOf(price, "completion", scale),
    cache_read: apart("cached"),
    cache_write: apart("cacheWrite"),
  };
}

function othersOf(price: Price, scale: Scale): ModelMoney["others"] {
  // The keys of OTHERS are exactly the kinds.
  return (Object.keys(OTHERS) as OtherKind[]).flatMap((kind) => {
    const [own, plain] = OTHERS[kind];
    return price.weights[own] === price.weights[plain] ? [] : [{ kind, price: textOf(price, own, scale) }];
  });
}

function textOf({ weights }: Price, kind: keyof Price["weights"], { tokens, dollars }: Scale): string {
  const quota = multiply({ n: weights[kind], d: weights.over }, { n: tokens, d: 1n });
  return sixDecimals(divide(quota, dollars));
}
