// Makes the bytes of one call and chooses the course of its answer: edited, passed or translated, as the plan says. Pure but for the
// media that a wire wants inline.
import type { Egress } from "#server/egress/dispatcher.ts";
import type { NativeFormat, RenderContext } from "#server/upstream/clients/client.ts";
import { generateCount } from "#server/upstream/clients/generate-native.ts";
import { clients, natives } from "#server/upstream/clients/index.ts";
import { messagesCount } from "#server/upstream/clients/messages-native.ts";
import { isUnreadable } from "#server/upstream/clients/responses-native.ts";
import { dialects } from "#server/upstream/dialects/index.ts";
import { localFault, type RelayFault, unmappableFault } from "#server/upstream/errors/fault.ts";
import type { ResponseHandler } from "#server/upstream/handlers/handler.ts";
import { isTask, TaskCourse, type TaskEndpoint } from "#server/upstream/handlers/media.ts";
import { NativeCourse } from "#server/upstream/handlers/native.ts";
import { PassingCourse } from "#server/upstream/handlers/pass-through.ts";
import { TranslatingCourse } from "#server/upstream/handlers/translate.ts";
import { type Effort, type HubRequest, Unmappable } from "#server/upstream/hub/request.ts";
import { editObject, type ObjectEdits } from "#server/upstream/json/edit.ts";
import { wholeObject } from "#server/upstream/json/scan.ts";
import { asObject } from "#server/upstream/json/values.ts";
import { encodeBody, lostFields, valuesOf, wantsUsage } from "./body.ts";
import { inputWithoutThoughts } from "./body-messages.ts";
import type { Call, Prepared } from "./call.ts";
import { encodeForm } from "./form.ts";
import { inlineMedia } from "./media.ts";
import { isGeneration, type Plan } from "./plan.ts";
import { toldWhole } from "./prepare-whole.ts";
import { priceFields, priceFieldsOfForm, withoutFields } from "./price-fields.ts";

export interface PrepareTools {
  /** Unit: ms since 1970. */
  readonly now: () => number;
  /** Fetches media that stand at an address. */
  readonly egress: Pick<Egress, "send">;
}

const NOTHING: readonly string[] = [];

type Outcome = Prepared | RelayFault;

/** Prepares a call, without the fields that would change its price. A promise only where media have to be fetched first. */
export function prepare(tools: PrepareTools, call: Call, plan: Plan): Outcome | Promise<Outcome> {
  try {
    const { body, endpoint } = call;
    const dear = priceFields(body, endpoint, plan.quirks?.priceFields);
    if (dear.length === 0) return prepareBody(tools, call, plan);
    const prepared = prepareBody(tools, { ...call, body: withoutFields(body, dear) }, plan);
    return prepared instanceof Promise
      ? prepared.then((late) => telling(late, dear))
      : telling(prepared, dear);
  } catch (error) {
    return faultOf(error);
  }
}

function telling(outcome: Outcome, names: readonly string[]): Outcome {
  return outcome.kind === "fault" ? outcome : { ...outcome, dropped: [...names, ...outcome.dropped] };
}

function prepareBody(tools: PrepareTools, call: Call, plan: Plan): Outcome | Promise<Outcome> {
  switch (plan.way) {
    case "pass":
      if (isTask(call.endpoint)) return taskPassed(call, plan, call.endpoint);
      return mustFetch(call, plan) ? translated(tools, call, plan) : passed(call, plan);
    case "native":
      return nativelyPassed(tools, call, plan);
    case "embed":
    case "draw":
    case "rank":
    case "speak":
      return toldWhole(tools.now, call, plan, plan.way);
    case "translate":
      return translated(tools, call, plan);
    default:
      throw new Error(`unknown way ${plan.way satisfies never}`);
  }
}

function faultOf(error: unknown): RelayFault {
  if (error instanceof Unmappable) return unmappableFault(error.what, error.reason);
  // Texts in a body may hold JSON of any depth, which cannot be written again: it is the client's, not a fault of ours (reliability R05).
  if (error instanceof RangeError) return unmappableFault("messages", "内容嵌套过深");
  throw error;
}

/** Endpoints whose streams tell usage only when asked (providers 4.5). */
const ASKS_USAGE: ReadonlySet<string> = new Set(["chat", "completions"]);

