// Turns a channel, an endpoint and a model into everything that is the same for each of their calls: wire, pass-through or translation,
// address, headers, edits. Cached per channel object, so that the hot path builds none of it. Decides which requests use another format
// than the plan begins with.
import {
  type EndpointName,
  editsFor,
  modelEdits,
  type Quirks,
  type Wire,
  wireOf,
} from "#contract/provider.ts";
import { withoutEndSlashes } from "#contract/wire.ts";
import { clients } from "#server/upstream/clients/index.ts";
import { toolBook } from "#server/upstream/clients/responses-tools.ts";
import type { Dialect, Target } from "#server/upstream/dialects/dialect.ts";
import { dialects } from "#server/upstream/dialects/index.ts";
import { channelFault, localFault, type RelayFault } from "#server/upstream/errors/fault.ts";
import { canaryOf } from "#server/upstream/errors/mask.ts";
import { isTask } from "#server/upstream/handlers/media.ts";
import { type Effort, effortOf, effortWord } from "#server/upstream/hub/request.ts";
import { readMember } from "#server/upstream/json/object.ts";
import { keyFault, signerFor } from "#server/upstream/signers/index.ts";
import { type Signer, secretsOf } from "#server/upstream/signers/signer.ts";
import { valuesOf } from "./body.ts";
import { type Call, isGeneration, type Plan, type UpstreamTarget, type Way } from "./call.ts";
import { mediaWay } from "./ways/media.ts";
import { nativeWay } from "./ways/native.ts";
import { passWay } from "./ways/pass.ts";
import { translateWay } from "./ways/translate.ts";
import { embeddingsWay, imagesWay, rerankWay, speechWay } from "./ways/whole.ts";

interface PlanKey {
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
  /** It goes on from what the upstream has: no other format can. */
  readonly isPinned?: boolean;
  /** It goes to the path by which conversations are made short. */
  readonly isCompact?: boolean;
}

/** The value of an option that a row's header is filled from. */
export type OptionText = (name: "ServerAddress" | "SystemName") => string;

const plans = new WeakMap<UpstreamTarget, Map<string, Plan | RelayFault>>();
/** Model names come from callers and mappings: the plan cache of one channel is bounded. */
const PLANS_PER_CHANNEL = 1_000;

/** Additional formats that a channel was found to lack, although its row names a path for them. */
const absences = new WeakMap<UpstreamTarget, Set<EndpointName>>();

/** Until the channel changes, its calls of this format are translated. */
export function noteAbsence(target: UpstreamTarget, endpoint: EndpointName): void {
  const owner = target.base ?? target;
  const known = absences.get(owner) ?? new Set();
  absences.set(owner, known.add(endpoint));
}

/** The wire's own format failed too, so the absence proves nothing. */
export function forgetAbsence(target: UpstreamTarget, endpoint: EndpointName): void {
  absences.get(target.base ?? target)?.delete(endpoint);
}

/** Finds or makes the plan of a call; a channel that cannot serve it is a fault that allows failover to another channel. */
export function planCall(target: UpstreamTarget, key: PlanKey, optionText: OptionText): Plan | RelayFault {
  const owner = target.base ?? target;
  let known = plans.get(owner);
  if (known === undefined || known.size >= PLANS_PER_CHANNEL) {
    known = new Map();
    plans.set(owner, known);
  }
  const absent = absences.get(owner);
  const isWithout = key.isBeyondResponses === true || absent?.has(key.endpoint) === true;
  const isAbsent = isWithout && key.isPinned !== true && key.isCompact !== true;
  const isBeyondChat = key.isBeyondChat === true && absent?.has("responses") !== true;
  const flags = `${key.isStream ? 1 : 0}${isAbsent ? 1 : 0}${isBeyondChat ? 1 : 0}${key.isCompact === true ? "c" : ""}`;
  const usual = `${key.endpoint}\n${key.model}\n${flags}${key.apiVersion}`;
  const name = target.base === undefined ? usual : `${target.keyId} ${usual}`;
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
  const { key } = channel;
  const { endpoint, isStream, isCompact = false } = planKey;
  const { wire, beside } = wireFor(channel, planKey);
  const { model, effort } = splitEffort(wire.quirks, modelOn(wire, planKey.model));
  const dialect = dialects[wire.dialect];
  const wrongKey = keyFault(wire.signer, key);
  if (wrongKey !== undefined) return wrongKey;
  const isForeign = isGeneration(endpoint) && endpoint !== dialect.native;
  const way = wayFor(planKey, wire, dialect, isForeign);
  if (way === undefined) return unsupported();
  const signer = signerFor(wire.signer, way.asks ?? endpoint);
  const target = targetOf(channel, planKey, { wire, model, signer });
  const at = { endpoint, wire, dialect, target };
  const address = way.address?.(at) ?? dialect.address(endpoint, wire, target);
  // Unfilled placeholders: the key or `other` does not give region, project or account.
  if (!URL.canParse(address) || !/^(https?|wss?):/.test(address) || address.includes("{")) {
    return channelFault(
      "invalid_channel_address",
      "渠道地址配置有误",
      `base url ${JSON.stringify(target.baseUrl)}`,
    );
  }
  const url = new URL(address);
  url.pathname += isCompact ? "/compact" : "";
  const signed = signer.kind === "fixed" ? signer.sign(key).headers : [];
  return {
    kind: "plan",
    way,
    beside: way === nativeWay && isForeign ? endpoint : beside,
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
    route: channel.route,
    secrets: [...secretsOf(key), url.host, url.hostname],
    credentials: secretsOf(key)
      .filter((secret) => secret.length >= 8)
      .map(canaryOf),
  };
}

