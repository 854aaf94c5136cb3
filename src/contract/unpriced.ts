// Which models of a channel have no price, by the options as they cross the wire. Pure.
import { type Option, type OptionKey, optionTable } from "./option.ts";
import { priceNames } from "./price-names.ts";

export interface Served {
  readonly models: Iterable<string>;
  /** Model → what it is called upstream. */
  readonly mapping: ReadonlyMap<string, string>;
}

/**
 * Makes a function that names the models of a channel, of its list or its mapping, calls to which would be refused; none where a ratio
 * stands for them (requirements W9.4, W10.8). The list of options holds the price tables with the built-in rows in them.
 */
export function unpricedBy(options: readonly Option[]): (served: Served) => readonly string[] {
  const textOf = (key: OptionKey) => options.find((option) => option.key === key)?.value ?? "";
  const table = optionTable.ModelRatio.schema.safeDecode(textOf("ModelRatio")).data;
  if (table === undefined || textOf("FallbackModelRatio").trim() !== "") return () => [];
  const has = (name: string) => Object.hasOwn(table, name);
  // A server asks of every model of every channel, and most stand there by their own name.
  return ({ models, mapping }) =>
    [...new Set([...models, ...mapping.keys()])].filter(
      (model) => !has(model) && !priceNames(model, mapping.get(model) || model).some(has),
    );
}
