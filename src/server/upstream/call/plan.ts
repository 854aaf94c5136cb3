// Turns a channel, an endpoint and a model into everything that is the same for each of their calls: wire, pass-through or translation,
// address, headers, edits. What is the same for all keys is remembered for each channel, what is a key's own for each key, both within bounds:
// a call puts the two together.
import {
  type EndpointName,
  editsFor,
  modelEdits,
  type Quirks,
  type SignerName,
  type Wire,
  wireOf,
} from "#contract/provider.ts";
import { withoutEndSlashes } from "#contract/wire.ts";
import { clients } from "#server/upstream/clients/index.ts";
import { toolBook } from "#server/upstream/clients/responses-tools.ts";
import type { Dialect, Target } from "#server/upstream/dialects/dialect.ts";
import { dialects } from "#server/upstream/dialects/index.ts";
import { channelFault, localFault, type RelayFault } from "#server/upstream/errors/fault.ts";
import { type Effort, effortOf, effortWord } from "#server/upstream/hub/request.ts";
import { readMember } from "#server/upstream/json/object.ts";
import { signerFor } from "#server/upstream/signers/index.ts";
import type { Signer } from "#server/upstream/signers/signer.ts";
import { valuesOf } from "./body.ts";
import { type Call, isGeneration, NOTHING, type Plan, type UpstreamTarget } from "./call.ts";
import { KeyPart } from "./credential.ts";
import { wayFor } from "./ways/choose.ts";
import { nativeWay } from "./ways/native.ts";

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

/** A plan but for what is a key's own. */
interface Frame {
  /** Who makes the credential. */
  readonly name: SignerName;
  readonly signer: Signer;
  readonly made: Draft | RelayFault;
  /** The last plan that was made of it: a channel with one key makes no other. */
  last?: { readonly target: UpstreamTarget; readonly part: KeyPart; readonly plan: Plan };
}

interface Draft {
  readonly kind: "draft";
  readonly shared: Omit<Plan, "headers" | "route" | "secrets" | "credentials">;
  /** Those before the credential's, names and values in turn. */
  readonly headers: readonly string[];
  readonly host: string;
  readonly hostname: string;
}

/** Remembers a bounded number of things by name: never is all of it dropped at once. With `half` names in the younger half the older one is dropped, so that at most twice as many are kept. What is used moves to the younger. */
export class Recent<Name, Value extends object> {
  readonly #half: number;
  #younger = new Map<Name, Value>();
  #older = new Map<Name, Value>();

  constructor(half: number) {
    this.#half = half;
  }

  get size(): number {
    return this.#younger.size + this.#older.size;
  }

  get(name: Name): Value | undefined {
    const young = this.#younger.get(name);
    if (young !== undefined) return young;
    const old = this.#older.get(name);
    if (old !== undefined) {
      this.#older.delete(name);
      this.set(name, old);
    }
    return old;
  }

  /** It is a new name, or one that was used. */
  set(name: Name, value: Value): void {
    if (this.#younger.size >= this.#half && !this.#younger.has(name)) {
      this.#older = this.#younger;
      this.#younger = new Map();
    }
    this.#younger.set(name, value);
  }
}

interface ChannelPlans {
  readonly frames: Recent<string, Frame>;
  /** By the key's id. */
  readonly keys: Recent<number, KeyPart>;
}

const plans = new WeakMap<UpstreamTarget, ChannelPlans>();
/** Model names come from callers and mappings: twice as many frames are kept of a channel at the most. */
const FRAMES = 500;
/** One takes about a kilobyte: twice as many are kept of a channel at the most. */
const KEYS = 2_500;

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
  if (known === undefined) {
    known = { frames: new Recent(FRAMES), keys: new Recent(KEYS) };
    plans.set(owner, known);
  }
  const part = partOf(target, known.keys);
  const absent = absences.get(owner);
  const isWithout = key.isBeyondResponses === true || absent?.has(key.endpoint) === true;
  const isAbsent = isWithout && key.isPinned !== true && key.isCompact !== true;
  const isBeyondChat = key.isBeyondChat === true && absent?.has("responses") !== true;
  const flags = `${key.isStream ? 1 : 0}${isAbsent ? 1 : 0}${isBeyondChat ? 1 : 0}${key.isCompact === true ? "c" : ""}`;
  const name = `${key.endpoint}\n${key.model}\n${flags}${key.apiVersion}\n${part.look}`;
  let frame = known.frames.get(name);
  if (frame === undefined) {
    frame = makeFrame(target, { ...key, isAbsent, isBeyondChat });
    known.frames.set(name, frame);
  }
  return planWith(frame, target, part, optionText);
}

