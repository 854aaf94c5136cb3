// Turns a channel, an endpoint and a model into everything that is the same for each of their calls: address, headers, edits.
// Remembered per channel object, so that the hot path builds none of it.
import {
  type BodyEdits,
  type EndpointName,
  editsFor,
  type Provider,
  type Quirks,
  wireOf,
} from "#contract/provider.ts";
import { hostOf, isLoopbackHost, portOf } from "#server/egress/policy.ts";
import { dialects } from "./dialects/index.ts";
import { channelFault, localFault, type RelayFault } from "./fault.ts";
import { secretsOf, signers } from "./signers.ts";

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
  /** `api-version` of the client's query; "" = none. */
  readonly apiVersion: string;
}

export interface Plan {
  readonly kind: "plan";
  readonly origin: string;
  readonly path: string;
  /** Names and values in turn, credential included. */
  readonly headers: string[];
  readonly streamHeaders: string[];
  readonly quirks: Quirks | undefined;
  readonly edits: BodyEdits | undefined;
  readonly takesStreamOptions: boolean;
  readonly loopbackPort: number | undefined;
  /** Strings that no caller may read in an error or header: the credential, its parts, the host. */
  readonly secrets: readonly string[];
  /** The credential and its parts as bytes, to be masked in replies. */
  readonly credentials: readonly Buffer[];
}

/** The value of an option that a row's header is filled from. */
export type OptionText = (name: "ServerAddress" | "SystemName") => string;

const plans = new WeakMap<UpstreamTarget, Map<string, Plan | RelayFault>>();
/** Model names come from callers and mappings; the memory of one channel stays small. */
const PLANS_PER_CHANNEL = 1_000;

/** Finds or makes the plan of a call; a channel that cannot serve it is a fault that another channel may mend. */
export function planCall(target: UpstreamTarget, key: PlanKey, optionText: OptionText): Plan | RelayFault {
  let known = plans.get(target);
  if (known === undefined || known.size >= PLANS_PER_CHANNEL) {
    known = new Map();
    plans.set(target, known);
  }
  const name = `${key.endpoint}\n${key.model}\n${key.apiVersion}`;
  let plan = known.get(name);
  if (plan === undefined) {
    plan = makePlan(target, key, optionText);
    // Rows with headers from options follow the options.
    if (plan.kind === "fault" || plan.quirks?.headers === undefined) known.set(name, plan);
  }
  return plan;
}

function makePlan(
  channel: UpstreamTarget,
  { endpoint, model, apiVersion }: PlanKey,
  optionText: OptionText,
): Plan | RelayFault {
  const { provider, key, other } = channel;
  const wire = wireOf(provider, { key, baseUrl: channel.baseUrl, other, model });
  const dialect = dialects[wire.dialect];
  const sign = signers[wire.signer];
  if (dialect === undefined || sign === undefined) {
    return channelFault(
      "unsupported_channel_type",
      "该渠道类型暂不支持转发",
      `dialect ${wire.dialect}, signer ${wire.signer}`,
    );
  }
  if (wire.paths[endpoint] === undefined) {
    const fault = localFault(400, "unsupported_relay_mode", "该渠道不支持此接口");
    return { ...fault, retry: true };
  }
  const baseUrl = (channel.baseUrl || wire.baseUrl).replace(/\/+$/, "");
  const target = { baseUrl, other: other || (provider.other?.fallback ?? ""), model, apiVersion };
  const address = dialect.address(endpoint, wire, target);
  if (!URL.canParse(address) || !/^https?:/.test(address)) {
    return channelFault("invalid_channel_address", "渠道地址配置有误", `base url ${JSON.stringify(baseUrl)}`);
  }
  const url = new URL(address);
  const headers = headersOf(sign(key).headers, wire.quirks, optionText);
  return {
    kind: "plan",
    origin: url.origin,
    path: url.pathname + url.search,
    headers: ["accept", "application/json", ...headers],
    streamHeaders: ["accept", "text/event-stream", ...headers],
    quirks: wire.quirks,
    edits: editsFor(wire.quirks, model),
    takesStreamOptions: dialect.takesStreamOptions(wire, target),
    loopbackPort: loopbackPortOf(provider),
    secrets: [...secretsOf(key), url.host, url.hostname],
    credentials: secretsOf(key)
      .filter((secret) => secret.length >= 8)
      .map((secret) => Buffer.from(secret)),
  };
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
