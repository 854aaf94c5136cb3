// How many tokens a Messages or Gemini request would be (vendors/claude-count, vendors/gemini-clients): counted by a channel that can,
// else here. It costs the caller nothing.
import { withKey } from "#server/channels/candidates.ts";
import type { Demand } from "#server/channels/channel-caps.ts";
import { type CountedFormat, isCountOf } from "#server/channels/formats.ts";
import type { LiveChannel } from "#server/channels/live-channel.ts";
import type { Caller } from "#server/relay/admission/admit.ts";
import type { BillingServices } from "#server/relay/billing/pricing.ts";
import { Exhausted, LocalError } from "#server/relay/http/local-errors.ts";
import { toldBy } from "#server/relay/routing/failed-calls.ts";
import type { FailoverServices } from "#server/relay/routing/failover.ts";
import { NextChannel, type NextServices, type Wanted } from "#server/relay/routing/next-channel.ts";
import type { IncomingRequest } from "#server/relay/text/incoming.ts";
import { attempt } from "#server/upstream/call/attempt.ts";
import { valuesOf } from "#server/upstream/call/body.ts";
import type { CallFacts } from "#server/upstream/call/call.ts";
import { planCall } from "#server/upstream/call/plan.ts";
import type { Cancellation } from "#server/upstream/cancellation.ts";
import { objectMember } from "#server/upstream/clients/generate-fields.ts";
import { wholeObject } from "#server/upstream/json/object.ts";
import { type JsonRecord, readJson } from "#server/upstream/json/values.ts";
import { promptParts } from "#server/upstream/tokens/prompt.ts";

export type CountTools = Pick<FailoverServices, "upstream"> &
  NextServices & { readonly bill: Pick<BillingServices, "tokens"> };

export interface Counted {
  readonly caller: Caller;
  readonly incoming: IncomingRequest;
  /** The body as it came. */
  readonly bytes: Buffer;
  readonly candidates: readonly LiveChannel[];
  readonly requestId: string;
  /** For the rules of its channel. */
  readonly facts: CallFacts;
  readonly cancellation: Cancellation;
}

/** Faults of the request itself; after any other fault the tokens are counted here. */
const CLIENT_FAULTS = new Set([400, 413]);

/** It takes no tokens and no money of the channel, but it is a call of it (requirements C39). */
const FREE: Demand = { tokens: () => 0, hold: () => Promise.resolve(undefined) };

/** Throws: LocalError when the upstream finds the request wrong. */
export async function countPrompt(tools: CountTools, counted: Counted): Promise<JsonRecord> {
  const told = await askUpstream(tools, counted);
  if (told !== undefined) return told;
  const { incoming } = counted;
  const parts = promptParts(incoming.endpoint, valuesOf(incoming.body));
  const tokens = await tools.bill.tokens.count(incoming.model, parts);
  return incoming.endpoint === "generate" ? { totalTokens: tokens } : { input_tokens: tokens };
}

/** What chooses the channel that counts: none that rests, and none that calls wait for. */
export function nextCounter(
  tools: NextServices & Pick<CountTools, "upstream">,
  wanted: Pick<Wanted, "caller" | "model" | "candidates" | "cancellation">,
  format: CountedFormat,
): NextChannel {
  const { model } = wanted;
  const candidates = wanted.candidates.filter((channel) => {
    const name = channel.mapping.get(model) ?? model;
    const key = { endpoint: "count-tokens", model: name, apiVersion: "", isStream: false } as const;
    const plan = planCall(withKey(channel), key, tools.upstream.optionText);
    return plan.kind === "plan" && isCountOf(plan, format);
  });
  return new NextChannel(tools, { ...wanted, candidates, isStream: false, mayMoveOn: true, demand: FREE });
}

/** undefined = no channel can count now, or the one that was asked could not. */
async function askUpstream(tools: CountTools, counted: Counted): Promise<JsonRecord | undefined> {
  const { incoming } = counted;
  const { model } = incoming;
  const next = nextCounter(tools, { ...counted, model }, formatOf(incoming));
  const turn = await next.take(undefined).catch((error: unknown) => {
    if (error instanceof Exhausted) return undefined;
    throw error;
  });
  if (turn === undefined) return undefined;
  const { channel, entry } = turn;
  // Not counted for or against the channel, nor measured: it says little of its answers.
  channel.keys?.begin(channel.keyId);
  const result = await ask(tools, channel, counted).finally(() => {
    channel.keys?.end(channel.keyId);
    entry?.leave(0);
  });
  if (result.kind === "fault" && CLIENT_FAULTS.has(result.upstreamStatus))
    throw new LocalError(toldBy(channel, result));
  return result.kind === "whole" ? readJson(result.body.toString()) : undefined;
}

function formatOf({ endpoint }: IncomingRequest): CountedFormat {
  return endpoint === "generate" ? "generate" : "messages";
}

/** The generation request in a body: Gemini's may be wrapped (vendors/gemini-clients). */
export function countedPart(endpoint: CountedFormat, bytes: Buffer): Buffer {
  if (endpoint === "messages") return bytes;
  // A body that is too deep to be serialised again is refused where it is read.
  const body = wholeObject(bytes) && readJson(bytes.toString());
  const wrapped = body && objectMember(body, "generateContentRequest");
  return wrapped === undefined ? bytes : Buffer.from(JSON.stringify(wrapped));
}

function ask(
  { upstream }: Pick<CountTools, "upstream">,
  channel: LiveChannel,
  { incoming, bytes, requestId, facts, cancellation }: Counted,
): ReturnType<typeof attempt> {
  const { model, passHeaders } = incoming;
  const object = wholeObject(bytes);
  const body = object === undefined ? incoming.body : { ...incoming.body, bytes, object };
  return attempt(upstream, {
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
    facts,
    cancellation,
    trace: { firstByteMs: 0, isSent: false },
  });
}
