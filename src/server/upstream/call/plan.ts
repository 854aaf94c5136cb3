// Turns a channel, an endpoint and a model into everything that is the same for each of their calls: which wire, whether bytes pass or
// are translated, address, headers, edits. Remembered per channel object, so that the hot path builds none of it.
import {
  type BodyEdits,
  type EndpointName,
  editsFor,
  type GenerationEndpoint,
  type Provider,
  type Quirks,
  type Wire,
  wireOf,
} from "#contract/provider.ts";
import { withoutEndSlashes } from "#contract/wire.ts";
import { hostOf, isLoopbackHost, portOf } from "#server/egress/policy.ts";
import type { Dialect, Target } from "#server/upstream/dialects/dialect.ts";
import { dialects } from "#server/upstream/dialects/index.ts";
import { channelFault, localFault, type RelayFault } from "#server/upstream/errors/fault.ts";
import { type Canary, canaryOf } from "#server/upstream/errors/mask.ts";
import type { Effort } from "#server/upstream/hub/request.ts";
import { keyFault, signerFor } from "#server/upstream/signers/index.ts";
import { type CallSigner, type Signer, secretsOf } from "#server/upstream/signers/signer.ts";
import { splitEffort } from "./effort-name.ts";
import { responsesWire } from "./responses-switch.ts";

/** What of a channel concerns the wire. */
export interface UpstreamTarget {
  readonly provider: Provider;
  readonly key: string;
  /** "" = the default of the type. */
  readonly baseUrl: string;
  readonly other: string;
}

export interface PlanKey {
  readonly endpoint: EndpointName;
  /** Upstream name, after the model mapping. */
  readonly model: string;
  readonly isStream: boolean;
  /** `api-version` of the client's query; "" = none. */
  readonly apiVersion: string;
  /** Chat would be refused, Responses not (`isBeyondChat`). */
  readonly isBeyondChat?: boolean;
  /** The vendor's own Responses would refuse it, its chat not (`isBeyondResponses`). */
  readonly isBeyondResponses?: boolean;
}

/**
 * How a request reaches the wire: on OpenAI's own (`pass`), in a foreign format that client and upstream share (`native`), by way of
 * the hub (`translate`), as texts for vectors (`embed`), as a text for pictures (`draw`) or for speech (`speak`), or as texts to be put
 * in order (`rank`).
 */
export type Way = "pass" | "native" | "translate" | "embed" | "draw" | "rank" | "speak";

export interface Plan {
  readonly kind: "plan";
  readonly way: Way;
  /** A format beside the wire's own: resellers and old versions may not have it, and then the wire's own serves. undefined = it is that. */
  readonly beside: EndpointName | undefined;
  readonly dialect: Dialect;
  readonly wire: Wire;
  readonly target: Target;
  readonly url: string;
  readonly origin: string;
  readonly path: string;
  /** Names and values in turn; the credential included unless `signer` makes it. */
  readonly headers: string[];
  /** Makes the credential of each call; undefined = it is in the headers. */
  readonly signer: CallSigner | undefined;
  readonly quirks: Quirks | undefined;
  readonly edits: BodyEdits | undefined;
  /** The effort that the model's name asked for. */
  readonly effort: Effort | undefined;
  readonly takesStreamOptions: boolean;
  readonly loopbackPort: number | undefined;
  /** Strings that no caller may read in an error or header: the credential, its parts, the host; of a call that is signed also those made. */
  readonly secrets: string[];
  /** The credential and its parts to be masked in replies. */
  readonly credentials: readonly Canary[];
}

/** The value of an option that a row's header is filled from. */
export type OptionText = (name: "ServerAddress" | "SystemName") => string;

const plans = new WeakMap<UpstreamTarget, Map<string, Plan | RelayFault>>();
/** Model names come from callers and mappings; the memory of one channel stays small. */
const PLANS_PER_CHANNEL = 1_000;

/** Formats beside its wire's own that a channel was found not to serve, although its row names a path for them. */
const absences = new WeakMap<UpstreamTarget, Set<EndpointName>>();

/** From now on, until the channel changes, its calls of this format are translated. */
export function noteAbsence(target: UpstreamTarget, endpoint: EndpointName): void {
  const known = absences.get(target) ?? new Set();
  absences.set(target, known.add(endpoint));
}

/** The wire's own format was not there either: nothing is known after all. */
export function forgetAbsence(target: UpstreamTarget, endpoint: EndpointName): void {
  absences.get(target)?.delete(endpoint);
}

