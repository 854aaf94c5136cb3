// Fields by which a caller would choose another price than the billed one: they are not sent upstream (requirements M02, M18). Pure.
import type { EndpointName } from "#contract/providers.ts";
import { Unmappable } from "#server/upstream/hub/request.ts";
import { editObject } from "#server/upstream/json/edit.ts";
import { type JsonObject, readMember, wholeObject } from "#server/upstream/json/scan.ts";
import { asObject } from "#server/upstream/json/values.ts";
import type { ClientBody } from "./body.ts";
import type { FormBody } from "./form.ts";

/**
 * Service tiers at the list price or below it, by their names in all formats. Source: vendors/openai-chat, vendors/claude-messages,
 * vendors/gemini-clients.
 */
const LISTED_TIER = /^(service_tier_)?(unspecified|auto|default|flex|standard|standard_only)$/i;

/** Whether a value leaves the price as it is. */
type IsListed = (value: unknown) => boolean;

const isListedTier: IsListed = (value) =>
  value === null || (typeof value === "string" && LISTED_TIER.test(value));
const isListedSpeed: IsListed = (value) => value === null || value === "standard";
const isListedPlace: IsListed = (value) => value === null || value === "global";

/** An upstream may accept a value that is no object, or that spells the duration differently: both count as a change. */
const isListedCache: IsListed = (value) => {
  const options = value === null ? {} : asObject(value);
  return (
    options !== undefined &&
    (options["ttl"] ?? "30m") === "30m" &&
    Object.keys(options).every((name) => name === "ttl" || name.toLowerCase() !== "ttl")
  );
};

const TIERS = { service_tier: isListedTier, serviceTier: isListedTier };
const EVERYWHERE: ReadonlyMap<string, IsListed> = new Map(Object.entries(TIERS));
/** OpenAI charges more for caching longer than half an hour; the usage of Responses tells the duration, that of Chat does not. */
const IN_CHAT: ReadonlyMap<string, IsListed> = new Map([
  ...EVERYWHERE,
  ["prompt_cache_options", isListedCache],
]);
/** On other endpoints `speed` is the speed of a voice. */
const IN_MESSAGES: ReadonlyMap<string, IsListed> = new Map([
  ...EVERYWHERE,
  ["speed", isListedSpeed],
  ["inference_geo", isListedPlace],
]);

const BY_FORMAT: Readonly<Partial<Record<EndpointName, ReadonlyMap<string, IsListed>>>> = {
  chat: IN_CHAT,
  messages: IN_MESSAGES,
};

const NOTHING: readonly string[] = [];

/**
 * The fields of a body that would change its price; `rowFields` = those of the provider, whatever their value. Throws: Unmappable for
 * the region of inference: a client that asks for a region must not get an answer from another one.
 */
export function priceFields(
  { bytes, object }: Pick<ClientBody, "bytes" | "object">,
  endpoint: EndpointName,
  rowFields: readonly string[] = NOTHING,
): readonly string[] {
  const known = BY_FORMAT[endpoint] ?? EVERYWHERE;
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

/** The price fields of a form. */
export function priceFieldsOfForm(
  { fields }: FormBody,
  rowFields: readonly string[] = NOTHING,
): readonly string[] {
  return [...new Set(fields.keys())].filter((name) => {
    const isListed = EVERYWHERE.get(name);
    return isListed === undefined ? rowFields.includes(name) : !fields.getAll(name).every(isListed);
  });
}

/** The body without these fields; every other value stays byte for byte. */
export function withoutFields({ bytes, object, model }: ClientBody, names: readonly string[]): ClientBody {
  const left = editObject(bytes, object, { drop: new Set(names) });
  // An object without some members is still an object.
  return { bytes: left, object: wholeObject(left) as JsonObject, model };
}
