// What a call cost at the source: One API's rule and New API's, on the options of its database. For the report; nothing is charged by it.
import { pricedName } from "#contract/price-names.ts";
import {
  newApiCompletionRules,
  oneApiCompletionRatio,
  oneApiCompletionRules,
  oneApiModelRatio,
} from "./foreign-ratios.ts";
import { tableIn } from "./ratio-tables.ts";
import type { Found } from "./settings.ts";
import type { Family } from "./source.ts";

export type ForeignPrice =
  | {
      readonly kind: "ratio";
      readonly ratio: number;
      readonly completion: number;
      /** set = an operator's table; built in = the source's own; any = what every model costs that has no ratio. */
      readonly by: "set" | "built in" | "any";
    }
  /** So many dollars a call. */
  | { readonly kind: "call"; readonly usd: number }
  | { readonly kind: "refused" }
  /** A ratio of its own that its database does not hold. */
  | { readonly kind: "unknown" };

export interface ForeignCall {
  readonly model: string;
  /** What the channel calls it upstream. */
  readonly upstreamModel: string;
  /** As the source numbers them. */
  readonly channelType: number;
}

/** One API's ratio of models without one, and New API's in its mode for a single user. */
const ONE_API_ANY = 30;
const NEW_API_ANY = 37.5;

/** The rule of a source with these options. */
export function foreignPrices(family: Family, found: Found): (call: ForeignCall) => ForeignPrice {
  return family.isNewApi ? newApiPrices(found) : oneApiPrices(found);
}

/** A console of One API saves all that is built in with what was changed; no operator enters this value by hand. */
const SAVED_WITH_ALL = "text-search-ada-doc-001";

/** By the mapped name; under the type of the channel first; what the stored table lacks is built in or costs 30. */
function oneApiPrices(found: Found): (call: ForeignCall) => ForeignPrice {
  const ratios = ratiosIn(found.get("ModelRatio"));
  const completions = ratiosIn(found.get("CompletionRatio"));
  return ({ upstreamModel, channelType }) => {
    const name = pricedName(upstreamModel);
    const names = [`${name}(${channelType})`, name];
    const completion =
      first(names, completions, oneApiCompletionRatio) ??
      oneApiCompletionRules.find(([pattern]) => pattern.test(name))?.[1] ??
      1;
    const ratio = first(names, ratios, oneApiModelRatio);
    if (ratio === undefined && name.includes("/") && !ratios.has(SAVED_WITH_ALL)) return { kind: "unknown" };
    const isSet = names.some((one) => ratios.has(one));
    const by = isSet ? "set" : ratio === undefined ? "any" : "built in";
    return { kind: "ratio", ratio: ratio ?? ONE_API_ANY, completion, by };
  };
}

function first(names: readonly string[], ...tables: readonly ReadonlyMap<string, number>[]) {
  for (const name of names) for (const table of tables) if (table.has(name)) return table.get(name);
  return undefined;
}

/** By the requested name; a price of a call stands above a ratio, and a stored table replaces what is built in. */
function newApiPrices(found: Found): (call: ForeignCall) => ForeignPrice {
  const prices = ratiosIn(found.get("ModelPrice"));
  const ratios = ratiosIn(found.get("ModelRatio"));
  const completions = ratiosIn(found.get("CompletionRatio"));
  const any = found.get("SelfUseModeEnabled") === "true" ? NEW_API_ANY : undefined;
  return ({ model }) => {
    const name = model.replace(/^(gpt-4o?-gizmo).*$/, "$1-*");
    const usd = prices.get(name);
    if (usd !== undefined) return { kind: "call", usd };
    if (!found.has("ModelRatio")) return { kind: "unknown" };
    const ratio = ratios.get(name) ?? any;
    if (ratio === undefined) return { kind: "refused" };
    const by = ratios.has(name) ? "set" : "any";
    return { kind: "ratio", ratio, completion: newApiCompletion(name, completions.get(name)), by };
  };
}

function newApiCompletion(name: string, set: number | undefined): number {
  const [, ratio = 1, isFixed = false] = newApiCompletionRules.find(([pattern]) => pattern.test(name)) ?? [];
  return isFixed && !(name.includes("/") && set !== undefined) ? ratio : (set ?? ratio);
}

/** A table as its server read it: what is no number counted as 0. */
function ratiosIn(text: string | undefined): ReadonlyMap<string, number> {
  const rows = Object.entries(tableIn(text ?? "") ?? {});
  return new Map(rows.map(([name, value]) => [name, typeof value === "number" ? value : 0]));
}