/** Finds or makes the plan of a call; a channel that cannot serve it is a fault that another channel may mend. */
export function planCall(target: UpstreamTarget, key: PlanKey, optionText: OptionText): Plan | RelayFault {
  let known = plans.get(target);
  if (known === undefined || known.size >= PLANS_PER_CHANNEL) {
    known = new Map();
    plans.set(target, known);
  }
  const absent = absences.get(target);
  const isAbsent = key.isBeyondResponses === true || absent?.has(key.endpoint) === true;
  const isBeyondChat = key.isBeyondChat === true && absent?.has("responses") !== true;
  const flags = `${key.isStream ? 1 : 0}${isAbsent ? 1 : 0}${isBeyondChat ? 1 : 0}`;
  const name = `${key.endpoint}\n${key.model}\n${flags}${key.apiVersion}`;
  let plan = known.get(name);
  if (plan === undefined) {
    plan = makePlan(target, { ...key, isAbsent, isBeyondChat }, optionText);
    // Rows with headers from options follow the options.
    if (plan.kind === "fault" || plan.quirks?.headers === undefined) known.set(name, plan);
  }
  return plan;
}

function makePlan(
  channel: UpstreamTarget,
  planKey: PlanKey & { readonly isAbsent: boolean },
  optionText: OptionText,
): Plan | RelayFault {
  const { provider, key } = channel;
  const { endpoint, isStream, isAbsent } = planKey;
  const { wire, beside } = wireFor(channel, planKey);
  const { model, effort } = splitEffort(wire.quirks, modelOn(wire, planKey.model));
  const dialect = dialects[wire.dialect];
  const wrongKey = keyFault(wire.signer, key);
  if (wrongKey !== undefined) return wrongKey;
  const usual = wayOf(endpoint, wire, dialect);
  const isForeign = usual === "native" && isGeneration(endpoint) && endpoint !== dialect.native;
  const way = isForeign && isAbsent ? "translate" : usual;
  if (way === undefined) {
    const fault = localFault(400, "unsupported_relay_mode", "该渠道不支持此接口");
    return { ...fault, retry: true };
  }
  const signer = signerFor(wire.signer, way === "translate" ? "chat" : endpoint);
  const target = targetOf(channel, planKey, { wire, model, signer });
  const address = addressOf({ endpoint, way, wire, dialect, target });
  // Braces that nothing filled: the key or `other` does not tell region, project or account.
  if (!URL.canParse(address) || !/^(https?|wss?):/.test(address) || address.includes("{")) {
    return channelFault(
      "invalid_channel_address",
      "渠道地址配置有误",
      `base url ${JSON.stringify(target.baseUrl)}`,
    );
  }
  const url = new URL(address);
  const signed = signer.kind === "fixed" ? signer.sign(key).headers : [];
  return {
    kind: "plan",
    way,
    beside: way === "native" && isForeign ? endpoint : beside,
    dialect,
    wire,
    target,
    url: url.href,
    origin: url.origin,
    path: url.pathname + url.search,
    headers: ["accept", acceptOf(endpoint, isStream, dialect), ...headersOf(signed, wire.quirks, optionText)],
    signer: signer.kind === "call" ? signer : undefined,
    quirks: wire.quirks,
    edits: editsFor(wire.quirks, model),
    effort,
    takesStreamOptions: dialect.takesStreamOptions?.(wire, target) ?? false,
    loopbackPort: loopbackPortOf(provider),
    secrets: [...secretsOf(key), url.host, url.hostname],
    credentials: secretsOf(key)
      .filter((secret) => secret.length >= 8)
      .map(canaryOf),
  };
}

function wireFor(
  { provider, key, baseUrl, other }: UpstreamTarget,
  { model, isBeyondChat }: PlanKey,
): { readonly wire: Wire; readonly beside: EndpointName | undefined } {
  const wire = wireOf(provider, { key, baseUrl, other, model });
  const beyond = isBeyondChat === true ? responsesWire(wire) : undefined;
  return beyond === undefined ? { wire, beside: undefined } : { wire: beyond, beside: "responses" };
}

function targetOf(
  { provider, baseUrl, other, key }: UpstreamTarget,
  { isStream, apiVersion }: PlanKey,
  { wire, model, signer }: { wire: Wire; model: string; signer: Signer },
): Target {
  const account = signer.kind === "call" ? signer.account?.(key) : undefined;
  return {
    baseUrl: withoutEndSlashes(baseUrl || wire.baseUrl),
    other: other || (provider.other?.fallback ?? ""),
    model,
    apiVersion,
    isStream,
    ...(account !== undefined && { account }),
  };
}

/** The wire's own name of a model that the catalogue lists under another one. */
function modelOn({ quirks }: Wire, model: string): string {
  const names = quirks?.modelNames;
  return names !== undefined && Object.hasOwn(names, model) ? (names[model] ?? model) : model;
}

