// The channel and the key that a task was submitted with: nothing else is ever asked about it (requirements C31).

import type { Candidates } from "#server/channels/candidates.ts";
import { Key } from "#server/channels/key-list.ts";
import { openChannelKey } from "#server/channels/key-rings.ts";
import type { LiveChannel } from "#server/channels/live-channel.ts";
import { listSealedKeys } from "#server/store/channel-keys.ts";
import { findChannel } from "#server/store/channels.ts";
import type { TaskRow } from "#server/store/tasks.ts";
import type { Tools } from "#server/tools.ts";
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

/** `gone` = the channel or its key was deleted; undefined = it cannot be had at the moment. */
export async function channelOfTask(
  { db, secrets, candidates }: TaskTools,
  { channel_id, key_id }: Pick<TaskRow, "channel_id" | "key_id">,
): Promise<LiveChannel | "gone" | undefined> {
  await candidates.pending;
  const channel = candidates.byId(channel_id);
  if (channel === undefined) return (await findChannel(db, channel_id)) === undefined ? "gone" : undefined;
  if (key_id === 0) return channel.keys === undefined ? channel : "gone";
  // Also one that is switched off: what it began is still its own.
  const [row] = await listSealedKeys(db, channel_id, key_id);
  if (row === undefined) return "gone";
  return new Key(row).as(channel, (sealed) => openChannelKey(secrets, sealed));
}
