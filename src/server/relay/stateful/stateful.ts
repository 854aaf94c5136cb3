// Requests for responses that upstreams may keep (ResponsesStateEnabled): where they go, and what is noted of their answers. Loaded when the
// first of them comes.
import type { LiveChannel } from "#server/channels/live-channel.ts";
import type { RequestState } from "#server/relay/routing/failover.ts";
import type { Services } from "#server/relay/services.ts";
import type { StreamReply, WholeReply } from "#server/upstream/call/call.ts";
import { parseObject } from "#server/upstream/handlers/classify.ts";
import { submitInBackground } from "./background.ts";
import { directCompacted, keepCompaction } from "./compact.ts";
import { type Kept, keepReply } from "./keep.ts";
import { type Directed, pinTo } from "./pin.ts";

/** Sends a request that goes on from a response where that was made. Throws: LocalError. */
export async function direct(services: Services, { caller, incoming }: Directed): Promise<Directed> {
  const id = incoming.state?.previous ?? "";
  if (id === "") return directCompacted(services, { caller, incoming });
  const pinned = await pinTo(services, caller, { id, model: incoming.model });
  return { caller: pinned.caller, incoming: { ...incoming, pinned: pinned.channel } };
}

/** The answer of a request in the background, and when what it costs is booked, if it has ended; undefined = it is none. */
export async function inBackground(
  services: Services,
  state: RequestState,
  directed: Directed,
): Promise<Kept<WholeReply | StreamReply> | undefined> {
  if (directed.incoming.state?.isBackground !== true) return undefined;
  return submitInBackground(services, state, directed);
}

/** Notes what the channel keeps of an answer. */
export function keep(
  { ctx }: Services,
  { caller, incoming, channel }: Directed & { readonly channel: LiveChannel | undefined },
  reply: WholeReply | StreamReply,
): Kept<WholeReply | StreamReply> {
  const made = channel && { caller, channel, model: incoming.model };
  if (made !== undefined && incoming.state?.isCompact === true && reply.kind === "whole") {
    const noted = keepCompaction(ctx, made, parseObject(reply.body));
    return { reply, done: () => noted };
  }
  if (made === undefined || incoming.state?.isStored !== true)
    return { reply, done: () => Promise.resolve() };
  return keepReply(ctx, made, reply);
}
