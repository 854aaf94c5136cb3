// Edits an OpenAI-shaped request body where it must differ for an upstream: the model's name, the request for usage, and the quirks of
// a provider row; and takes out the fields by which a caller would choose another price than the billed one (requirements M02, M18).
// Every other byte stays as the client sent it. Pure.
import type { BodyEdits, EndpointName } from "#contract/providers.ts";
import { Unmappable } from "#server/upstream/hub/request.ts";
import {
  editObject,
  findMember,
  type JsonObject,
  readMember,
  wholeObject,
} from "#server/upstream/json/object.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import { editedMessages, effortValues, isThinkingSwitch } from "./body-messages.ts";
import type { FormBody } from "./form.ts";

/** A client's body: its bytes and the positions of its members. Values are parsed only when needed. */
export interface ClientBody {
  readonly bytes: Buffer;
  readonly object: JsonObject;
  /** The model it names; undefined = absent, or no string. */
  readonly model: unknown;
}

const NOTHING: readonly string[] = [];

const values = new WeakMap<ClientBody, JsonRecord>();

/** The whole body, parsed once and cached. */
export function valuesOf(body: ClientBody): JsonRecord {
  const known = values.get(body);
  if (known !== undefined) return known;
  const parsed = asObject(JSON.parse(body.bytes.toString())) ?? {};
  values.set(body, parsed);
  return parsed;
}

export interface BodyOrder {
  /** Upstream name of the model. */
  readonly model: string;
  /** Usage must be requested: a stream of chat or completions whose upstream takes `stream_options`. */
  readonly asksUsage: boolean;
  /** The upstream would refuse `stream_options`. */
  readonly dropsStreamOptions: boolean;
  readonly edits: BodyEdits | undefined;
  readonly toolIdLength: number | undefined;
  /** Overrides the client's `reasoning_effort`. */
  readonly effort?: string | undefined;
}

/** Most bodies need few edits: each collection is created at its first edit. */
interface Edits {
  set?: Map<string, string>;
  drop?: Set<string>;
  rename?: Map<string, string>;
}

/** The bytes to send. Without anything to change they are the client's own. */
export function encodeBody(body: ClientBody, order: BodyOrder): Uint8Array {
  const needsModel = body.model !== order.model;
  const needsWish = order.asksUsage && !wantsUsage(body);
  const needsDrop = order.dropsStreamOptions && has(body, "stream_options");
  const hasQuirks =
    order.edits !== undefined || order.toolIdLength !== undefined || order.effort !== undefined;
  if (!(needsModel || needsWish || needsDrop || hasQuirks)) return body.bytes;
  const edits: Edits = {};
  if (needsModel) put(edits, "model", JSON.stringify(order.model));
  if (needsDrop) edits.drop = new Set(["stream_options"]);
  else if (needsWish) put(edits, "stream_options", usageWish(body));
  if (hasQuirks) addQuirks(edits, body, order);
  const isUnchanged = edits.set === undefined && edits.drop === undefined && edits.rename === undefined;
  return isUnchanged ? body.bytes : editObject(body.bytes, body.object, edits);
}

function put(edits: Edits, name: string, json: string): void {
  edits.set ??= new Map();
  edits.set.set(name, json);
}

/** Whether the client itself wants usage in its stream. */
export function wantsUsage({ bytes, object }: ClientBody): boolean {
  return asObject(readMember(bytes, object, "stream_options"))?.["include_usage"] === true;
}

function has({ object }: ClientBody, name: string): boolean {
  return findMember(object, name) !== undefined;
}

/** The client's `stream_options` with `include_usage` set. */
function usageWish({ bytes, object }: ClientBody): string {
  const member = findMember(object, "stream_options");
  const value = member && bytes.subarray(member.valueStart, member.valueEnd);
  const options = value && wholeObject(value);
  if (value === undefined || options === undefined) return '{"include_usage":true}';
  return editObject(value, options, { set: new Map([["include_usage", "true"]]) }).toString();
}

function addQuirks(made: Edits, body: ClientBody, order: BodyOrder): void {
  const { edits = NO_EDITS, effort } = order;
  if (edits.renameFields !== undefined) addRenames(made, body, edits.renameFields);
  for (const name of droppedBy(body, edits, effort)) drop(made, name);
  if (effort !== undefined) put(made, "reasoning_effort", JSON.stringify(effort));
  for (const name of switchedOn(body, edits)) put(made, name, "true");
  addValues(made, valuesFor(body, edits, effort));
  addValues(made, fittedNumbers(body, edits));
  const messages = editedMessages(body, edits, order.toolIdLength);
  if (messages !== undefined) put(made, "messages", messages);
}

const NO_EDITS: BodyEdits = {};