/** Another channel may be able to. */
export function unsupported(): RelayFault {
  return { ...localFault(400, "unsupported_relay_mode", "该渠道不支持此接口"), retry: true };
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

/** The wire's own name of a model that the catalogue lists under another name. */
function modelOn({ quirks }: Wire, model: string): string {
  const names = quirks?.modelNames;
  return names !== undefined && Object.hasOwn(names, model) ? (names[model] ?? model) : model;
}

function acceptOf(endpoint: EndpointName, isStream: boolean, { frames }: Dialect): string {
  if (endpoint === "speech" || endpoint === "transcription" || endpoint === "translation") return "*/*";
  if (!isStream) return "application/json";
  return frames === "aws" ? "application/vnd.amazon.eventstream" : "text/event-stream";
}

/** undefined = this upstream cannot serve such calls. */
function wayFor(
  { endpoint, isCompact, isAbsent }: PlanKey & { readonly isAbsent: boolean },
  wire: Wire,
  dialect: Dialect,
  isForeign: boolean,
): Way | undefined {
  const usual = wayOf(endpoint, wire, dialect);
  if (isCompact === true) return usual === nativeWay ? usual : undefined;
  return usual === nativeWay && isForeign && isAbsent ? translateWay : usual;
}

/** undefined = this upstream cannot serve the endpoint. */
function wayOf(endpoint: EndpointName, wire: Wire, dialect: Dialect): Way | undefined {
  const isOpenAi = dialect.native === "chat";
  if (!isGeneration(endpoint)) return taskWay(endpoint, wire, dialect);
  if (wire.paths.chat === undefined) return undefined;
  if (endpoint === dialect.native) return isOpenAi ? passWay : nativeWay;
  const hasOwnPath = endpoint !== "chat" && wire.paths[endpoint] !== undefined;
  if (!hasOwnPath) return translateWay;
  if (endpoint !== "completions") return nativeWay;
  return isOpenAi ? passWay : translateWay;
}

/** The way of an endpoint that generates no text: bodies are OpenAI's, except token counts, which belong to their format. */
function taskWay(endpoint: EndpointName, wire: Wire, dialect: Dialect): Way | undefined {
  if (wire.paths[endpoint] === undefined) return undefined;
  // A list of models passes unchanged on every wire.
  if (endpoint === "models") return passWay;
  if (endpoint === "count-tokens") return nativeWay;
  const own = OWN_WAYS[endpoint];
  if (own !== undefined && dialect[own.name] !== undefined) return own.way;
  if (dialect.native !== "chat") return undefined;
  return isTask(endpoint) ? mediaWay : passWay;
}

type OwnWire = "embeddings" | "images" | "rerank" | "speech";

/** Endpoints for which a dialect may have an encoding of its own. */
const OWN_WAYS: Readonly<Partial<Record<EndpointName, { readonly name: OwnWire; readonly way: Way }>>> = {
  embeddings: { name: "embeddings", way: embeddingsWay },
  images: { name: "images", way: imagesWay },
  rerank: { name: "rerank", way: rerankWay },
  speech: { name: "speech", way: speechWay },
};

/** The header allow-list (requirements T1.3, R16): these, and no header of the client. */
function headersOf(signed: readonly string[], quirks: Quirks | undefined, optionText: OptionText): string[] {
  const headers = ["content-type", "application/json", "user-agent", "Tollgate", ...signed];
  for (const [name, option] of Object.entries(quirks?.headers ?? {})) {
    const value = optionText(option).replace(/[^\x20-\x7e]/g, "");
    if (value !== "") headers.push(name, value);
  }
  return headers;
}

interface Wish {
  readonly hasTools: boolean;
  readonly effort: Effort | undefined;
}

type Asked = Pick<Call, "target" | "endpoint" | "body" | "model" | "isStream" | "isPinned" | "isCompact">;

const BEYOND_CHAT = { isBeyondChat: true } as const;
const BEYOND_RESPONSES = { isBeyondResponses: true } as const;

/**
 * Whether a request would be refused in the format its plan begins with, and accepted in the other one: OpenAI's newer models refuse in
 * Chat tools together with reasoning, and the effort `max`; other vendors' Responses refuse tools that their chat takes as functions.
 */
export function beyond(asked: Asked): typeof BEYOND_CHAT | typeof BEYOND_RESPONSES | undefined {
  if (asked.isPinned === true || asked.isCompact === true) return undefined;
  if (asked.endpoint === "responses") return isBeyondResponses(asked) ? BEYOND_RESPONSES : undefined;
  return isBeyondChat(asked) ? BEYOND_CHAT : undefined;
}

/** Whether the request has tool types that this vendor's own Responses do not know. */
function isBeyondResponses({ target, body, model }: Asked): boolean {
  const rule = target.provider.quirks?.functionToolsOnly;
  if (rule === undefined || rule.but.some((prefix) => model.startsWith(prefix))) return false;
  try {
    const { tools, namespaced, builtIns } = toolBook(valuesOf(body));
    return namespaced.size > 0 || builtIns.size > 0 || tools.some(({ kind }) => kind === "custom");
  } catch {
    return false;
  }
}

/** Whether the model would refuse a request in Chat that it takes in Responses. Source: decision 032. */
function isBeyondChat(asked: Asked): boolean {
  const { quirks } = asked.target.provider;
  const rules = quirks?.forModels && modelEdits(quirks, asked.model);
  const wish = rules?.chatToolsAt && wishOf(asked);
  if (wish === undefined) return false;
  const effort = splitEffort(quirks, asked.model).effort ?? wish.effort;
  if (effort === "max" && rules?.noMaxInChat === true) return true;
  return wish.hasTools && rules?.chatToolsAt?.includes(effort ?? "") === false;
}

/** undefined = the endpoint is never sent as Chat, or the request cannot be parsed. */
function wishOf({ endpoint, body, model, isStream }: Asked): Wish | undefined {
  if (endpoint === "chat") {
    const said = (name: string) => readMember(body.bytes, body.object, name);
    const isFilled = (list: unknown) => Array.isArray(list) && list.length > 0;
    const hasTools = isFilled(said("tools")) || isFilled(said("functions"));
    return { hasTools, effort: effortOf(said("reasoning_effort")) };
  }
  if (endpoint !== "messages" && endpoint !== "generate") return undefined;
  try {
    const { tools = [], reasoning } = clients[endpoint].parse(valuesOf(body), { model, isStream });
    return { hasTools: tools.length > 0, effort: reasoning?.effort ?? (reasoning && effortWord(reasoning)) };
  } catch {
    // A request that cannot be parsed is refused when it is encoded.
    return undefined;
  }
}

/** The Responses path as a wire of its own; undefined = there is none. */
function responsesWire({ paths, quirks, ...wire }: Wire): Wire | undefined {
  if (paths.responses === undefined) return undefined;
  const { effortInName } = quirks ?? {};
  return {
    ...wire,
    dialect: "responses",
    paths: { chat: paths.responses },
    quirks: {
      dropFields: ["temperature", "top_p"],
      ...(effortInName !== undefined && { effortInName }),
    },
  };
}

/** `gpt-5.1-codex-max` is a name of its own. */
const EFFORT_IN_NAME = /-(none|minimal|low|medium|high|xhigh|(?<!-codex-)max)$/;

/** Takes the effort off a model's name (`gpt-5-high`) where a row says that names may have one. Source: vendors/openai-reasoning. */
function splitEffort(
  quirks: Quirks | undefined,
  model: string,
): { readonly model: string; readonly effort: Effort | undefined } {
  if (quirks?.effortInName?.some((prefix) => model.startsWith(prefix)) !== true)
    return { model, effort: undefined };
  const effort = effortOf(EFFORT_IN_NAME.exec(model)?.[1]);
  return effort === undefined ? { model, effort } : { model: model.slice(0, -effort.length - 1), effort };
}
