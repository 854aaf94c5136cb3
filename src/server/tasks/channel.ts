// The channel and the key that a task was submitted with: nothing else is ever asked about it (requirements C31).

import type { Candidates } from "#server/channels/candidates.ts";
import { channelWith } from "#server/channels/key-rings.ts";
import type { LiveChannel } from "#server/channels/live-channel.ts";
import { findMakersKey } from "#server/store/channel-keys.ts";
import { findChannel } from "#server/store/channels.ts";
import type { TaskRow } from "#server/store/tasks.ts";
import type { Tools } from "#server/tools.ts";
import type { CallFacts } from "#server/upstream/call/call.ts";
import type { About } from "#server/upstream/call/outgoing.ts";
import type { TaskCallTools } from "#server/upstream/video/call.ts";

/** What a task's upstream id, and the place of its result, are sealed under. */
export const TASK_SEAL = "tasks";

export type TaskTools = Pick<
  Tools,
  "db" | "secrets" | "ledger" | "egress" | "credentials" | "clock" | "options" | "events" | "stopping"
> & { readonly candidates: Candidates };

/** What calls to the upstream of a task need. */
export function callToolsOf({ egress, credentials, clock }: TaskTools): TaskCallTools {
  return { egress, credentials, now: clock.now };
}

const ENDPOINTS = { video: "videos", response: "responses", batch: "batches" } as const;

/**
 * What the rules of a channel may ask of a call about work that is under way, or about a file. `header` reads the headers of the client who
 * asks now; absent = the job asks.
 */
export function aboutTask(
  { clock }: Pick<Tools, "clock">,
  { mapping }: Pick<LiveChannel, "mapping">,
  {
    kind,
    model,
    request_id,
    user_id,
  }: Pick<TaskRow, "model" | "request_id" | "user_id"> & { readonly kind: keyof typeof ENDPOINTS },
  header: CallFacts["header"] = () => undefined,
): About {
  return {
    reach: "control",
    endpoint: ENDPOINTS[kind],
    model: mapping.get(model) ?? model,
    originModel: model,
    isStream: false,
    seed: request_id,
    facts: { header, attempt: 1, userId: user_id, maxTokens: undefined, nowMs: clock.now() },
  };
}

/** `gone` = the channel or its key was deleted; undefined = it cannot be had at the moment. */
export async function channelOfTask(
  { db, secrets, candidates }: TaskTools,
  { channel_id, key_id }: Pick<TaskRow, "channel_id" | "key_id">,
): Promise<LiveChannel | "gone" | undefined> {
  await candidates.pending;
  const channel = candidates.byId(channel_id);
  if (channel === undefined) return (await findChannel(db, channel_id)) === undefined ? "gone" : undefined;
  if (key_id === 0 && channel.keys === undefined) return channel;
  // Also one that is switched off: what it began is still its own.
  const row = await findMakersKey(db, channel_id, key_id);
  if (row === undefined) return "gone";
  return channelWith({ secrets }, channel, row);
}
