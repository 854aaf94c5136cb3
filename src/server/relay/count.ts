// How many tokens a Messages request would be (providers 17.1.5): asked of a channel that can tell, else counted here. Nobody is charged.
import type { LiveChannel } from "#server/channels/candidates.ts";
import { attempt } from "#server/upstream/attempt.ts";
import { valuesOf } from "#server/upstream/body.ts";
import type { Cancellation, JsonRecord } from "#server/upstream/hub.ts";
import { readJson } from "#server/upstream/hub.ts";
import { planCall } from "#server/upstream/plan.ts";
import { promptParts } from "#server/upstream/prompt.ts";
import type { BillTools } from "./bill.ts";
import { choose } from "./choose.ts";
import type { Incoming } from "./incoming.ts";
import { Refusal } from "./refusal.ts";
import type { TryTools } from "./try.ts";

export type CountTools = Pick<TryTools, "upstream" | "health"> & { readonly bill: Pick<BillTools, "tokens"> };

export interface Counted {
  readonly incoming: Incoming;
  readonly candidates: readonly LiveChannel[];
  readonly requestId: string;
  readonly cancellation: Cancellation;
}

/** What the request itself is at fault for; with anything else we count for ourselves. */
const CLIENT_FAULTS = new Set([400, 413]);

/** Throws: Refusal when the upstream finds the request wrong. */
export async function countPrompt(tools: CountTools, counted: Counted): Promise<JsonRecord> {
  const { incoming, candidates } = counted;
  const able = candidates.filter((channel) => canCount(tools, channel, incoming.model));
  const isCooling = tools.health.cooling(incoming.model);
  const channel = choose(able, { tried: new Set(), random: Math.random(), isCooling });
  const told = channel && (await ask(tools, channel, counted));
  if (told !== undefined) return told;
  const parts = promptParts("messages", valuesOf(incoming.body));
  return { input_tokens: await tools.bill.tokens.count(incoming.model, parts) };
}

function canCount({ upstream }: CountTools, channel: LiveChannel, model: string): boolean {
  const name = channel.mapping.get(model) ?? model;
  const key = { endpoint: "count-tokens", model: name, apiVersion: "", isStream: false } as const;
  const plan = planCall(channel, key, upstream.optionText);
  // Other formats count other bodies.
  return (
    plan.kind === "plan" && (plan.dialect.native === "messages" || plan.wire.paths.messages !== undefined)
  );
}

/** undefined = the channel could not tell. */
async function ask(
  { upstream }: CountTools,
  channel: LiveChannel,
  { incoming, requestId, cancellation }: Counted,
): Promise<JsonRecord | undefined> {
  const { body, model, passHeaders } = incoming;
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
  if (result.kind === "fault" && CLIENT_FAULTS.has(result.upstreamStatus)) throw new Refusal(result);
  return result.kind === "whole" ? readJson(result.body.toString()) : undefined;
}
