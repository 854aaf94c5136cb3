// Whether a call is sold below what it costs, for operators that refuse that. Runs for no call otherwise. Pure.
import { yuanOfDollar } from "#contract/price-sheet.ts";
import type { Options } from "#server/options.ts";
import { BILLION } from "./amount.ts";
import { type Price, tierOf } from "./price.ts";
import { costPrice, type Paid, type PriceBook } from "./price-book.ts";
import { multiply, parseRational } from "./rational.ts";

/** The kinds of token that are compared, for calls that are charged as one, for text and for conversations. */
const CALLS = ["text"] as const;
const TEXT = ["text", "completion"] as const;
const SPOKEN = ["text", "audio", "completion", "audioCompletion"] as const;

/** What is asked for. */
export interface Wanted {
  readonly model: string;
  /** A long request may have another price, here and at the upstream. Unit: LLM tokens, as estimated. */
  readonly promptTokens: number;
  readonly isSpoken?: boolean;
}

interface CostParts {
  readonly options: Pick<Options, "get">;
  prices(): PriceBook;
}

/** Whether users pay less for a token of some kind than it costs at the channel. A cost that is not known is not above. */
export function isBelowCost(
  { options, prices }: CostParts,
  { channel, sold }: { readonly channel: Paid; readonly sold: Price },
  { model, promptTokens, isSpoken = false }: Wanted,
): boolean {
  const dollar = parseRational(options.get("QuotaPerUnit"));
  const paid = costPrice(prices(), channel, { model, dollar });
  if (paid === undefined) return false;
  const face = { n: BILLION * dollar.d, d: dollar.n };
  const soldYuan = parseRational(options.get("SoldDollarYuan"));
  const worth = multiply(face, multiply(soldYuan, { n: 1n, d: BigInt(yuanOfDollar) }));
  const [brings, costs] = [tierOf(sold, promptTokens), tierOf(paid.price, promptTokens)];
  // What a call of any length is worth cannot be told before it is over.
  if ((brings.unit === "call") !== (costs.unit === "call")) return false;
  const kinds = brings.unit === "call" ? CALLS : isSpoken ? SPOKEN : TEXT;
  return kinds.some((kind) => {
    const brought = brings.weights[kind] * worth.n * costs.weights.over * paid.scale.d;
    return brought < costs.weights[kind] * paid.scale.n * brings.weights.over * worth.d;
  });
}