function passed({ endpoint, body, model, isStream, hints }: Call, plan: Plan): Prepared {
  const canAsk = isStream && ASKS_USAGE.has(endpoint);
  const { quirks, secrets, takesStreamOptions } = plan;
  const bytes = encodeBody(body, {
    model,
    asksUsage: canAsk && takesStreamOptions,
    dropsStreamOptions: !takesStreamOptions,
    edits: plan.edits,
    toolIdLength: quirks?.toolIdLength,
    effort: plan.effort,
  });
  const hidesUsage = isStream && !wantsUsage(body);
  const course = new PassingCourse({ endpoint, quirks, secrets, hidesUsage });
  const unsaid = hints === undefined ? NOTHING : Object.keys(hints);
  const lost = plan.edits === undefined ? NOTHING : lostFields(body, plan.edits, plan.effort);
  const dropped = lost.length > 0 ? [...unsaid, ...lost] : unsaid;
  return { kind: "prepared", bytes, headers: NOTHING, course, dropped };
}

/** Pictures and sound: JSON or a form, with the model's upstream name. */
async function taskPassed(
  { body, form, model }: Call,
  { quirks, secrets, edits }: Plan,
  endpoint: TaskEndpoint,
): Promise<Prepared> {
  const course = new TaskCourse({ endpoint, quirks, secrets });
  const shared = { kind: "prepared", headers: NOTHING, dropped: NOTHING, course } as const;
  if (form !== undefined) {
    const dropped = priceFieldsOfForm(form, quirks?.priceFields);
    return { ...shared, dropped, ...(await encodeForm(form, model, dropped)) };
  }
  const order = { model, asksUsage: false, dropsStreamOptions: false, edits, toolIdLength: undefined };
  return { ...shared, bytes: encodeBody(body, order) };
}

/** Source: providers 6. */
const ANTHROPIC_VERSION = "2023-06-01";

function nativelyPassed(tools: PrepareTools, call: Call, plan: Plan): Prepared | RelayFault {
  const { endpoint, body, passHeaders } = call;
  const format =
    endpoint === "count-tokens" ? countFormat(plan) : isGeneration(endpoint) && natives[endpoint];
  const dialect = Object.values(dialects).find(({ native }) => native === endpoint) ?? plan.dialect;
  if (!format) return localFault(400, "unsupported_relay_mode", "该渠道不支持此接口");
  const edits = nativeEdits(call, plan, format);
  const bytes = edits === undefined ? body.bytes : editObject(body.bytes, body.object, edits);
  const isMessages = endpoint === "messages" || format === messagesCount;
  const hasVersion = !isMessages || passHeaders.includes("anthropic-version");
  return {
    kind: "prepared",
    bytes,
    headers: hasVersion ? passHeaders : [...passHeaders, "anthropic-version", ANTHROPIC_VERSION],
    dropped: NOTHING,
    course: new NativeCourse({
      format,
      quirks: plan.quirks,
      secrets: plan.secrets,
      isArray: call.isArray,
      readError: dialect.readError?.bind(dialect),
      translated: () =>
        courseOf(tools, call, { ...plan, dialect }, { request: parsed(call), toolNames: undefined }),
    }),
  };
}

/** undefined = the bytes pass as they are. */
function nativeEdits(call: Call, { dialect, effort }: Plan, format: NativeFormat): ObjectEdits | undefined {
  const { endpoint, body, model } = call;
  const set = new Map<string, string>();
  // Gemini names its model in the path.
  if (endpoint !== "generate" && format !== generateCount && body.model !== model)
    set.set("model", JSON.stringify(model));
  // What an upstream keeps for a client cannot be found again over several channels (providers 17.3.5).
  if (endpoint === "responses") {
    set.set("store", "false");
    const input = inputWithoutThoughts(body, isUnreadable);
    if (input !== undefined) set.set("input", input);
    const reasoning = effort && { ...asObject(valuesOf(body)["reasoning"]), effort };
    if (reasoning) set.set("reasoning", JSON.stringify(reasoning));
  }
  const more = endpoint === dialect.native ? dialect.nativeEdits?.(model, () => parsed(call)) : undefined;
  for (const [name, value] of Object.entries(more?.set ?? {})) set.set(name, JSON.stringify(value));
  if (more !== undefined) return { set, drop: new Set(more.drop) };
  return set.size === 0 ? undefined : { set };
}

/** Token counts belong to their format. */
function countFormat({ dialect }: Plan): NativeFormat {
  return dialect.native === "generate" ? generateCount : messagesCount;
}

function parsed({ endpoint, body, model, isStream }: Call): HubRequest {
  const client = isGeneration(endpoint) ? clients[endpoint] : undefined;
  if (client === undefined) throw new Unmappable(endpoint, "该渠道不支持此接口");
  return client.parse(valuesOf(body), { model, isStream });
}