function acceptOf(endpoint: EndpointName, isStream: boolean, { frames }: Dialect): string {
  if (endpoint === "speech" || endpoint === "transcription" || endpoint === "translation") return "*/*";
  if (!isStream) return "application/json";
  return frames === "aws" ? "application/vnd.amazon.eventstream" : "text/event-stream";
}

const GENERATIONS: ReadonlySet<string> = new Set<GenerationEndpoint>([
  "chat",
  "completions",
  "messages",
  "generate",
  "responses",
]);

/** Whether an endpoint is one of the formats that reach every wire. */
export function isGeneration(endpoint: EndpointName): endpoint is GenerationEndpoint {
  return GENERATIONS.has(endpoint);
}

/** undefined = this upstream cannot do it. */
function wayOf(endpoint: EndpointName, wire: Wire, dialect: Dialect): Way | undefined {
  const isOpenAi = dialect.native === "chat";
  if (!isGeneration(endpoint)) return taskWay(endpoint, wire, dialect);
  if (wire.paths.chat === undefined) return undefined;
  if (endpoint === dialect.native) return isOpenAi ? "pass" : "native";
  const hasOwnPath = endpoint !== "chat" && wire.paths[endpoint] !== undefined;
  if (!hasOwnPath) return "translate";
  if (endpoint !== "completions") return "native";
  return isOpenAi ? "pass" : "translate";
}

/** The way of an endpoint that is no generation: bodies are OpenAI's but for token counts, which belong to their format. */
function taskWay(endpoint: EndpointName, wire: Wire, dialect: Dialect): Way | undefined {
  if (wire.paths[endpoint] === undefined) return undefined;
  // A list of models is read as it comes, whatever the wire.
  if (endpoint === "models") return "pass";
  if (endpoint === "count-tokens") return "native";
  const own = OWN_WAYS[endpoint];
  if (own !== undefined && dialect[own.wire] !== undefined) return own.way;
  if (dialect.native === "chat") return "pass";
  return undefined;
}

/** Endpoints that a dialect may have a wire of its own for. */
const OWN_WAYS: Readonly<
  Partial<
    Record<EndpointName, { readonly wire: "embeddings" | "images" | "rerank" | "speech"; readonly way: Way }>
  >
> = {
  embeddings: { wire: "embeddings", way: "embed" },
  images: { wire: "images", way: "draw" },
  rerank: { wire: "rerank", way: "rank" },
  speech: { wire: "speech", way: "speak" },
};

interface Whither {
  readonly endpoint: EndpointName;
  readonly way: Way;
  readonly wire: Wire;
  readonly dialect: Dialect;
  readonly target: Target;
}

function addressOf({ endpoint, way, wire, dialect, target }: Whither): string {
  if (way === "translate") return dialect.address("chat", wire, target);
  if (way === "native" && endpoint === dialect.native) return dialect.address("chat", wire, target);
  // Gemini counts at an address with the model in it.
  if (endpoint === "count-tokens" && dialect.native === "generate")
    return dialect.address(endpoint, wire, target);
  const foreign = way === "native" ? wire.paths[endpoint] : undefined;
  return foreign === undefined ? dialect.address(endpoint, wire, target) : foreignAddress(foreign, target);
}

/** Another format's address beside the wire's own: under the same host, whatever version the base ends in (providers 17.1.6). */
function foreignAddress(path: string, { baseUrl, model, isStream, apiVersion, other }: Target): string {
  const action = isStream ? "streamGenerateContent?alt=sse" : "generateContent";
  const filled = path
    .replace("{model}", encodeURIComponent(model))
    .replace("{action}", action)
    .replace("{version}", encodeURIComponent(apiVersion || other));
  return URL.canParse(filled) ? filled : baseUrl.replace(/\/v\d+\w*$/, "") + filled;
}

/** The header allow-list (providers 1.3, reliability R16): these, and nothing that the client sent. */
function headersOf(signed: readonly string[], quirks: Quirks | undefined, optionText: OptionText): string[] {
  const headers = ["content-type", "application/json", "user-agent", "Tollgate", ...signed];
  for (const [name, option] of Object.entries(quirks?.headers ?? {})) {
    const value = optionText(option).replace(/[^\x20-\x7e]/g, "");
    if (value !== "") headers.push(name, value);
  }
  return headers;
}

/** A provider whose own default address is this machine may be reached there, at that port (reliability S04). */
function loopbackPortOf(provider: Provider): number | undefined {
  if (!URL.canParse(provider.baseUrl)) return undefined;
  const url = new URL(provider.baseUrl);
  return isLoopbackHost(hostOf(url)) ? portOf(url) : undefined;
}
