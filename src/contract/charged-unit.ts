// What the ratio of a model is charged for: the operator's word, else what is built in, else what its name tells. Pure; it charges nothing.
import { pricedName } from "./price-names.ts";
import type { PriceUnit } from "./price-unit.ts";
import { chargeUnit } from "./prices.ts";

const UNIT_OF_CHARGE = { image: "image", character: "character", spoken: "minute" } as const;

/** Models that make videos and are charged by their seconds; those of Ark are charged by tokens. */
const VIDEO_NAMES = /^(sora-\d|veo-\d|kling-|vidu|minimax-hailuo|wan\d[\w.]*-(t2v|i2v)|[ti]2v-)/i;

/** What a price counts. `own` = by model, as the operator says. */
export function unitOf(model: string, own: Readonly<Record<string, PriceUnit>>): PriceUnit {
  const name = pricedName(model);
  const said = Object.hasOwn(own, name) ? own[name] : undefined;
  if (said !== undefined) return said;
  const charged = Object.hasOwn(chargeUnit, name) ? chargeUnit[name] : undefined;
  if (charged !== undefined) return UNIT_OF_CHARGE[charged];
  return VIDEO_NAMES.test(name) ? "second" : "token";
}
