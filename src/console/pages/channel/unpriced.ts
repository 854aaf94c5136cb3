// Which models of a channel that is being edited have no price, by the options that are stored. Pure.
import { readPairs } from "#console/base/json.ts";
import type { Option } from "#contract/option.ts";
import { unpricedBy } from "#contract/unpriced.ts";

export interface Served {
  readonly models: readonly string[];
  /** JSON text, as it stands in the field. */
  readonly mapping: string;
}

/** Models of the form that calls would be refused for. */
export function unpricedModels({ models, mapping }: Served, options: readonly Option[]): readonly string[] {
  return unpricedBy(options)({ models, mapping: new Map(readPairs(mapping) ?? []) });
}
