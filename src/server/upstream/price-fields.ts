// Fields by which a caller would choose another price than the one that is billed: they do not go upstream (reliability M02, M18). Pure.
import type { EndpointName } from "#contract/providers.ts";
import type { ClientBody } from "./body.ts";
import { asObject } from "./hub.ts";
import { Unmappable } from "./hub-request.ts";
import { type JsonObject, readMember, wholeObject } from "./json.ts";
import { editObject } from "./json-edit.ts";

/** Tiers at the list price or below it, in the words of all formats. Source: providers 4.2, 17.1.2, 17.2. */
const LISTED_TIER = /^(service_tier_)?(unspecified|auto|default|flex|standard|standard_only)$/i;

/** Whether a value leaves the price as it is. */
type IsListed = (value: unknown) => boolean;

const isListedTier: IsListed = (value) =>
  value === null || (typeof value === "string" && LISTED_TIER.test(value));
const isListedSpeed: IsListed = (value) => value === null || value === "standard";
const isListedPlace: IsListed = (value) => value === null || value === "global";

/** What OpenAI keeps for longer than half an hour it sells dearer, and its usage does not say how long. */
const isListedCache: IsListed = (value) => (asObject(value)?.["ttl"] ?? "30m") === "30m";

const EVERYWHERE: ReadonlyMap<string, IsListed> = new Map([
  ["service_tier", isListedTier],
  ["serviceTier", isListedTier],
  ["prompt_cache_options", isListedCache],
]);
/** Elsewhere `speed` is how fast a voice talks. */
const IN_MESSAGES: ReadonlyMap<string, IsListed> = new Map([
  ...EVERYWHERE,
  ["speed", isListedSpeed],
  ["inference_geo", isListedPlace],
]);

const NOTHING: readonly string[] = [];

/**
 * The fields of a body that would change its price; `rowFields` = those of the provider, which do whatever they say. Throws:
 * Unmappable for the place of inference: who asks for one would not want the answer of another.
 */
export function priceFields(
  { bytes, object }: Pick<ClientBody, "bytes" | "object">,
  endpoint: EndpointName,
  rowFields: readonly string[] = NOTHING,
): readonly string[] {
  const known = endpoint === "messages" ? IN_MESSAGES : EVERYWHERE;
  let found: string[] | undefined;
  for (const { name } of object.members) {
    const isListed = known.get(name);
    const isDear =
      isListed === undefined ? rowFields.includes(name) : !isListed(readMember(bytes, object, name));
    if (!isDear) continue;
    if (name === "inference_geo") throw new Unmappable(name, "该渠道不能指定推理所在地区");
    found ??= [];
    found.push(name);
  }
  return found ?? NOTHING;
}

/** The body without these fields; every other value stays byte for byte. */
export function withoutFields({ bytes, object, model }: ClientBody, names: readonly string[]): ClientBody {
  const left = editObject(bytes, object, { drop: new Set(names) });
  // What is left of an object is one.
  return { bytes: left, object: wholeObject(left) as JsonObject, model };
}
