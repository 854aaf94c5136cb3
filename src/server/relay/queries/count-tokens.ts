// How many tokens a Messages or Gemini request would be (vendors/claude-count, vendors/gemini-clients): counted by a channel that can,
// else here. It costs the caller nothing.
import type { Demand } from "#server/channels/channel-caps.ts";
import { choose } from "#server/channels/choice.ts";
import type { LiveChannel } from "#server/channels/live-channel.ts";
import type { BillingServices } from "#server/relay/billing/pricing.ts";
import { LocalError } from "#server/relay/http/local-errors.ts";
import type { FailoverServices } from "#server/relay/routing/failover.ts";
import type { IncomingRequest } from "#server/relay/text/incoming.ts";
import { attempt } from "#server/upstream/call/attempt.ts";
import { valuesOf } from "#server/upstream/call/body.ts";
import { planCall } from "#server/upstream/call/plan.ts";
import type { Cancellation } from "#server/upstream/cancellation.ts";
import { objectMember } from "#server/upstream/clients/generate-fields.ts";
import { wholeObject } from "#server/upstream/json/object.ts";
import { type JsonRecord, readJson } from "#server/upstream/json/values.ts";
import { promptParts } from "#server/upstream/tokens/prompt.ts";

export type CountTools = Pick<FailoverServices, "upstream" | "health" | "gate"> & {
  readonly bill: Pick<BillingServices, "tokens">;
};

export interface Counted {
  readonly incoming: IncomingRequest;
  /** The body as it came. */
  readonly bytes: Buffer;
  readonly candidates: readonly LiveChannel[];
  readonly requestId: string;
  readonly cancellation: Cancellation;
}

/** Faults of the request itself; after any other fault the tokens are counted here. */
const CLIENT_FAULTS = new Set([400, 413]);

/** Throws: LocalError when the upstream finds the request wrong. */
export async function countPrompt(tools: CountTools, counted: Counted): Promise<JsonRecord> {
  const { incoming, candidates } = counted;
  const able = candidates
    .map((channel) => channel.keys?.first(channel) ?? channel)
    .filter((channel) => canCount(tools, channel, incoming) && tools.gate.fullNow(channel) === undefined);
  const isOpen = tools.health.openCircuits(incoming.model);
  const channel = choose(able, { tried: new Set(), random: Math.random(), isOpen });
  const told = channel && (await askInLimits(tools, channel, counted));
  if (told !== undefined) return told;
  const parts = promptParts(incoming.endpoint, valuesOf(incoming.body));
  const tokens = await tools.bill.tokens.count(incoming.model, parts);
  return incoming.endpoint === "generate" ? { totalTokens: tokens } : { input_tokens: tokens };
}

/** The generation request in a body: Gemini's may be wrapped (vendors/gemini-clients). */
export function countedPart(endpoint: "messages" | "generate", bytes: Buffer): Buffer {
  if (endpoint === "messages") return bytes;
  // A body that is too deep to be serialised again is refused where it is read.
  const body = wholeObject(bytes) && readJson(bytes.toString());
  const wrapped = body && objectMember(body, "generateContentRequest");
  return wrapped === undefined ? bytes : Buffer.from(JSON.stringify(wrapped));
}

function canCount(
  { upstream }: CountTools,
  channel: LiveChannel,
  { endpoint, model }: IncomingRequest,
): boolean {
  const name = channel.mapping.get(model) ?? model;
  const key = { endpoint: "count-tokens", model: name, apiVersion: "", isStream: false } as const;
  const plan = planCall(channel, key, upstream.optionText);
  // Each format counts its own bodies only.
  if (plan.kind !== "plan") return false;
  return (
    plan.dialect.native === endpoint || (endpoint === "messages" && plan.wire.paths.messages !== undefined)
  );
}

/** It takes no tokens and no money of the channel, but it is a call of it (requirements C39). */
const FREE: Demand = { tokens: () => 0, hold: () => Promise.resolve(undefined) };

/** undefined = the channel could not count, or has no room for a call. */
async function askInLimits(
  tools: CountTools,
  channel: LiveChannel,
  counted: Counted,
): Promise<JsonRecord | undefined> {
  const { gate } = tools;
  if (!gate.isLimited(channel)) return ask(tools, channel, counted);
  const entry = await gate.enter(channel, FREE);
  if (entry.kind !== "entered") return undefined;
  try {
    return await ask(tools, channel, counted);
  } finally {
    entry.leave(0);
  }
}

/** undefined = the channel could not count. */
async function ask(
  { upstream }: CountTools,
  channel: LiveChannel,
  { incoming, bytes, requestId, cancellation }: Counted,
): Promise<JsonRecord | undefined> {
  const { model, passHeaders } = incoming;
  const object = wholeObject(bytes);
  const body = object === undefined ? incoming.body : { ...incoming.body, bytes, object };
  const result = await attempt(upstream, {
    target: channel,
    endpoint: "count-tokens",
    body,
    model: channel.mapping.get(model) ?? model,
    originModel: model,
    isStream: false,
    isArray: false,
    apiVersion: "",
    passHeaders,
    seed: requestId,
    cancellation,
    trace: { firstByteMs: 0, isSent: false },
  });
  if (result.kind === "fault" && CLIENT_FAULTS.has(result.upstreamStatus)) throw new LocalError(result);
  return result.kind === "whole" ? readJson(result.body.toString()) : undefined;
}
