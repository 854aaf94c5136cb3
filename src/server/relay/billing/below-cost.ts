// Refuses to sell below cost, where the operator wants that. Runs for no call otherwise.
import { yuanOfDollar } from "#contract/price-sheet.ts";
import { type Price, tierOf } from "#server/money/price.ts";
import { multiply, parseRational, type Rational } from "#server/money/rational.ts";
import { localErrors } from "#server/relay/http/local-errors.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";

const BILLION = 1_000_000_000n;

/** What a channel is paid: a price, and what makes billionths of a dollar of it. */
interface Paid {
  readonly price: Price;
  readonly scale: Rational;
}

/** The kinds of token that are compared, for text and for conversations. */
const TEXT = ["text", "completion"] as const;
const SPOKEN = ["text", "audio", "completion", "audioCompletion"] as const;

/** What is asked for. */
export interface Wanted {
  readonly model: string;
  /** A long request may have another price, here and at the upstream. Unit: LLM tokens, as estimated. */
  readonly promptTokens: number;
  readonly isSpoken?: boolean;
}

/**
 * Why a channel is not called: what users pay for a token of some kind is less than what it costs there. undefined = it is not less, or its
 * cost is not known. `dollar` = quota of a dollar, `soldYuan` = yuan that users pay for it.
 */
export function belowCost(
  price: Price,
  paid: Paid | undefined,
  {
    model,
    promptTokens,
    isSpoken = false,
    dollar,
    soldYuan,
  }: Wanted & { readonly dollar: Rational; readonly soldYuan: number },
): RelayFault | undefined {
  if (paid === undefined) return undefined;
  const face = { n: BILLION * dollar.d, d: dollar.n };
  const worth = multiply(face, multiply(parseRational(soldYuan), { n: 1n, d: BigInt(yuanOfDollar) }));
  const [sold, cost] = [tierOf(price, promptTokens), tierOf(paid.price, promptTokens)];
  const isLess = (kind: (typeof SPOKEN)[number]) => {
    const brought = sold.weights[kind] * worth.n * cost.weights.over * paid.scale.d;
    return brought < cost.weights[kind] * paid.scale.n * sold.weights.over * worth.d;
  };
  // The channel has no fault, and another one may be cheaper.
  return (isSpoken ? SPOKEN : TEXT).some(isLess)
    ? { ...localErrors.belowCost(model), retry: true }
    : undefined;
}