function partOf({ provider, key, keyId = 0 }: UpstreamTarget, keys: ChannelPlans["keys"]): KeyPart {
  const known = keys.get(keyId);
  if (known?.key === key) return known;
  const part = new KeyPart(provider, key);
  keys.set(keyId, part);
  return part;
}

/** The plan of calls with a key. */
function planWith(
  frame: Frame,
  target: UpstreamTarget,
  part: KeyPart,
  optionText: OptionText,
): Plan | RelayFault {
  const { last, made } = frame;
  // Rows with headers from options follow the options.
  const options = made.kind === "fault" ? undefined : made.shared.quirks?.headers;
  const isFixed = options === undefined;
  if (isFixed && last?.target === target && last.part === part) return last.plan;
  const { fault, headers: signed, account } = part.credential(frame.name, frame.signer);
  if (fault !== undefined) return fault;
  if (made.kind === "fault") return made;
  const { shared, headers, host, hostname } = made;
  const plan: Plan = {
    ...shared,
    target: account === undefined ? shared.target : { ...shared.target, account },
    headers: headers.concat(signed, options === undefined ? NOTHING : optionHeaders(options, optionText)),
    route: target.route,
    secrets: part.secrets.concat(host, hostname),
    credentials: part.canaries,
  };
  if (isFixed) frame.last = { target, part, plan };
  return plan;
}

function makeFrame(channel: UpstreamTarget, planKey: PlanKey & { readonly isAbsent: boolean }): Frame {
  const { endpoint } = planKey;
  const { wire, beside } = wireFor(channel, planKey);
  const dialect = dialects[wire.dialect];
  const isForeign = isGeneration(endpoint) && endpoint !== dialect.native;
  const way = wayFor(planKey, wire, dialect, isForeign);
  const name = wire.signer;
  const signer = signerFor(name, way?.asks ?? endpoint);
  const made =
    way === undefined
      ? unsupported()
      : draftOf(channel, planKey, {
          ...{ wire, dialect, way, signer },
          beside: way === nativeWay && isForeign ? endpoint : beside,
        });
  return { name, signer, made };
}

type Chosen = Pick<Plan, "wire" | "dialect" | "way" | "beside"> & { readonly signer: Signer };

function draftOf(channel: UpstreamTarget, planKey: PlanKey, chosen: Chosen): Draft | RelayFault {
  const { endpoint, isStream, isCompact = false } = planKey;
  const { wire, dialect, way, beside, signer } = chosen;
  const { model, effort } = splitEffort(wire.quirks, modelOn(wire, planKey.model));
  const target = targetOf(channel, planKey, { wire, model });
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
  return {
    kind: "draft",
    shared: {
      kind: "plan",
      way,
      beside,
      dialect,
      wire,
      target,
      url: url.href,
      origin: url.origin,
      path: url.pathname + url.search,
      signer: signer.kind === "call" ? signer : undefined,
      quirks: wire.quirks,
      edits: editsFor(wire.quirks, model),
      effort,
      takesStreamOptions: dialect.takesStreamOptions?.(wire, target) ?? false,
    },
    headers: ["accept", acceptOf(endpoint, isStream, dialect), ...OUR_HEADERS],
    host: url.host,
    hostname: url.hostname,
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
  { provider, baseUrl, other }: UpstreamTarget,
  { isStream, apiVersion }: PlanKey,
  { wire, model }: { wire: Wire; model: string },
): Target {
  return {
    baseUrl: withoutEndSlashes(baseUrl || wire.baseUrl),
    other: other || (provider.other?.fallback ?? ""),
    model,
    apiVersion,
    isStream,
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

/** With the credential's the header allow-list (requirements T1.3, R16): these, and no header of the client. */
const OUR_HEADERS = ["content-type", "application/json", "user-agent", "Tollgate"];

/** A row's headers that are filled from options, in ASCII. */
function optionHeaders(headers: NonNullable<Quirks["headers"]>, optionText: OptionText): string[] {
  return Object.entries(headers).flatMap(([name, option]) => {
    const value = optionText(option).replace(/[^\x20-\x7e]/g, "");
    return value === "" ? [] : [name, value];
  });
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
export function splitEffort(
  quirks: Quirks | undefined,
  model: string,
): { readonly model: string; readonly effort: Effort | undefined } {
  if (quirks?.effortInName?.some((prefix) => model.startsWith(prefix)) !== true)
    return { model, effort: undefined };
  const effort = effortOf(EFFORT_IN_NAME.exec(model)?.[1]);
  return effort === undefined ? { model, effort } : { model: model.slice(0, -effort.length - 1), effort };
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