function translated(tools: PrepareTools, call: Call, plan: Plan): Prepared | Promise<Prepared | RelayFault> {
  const request = inPlaceOfChat(withEffort(parsed(call), plan.effort), plan);
  const inlines = plan.dialect.inlinesMedia === true || plan.quirks?.inlinesMedia === true;
  const opens = plan.quirks?.inlinesMedia === true ? isNoWebAddress : plan.dialect.opens;
  if (!inlines || !hasAddresses(request, opens)) return encoded(tools, call, plan, request);
  return inlineMedia(tools.egress, request, opens)
    .then((inlined) => encoded(tools, call, plan, inlined))
    .catch(faultOf);
}

/** A request that thinks as much as the model's name says. */
function withEffort(request: HubRequest, effort: Effort | undefined): HubRequest {
  if (effort === undefined) return request;
  return {
    ...request,
    reasoning: { effort, budgetTokens: undefined, isShown: request.reasoning?.isShown },
  };
}

/**
 * What goes over Responses in Chat's place: a model that thinks refuses to tell log probabilities, and a summary of its thoughts, which
 * Chat does not show either, is refused to organizations that are not verified. Source: decision 032.
 */
function inPlaceOfChat(request: HubRequest, { beside }: Plan): HubRequest {
  if (beside !== "responses") return request;
  const { reasoning, logprobs, dropped = NOTHING } = request;
  return {
    ...request,
    ...(reasoning !== undefined && { reasoning: { ...reasoning, isShown: false } }),
    ...(logprobs !== undefined && { logprobs: undefined, dropped: [...dropped, "logprobs"] }),
  };
}

const PICTURE = Buffer.from('"image_url"');

/** Bytes that could pass, but for pictures at addresses that this upstream does not open. */
function mustFetch({ endpoint, body, model, isStream }: Call, { quirks }: Plan): boolean {
  if (quirks?.inlinesMedia !== true || endpoint !== "chat" || !body.bytes.includes(PICTURE)) return false;
  return hasAddresses(clients.chat.parse(valuesOf(body), { model, isStream }), isNoWebAddress);
}

/** Upstreams know addresses of their own, e.g. of files that were uploaded before. */
function isNoWebAddress(url: string): boolean {
  return !/^https?:/i.test(url);
}

function hasAddresses({ messages }: HubRequest, opens: (url: string) => boolean = () => false): boolean {
  return messages.some(({ parts }) =>
    parts.some((part) => "source" in part && part.source.kind === "url" && !opens(part.source.url)),
  );
}

function encoded(tools: PrepareTools, call: Call, plan: Plan, request: HubRequest): Prepared {
  const { wire, target } = plan;
  const {
    body,
    headers = NOTHING,
    dropped = NOTHING,
    toolNames,
  } = plan.dialect.encode(request, { wire, target, passHeaders: call.passHeaders });
  const { bytes, lost } = edited(Buffer.from(JSON.stringify(body)), plan);
  return {
    kind: "prepared",
    bytes,
    headers,
    dropped: [...(request.dropped ?? NOTHING), ...dropped, ...lost],
    course: courseOf(tools, call, plan, { request, toolNames }),
  };
}

/** The formats of OpenAI's, whose names the edits of a row are in. */
const OPENAI_FORMATS: ReadonlySet<string | undefined> = new Set(["chat", "responses"]);

/** A body in OpenAI's names that was written here gets the row's edits like any other. */
function edited(
  bytes: Buffer,
  { dialect, edits, quirks, takesStreamOptions, target }: Plan,
): { readonly bytes: Uint8Array; readonly lost: readonly string[] } {
  if (!OPENAI_FORMATS.has(dialect.native)) return { bytes, lost: NOTHING };
  const object = wholeObject(bytes);
  if (object === undefined) throw new Error("JSON.stringify did not make an object");
  const body = { bytes, object, model: target.model };
  const order = {
    model: target.model,
    asksUsage: false,
    dropsStreamOptions: !takesStreamOptions,
    edits,
    toolIdLength: quirks?.toolIdLength,
  };
  return { bytes: encodeBody(body, order), lost: edits === undefined ? NOTHING : lostFields(body, edits) };
}

function courseOf(
  { now }: PrepareTools,
  call: Call,
  { dialect, wire, secrets }: Plan,
  { request, toolNames }: { request: HubRequest; toolNames: ReadonlyMap<string, string> | undefined },
): ResponseHandler {
  const { endpoint, body, model, seed } = call;
  const client = isGeneration(endpoint) ? clients[endpoint] : undefined;
  if (client === undefined) throw new Unmappable(endpoint, "该渠道不支持此接口");
  const render: RenderContext = {
    model: call.originModel,
    seed,
    created: Math.trunc(now() / 1000),
    wantsUsage: wantsUsage(body),
    isArray: call.isArray,
    request,
    body: valuesOf(body),
  };
  return new TranslatingCourse({
    dialect,
    client,
    decode: { wire, model, seed },
    render,
    toolNames,
    secrets,
  });
}