function addRenames(made: Edits, body: ClientBody, renames: Readonly<Record<string, string>>): void {
  for (const from in renames) {
    const to = renames[from];
    if (to === undefined || !has(body, from)) continue;
    if (has(body, to)) {
      drop(made, from);
      continue;
    }
    made.rename ??= new Map();
    made.rename.set(from, to);
  }
}

function drop(edits: Edits, name: string): void {
  edits.drop ??= new Set();
  edits.drop.add(name);
}

/** Fields to set, and their values. */
type Values = readonly (readonly [name: string, value: unknown])[];

const NO_VALUES: Values = [];

function addValues(made: Edits, values: Values): void {
  for (const [name, value] of values)
    if (made.drop?.has(name) !== true) put(made, name, JSON.stringify(value));
}

/** Fields of the client that are not sent because the upstream would refuse them; by the client's names. */
export function lostFields(body: ClientBody, edits: BodyEdits, effort?: string): readonly string[] {
  const lost = refusedBy(body, edits, effort);
  const stop = edits.oneStop === true ? readMember(body.bytes, body.object, "stop") : undefined;
  return Array.isArray(stop) && stop.length > 1 ? [...lost, "stop"] : lost;
}

function refusedBy(body: ClientBody, edits: BodyEdits, effort: string | undefined): readonly string[] {
  const { dropFields = NOTHING, dropWhenThinking = NOTHING, thinksUnasked } = edits;
  const refused = present(body, dropFields);
  const unasked = thinksUnasked === true ? "medium" : "none";
  if (dropWhenThinking.length === 0 || (effort ?? effortIn(body) ?? unasked) === "none") return refused;
  return [...refused, ...present(body, dropWhenThinking)];
}

/** The names that are in the client's body. */
function present(body: ClientBody, names: readonly string[]): readonly string[] {
  return names.length === 0 ? NOTHING : names.filter((name) => has(body, name));
}

function effortIn({ bytes, object }: ClientBody): unknown {
  return readMember(bytes, object, "reasoning_effort");
}

function droppedBy(body: ClientBody, edits: BodyEdits, effort: string | undefined): readonly string[] {
  const refused = refusedBy(body, edits, effort);
  const { userAs, rejectsZeroPenalties } = edits;
  const isSwitch = isThinkingSwitch(body, edits);
  if (userAs === undefined && !isSwitch && rejectsZeroPenalties !== true) return refused;
  const rejected = rejectsZeroPenalties === true ? ["frequency_penalty", "presence_penalty"] : NOTHING;
  const said = [
    ...(userAs === undefined ? NOTHING : ["user"]),
    ...(isSwitch ? ["reasoning_effort"] : NOTHING),
  ];
  return [
    ...refused,
    ...present(body, said),
    ...rejected.filter((name) => readMember(body.bytes, body.object, name) === 0),
  ];
}

/** Sampling numbers outside the upstream's range, clamped to it. */
function fittedNumbers(body: ClientBody, edits: BodyEdits): Values {
  if (edits.clampTemperature === undefined && edits.zeroAs === undefined) return NO_VALUES;
  return ["temperature", "top_p"].flatMap((name) => {
    const value = readMember(body.bytes, body.object, name);
    const fit = fitted(name, value, edits);
    return fit === value ? [] : [[name, fit] as const];
  });
}

/** The vendor's own fields, set from OpenAI's fields. */
function valuesFor(body: ClientBody, edits: BodyEdits, effort: string | undefined): Values {
  const { oneStop, userAs, effortAsThinking, efforts } = edits;
  const values = effortAsThinking || efforts ? effortValues(body, edits, effort) : [];
  const read = (name: string) => readMember(body.bytes, body.object, name);
  if (oneStop === true && has(body, "stop")) {
    const stop = read("stop");
    values.push(["stop", Array.isArray(stop) ? stop.slice(0, 1) : [stop]]);
  }
  if (userAs !== undefined && !has(body, userAs.name)) {
    const user = read("user");
    if (typeof user === "string" && user.length >= userAs.min && user.length <= userAs.max)
      values.push([userAs.name, user]);
  }
  return values;
}

function switchedOn(body: ClientBody, { trueWithTools = NOTHING }: BodyEdits): readonly string[] {
  return trueWithTools.length > 0 && has(body, "tools")
    ? trueWithTools.filter((name) => !has(body, name))
    : NOTHING;
}

/** A sampling number clamped to the upstream's range; any other value stays. */
function fitted(name: string, value: unknown, edits: BodyEdits): unknown {
  if (typeof value !== "number") return value;
  const [low, high] = name === "temperature" ? (edits.clampTemperature ?? []) : [];
  const clamped = Math.min(Math.max(value, low ?? value), high ?? value);
  return clamped === 0 && edits.zeroAs !== undefined ? edits.zeroAs : clamped;
}

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
