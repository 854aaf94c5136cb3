// Which models of a channel that is being edited have no price, by the options that are stored. Pure.
import { readPairs } from "#console/base/json.ts";
import { type Option, type OptionKey, optionTable } from "#contract/option.ts";
import { priceNames } from "#contract/price-names.ts";

export interface Served {
  readonly models: readonly string[];
  /** JSON text, as it stands in the field. */
  readonly mapping: string;
}

/**
 * Models that the channel would serve, by its list or its mapping, and calls to which would be refused; none where a ratio stands for them
 * (contract 9.4, 10.8). The list of options tells price tables with the built-in ones in them.
 */
export function unpricedModels({ models, mapping }: Served, options: readonly Option[]): readonly string[] {
  const textOf = (key: OptionKey) => options.find((option) => option.key === key)?.value ?? "";
  const table = optionTable.ModelRatio.schema.safeDecode(textOf("ModelRatio")).data;
  if (table === undefined || textOf("FallbackModelRatio").trim() !== "") return [];
  const upstream = new Map(readPairs(mapping) ?? []);
  return [...new Set([...models, ...upstream.keys()])].filter(
    (model) => !priceNames(model, upstream.get(model) || model).some((name) => Object.hasOwn(table, name)),
  );
}
