// Refuses to sell below cost, where the operator wants that. Runs for no call otherwise.
import { yuanOfDollar } from "#contract/price-sheet.ts";
import type { Price } from "#server/money/price.ts";
import { multiply, parseRational, type Rational } from "#server/money/rational.ts";
import { localErrors } from "#server/relay/http/local-errors.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";

const BILLION = 1_000_000_000n;

/** What a channel is paid: a price, and what makes billionths of a dollar of it. */
interface Paid {
  readonly price: Price;
  readonly scale: Rational;
}

/**
 * Why a channel is not called: what users pay for a token of input or output is less than what it costs there. undefined = it is not less,
 * or its cost is not known. `dollar` = quota of a dollar, `soldYuan` = yuan that users pay for it.
 */
export function belowCost(
  sold: Price,
  paid: Paid | undefined,
  {
    model,
    dollar,
    soldYuan,
  }: { readonly model: string; readonly dollar: Rational; readonly soldYuan: number },
): RelayFault | undefined {
  if (paid === undefined) return undefined;
  const face = { n: BILLION * dollar.d, d: dollar.n };
  const worth = multiply(face, multiply(parseRational(soldYuan), { n: 1n, d: BigInt(yuanOfDollar) }));
  const isLess = (kind: "text" | "completion") => {
    const brought = sold.weights[kind] * worth.n * paid.price.weights.over * paid.scale.d;
    return brought < paid.price.weights[kind] * paid.scale.n * sold.weights.over * worth.d;
  };
  // The channel has no fault, and another one may be cheaper.
  return isLess("text") || isLess("completion")
    ? { ...localErrors.belowCost(model), retry: true }
    : undefined;
}
