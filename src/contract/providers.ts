// The provider catalogue: one row per channel type of requirements B3, then the newer ones. The rows are in provider-global.ts,
// provider-china.ts, provider-forwarders.ts, provider-newer.ts and provider-video.ts, their default models in provider-models.ts; nothing outside the
// catalogue knows a type by its number.
import type { Provider } from "./provider.ts";
import { chinaVendors } from "./provider-china.ts";
import { forwarders } from "./provider-forwarders.ts";
import { globalVendors } from "./provider-global.ts";
import { newerTypes } from "./provider-newer.ts";
import { videoTypes } from "./provider-video.ts";

export type {
  BalanceUnit,
  BodyEdits,
  DialectName,
  EndpointName,
  GenerationEndpoint,
  Provider,
  Quirks,
  SignerName,
  TextEndpoint,
  Wire,
} from "./provider.ts";

/** The order of the form's list (requirements B3): vendors, custom, knowledge bases, then proxies. */
const typesInOrder = [
  1, 14, 3, 11, 24, 28, 15, 17, 18, 16, 19, 25, 23, 26, 27, 29, 30, 31, 8, 22, 21, 20, 2, 5, 7, 10, 4, 6, 9,
  12, 13,
];

const rows = [...globalVendors, ...chinaVendors, ...forwarders, ...newerTypes, ...videoTypes];
const byType = new Map(rows.map((row) => [row.type, row]));

/** Every channel type, in the order of the form's list; newer types follow. */
export const providers: readonly Provider[] = [
  ...typesInOrder.flatMap((type) => byType.get(type) ?? []),
  ...newerTypes,
  ...videoTypes,
];

/** Finds the row of a channel type; undefined for a number this product does not know. */
export function providerOf(type: number): Provider | undefined {
  return byType.get(type);
}
