// Which channels may serve a request (requirements W8.4); which of them is called is the choice's (channels/choice.ts). Pure.
import { ChannelStatus } from "#contract/channel.ts";
import type { Candidates } from "#server/channels/candidates.ts";
import type { LiveChannel } from "#server/channels/live-channel.ts";
import type { Caller } from "#server/relay/admission/admit.ts";
import { Exhausted, LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import type { IncomingRequest } from "#server/relay/text/incoming.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";

/** The channels that may serve a request: those of the group and model, or the one an administrator named. Throws: LocalError. */
export function findCandidates(
  candidates: Pick<Candidates, "byId" | "find" | "pending">,
  caller: Caller,
  asked: AskedModel,
): readonly LiveChannel[] | Promise<readonly LiveChannel[]> {
  const { model } = asked;
  if (caller.models?.has(model) === false) throw unserved(asked, localErrors.modelNotAllowed(model));
  const { pending } = candidates;
  return pending === undefined
    ? servingNow(candidates, caller, asked)
    : pending.then(() => servingNow(candidates, caller, asked));
}

/** The request with the most output that a rule of its channels may ask for: what is set aside follows (requirements C35). */
export function raisedBy(candidates: readonly LiveChannel[], incoming: IncomingRequest): IncomingRequest {
  const { maxTokens } = incoming;
  if (maxTokens === undefined || maxTokens === 0) return incoming;
  let most = maxTokens;
  for (const { rewrite } of candidates)
    if (rewrite !== undefined && rewrite.raisesTo > most) most = rewrite.raisesTo;
  return most === maxTokens ? incoming : { ...incoming, maxTokens: most };
}

type AskedModel = Pick<IncomingRequest, "model" | "isModelDefault">;

/** A client that named no model is told which one was meant: it may be one that no channel has any more (requirements W8.1). */
function unserved(
  { model, isModelDefault }: AskedModel,
  fault: RelayFault,
  Kind: typeof LocalError = LocalError,
): LocalError {
  return new Kind(isModelDefault === true ? localErrors.modelLeftOut(model, fault) : fault);
}

function servingNow(
  candidates: Pick<Candidates, "byId" | "find">,
  caller: Caller,
  asked: AskedModel,
): readonly LiveChannel[] {
  const { model } = asked;
  if (caller.pin !== undefined) return [pinned(candidates.byId(Number(caller.pin)), caller, model)];
  const found = candidates.find(caller.group, model);
  if (found.length === 0) throw unserved(asked, localErrors.noChannel(caller.group, model), Exhausted);
  return found;
}

function pinned(channel: LiveChannel | undefined, caller: Caller, model: string): LiveChannel {
  if (!caller.isAdmin) throw new LocalError(localErrors.pinNotAllowed());
  if (channel === undefined || !/^\d+$/.test(caller.pin ?? ""))
    throw new LocalError(localErrors.pinInvalid());
  if (channel.status !== ChannelStatus.enabled) throw new LocalError(localErrors.pinDisabled());
  if (!channel.models.has(model) && !channel.mapping.has(model))
    throw new LocalError(localErrors.pinWithoutModel(model));
  return channel;
}

/** What a request may be served by. */
export interface Serving {
  readonly caller: Caller;
  readonly model: string;
  readonly candidates: readonly LiveChannel[];
}

/** The channels of a request that still serve it, as they are now: calls and pauses take minutes. */
export function stillServing(
  candidates: Pick<Candidates, "find">,
  { caller, model, candidates: found }: Serving,
): readonly LiveChannel[] {
  // The first call is made at once.
  if (caller.pin !== undefined) return found;
  const now = candidates.find(caller.group, model);
  // The snapshot has not been rebuilt.
  if (now === found) return found;
  const ids = new Set(found.map(({ id }) => id));
  return now.filter(({ id }) => ids.has(id));
}
