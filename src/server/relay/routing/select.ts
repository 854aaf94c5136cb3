// Which channels may serve a request, and which of them is called (requirements W8.4, W9.2 [P]). Pure: no clock, no chance except as
// arguments.
import { ChannelStatus } from "#contract/channel.ts";
import type { Candidates } from "#server/channels/candidates.ts";
import type { LiveChannel } from "#server/channels/live-channel.ts";
import type { Caller } from "#server/relay/admission/admit.ts";
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
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
function unserved({ model, isModelDefault }: AskedModel, fault: RelayFault): LocalError {
  return new LocalError(isModelDefault === true ? localErrors.modelLeftOut(model, fault) : fault);
}

function servingNow(
  candidates: Pick<Candidates, "byId" | "find">,
  caller: Caller,
  asked: AskedModel,
): readonly LiveChannel[] {
  const { model } = asked;
  if (caller.pin !== undefined) return [pinned(candidates.byId(Number(caller.pin)), caller, model)];
  const found = candidates.find(caller.group, model);
  if (found.length === 0) throw unserved(asked, localErrors.noChannel(caller.group, model));
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

/** What the choice is made from. */
type Choosable = Pick<LiveChannel, "id" | "priority" | "weight">;

export interface Choice {
  /** Channels this request has already failed on; none is chosen twice. */
  readonly tried: ReadonlySet<number>;
  /** In [0, 1). */
  readonly random: number;
  /** What the requests of one conversation share: they get the same channel as long as it can be had; undefined = chance decides. */
  readonly conversation?: number | undefined;
  /** Channels whose circuit is open; they are chosen only when no other is left. */
  readonly isOpen?: ((id: number) => boolean) | undefined;
}

/**
 * Chooses among candidates: the highest priority that is left; within it by weight, where all-zero weights mean an even
 * choice and a zero beside positive ones means "only when the others failed" (requirements W9.2 [P]).
 */
export function choose<C extends Choosable>(candidates: readonly C[], choice: Choice): C | undefined {
  const [only] = candidates;
  if (candidates.length === 1 && only !== undefined && choice.tried.size === 0) return only;
  const left = candidates.filter((candidate) => !choice.tried.has(candidate.id));
  const closed = left.filter((candidate) => choice.isOpen?.(candidate.id) !== true);
  const tier = topTier(closed.length > 0 ? closed : left);
  const { conversation } = choice;
  return conversation === undefined ? pick(tier, choice.random) : stick(tier, conversation);
}

function topTier<C extends Choosable>(candidates: readonly C[]): readonly C[] {
  const top = candidates.reduce(
    (highest, { priority }) => Math.max(highest, priority),
    Number.NEGATIVE_INFINITY,
  );
  return candidates.filter(({ priority }) => priority === top);
}

function pick<C extends Choosable>(tier: readonly C[], random: number): C | undefined {
  const total = tier.reduce((sum, { weight }) => sum + Math.max(0, weight), 0);
  if (total === 0) return tier[Math.floor(random * tier.length)];
  let at = random * total;
  let last: C | undefined;
  for (const candidate of tier) {
    if (candidate.weight <= 0) continue;
    last = candidate;
    at -= candidate.weight;
    if (at < 0) return candidate;
  }
  // Rounding can leave a tiny rest above the last weight.
  return last;
}

/**
 * Weighted rendezvous hashing: each candidate draws a lot from the conversation's number and its own, and the best lot wins. Over
 * many conversations every channel gets its weight's share; when one comes or goes, only the conversations that it wins move.
 * Nothing is remembered, so all processes agree.
 */
function stick<C extends Choosable>(tier: readonly C[], conversation: number): C | undefined {
  const isEven = tier.every(({ weight }) => weight <= 0);
  let winner: C | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of tier) {
    const weight = isEven ? 1 : candidate.weight;
    if (weight <= 0) continue;
    const lot = -Math.log(lotOf(conversation, candidate.id)) / weight;
    if (lot >= least) continue;
    least = lot;
    winner = candidate;
  }
  return winner;
}

/** Between 0 and 1, neither of them; as good as chance for every pair (MurmurHash3's finish). */
function lotOf(conversation: number, id: number): number {
  let mixed = conversation ^ Math.imul(id, 0x9e3779b1);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (((mixed ^ (mixed >>> 16)) >>> 0) + 0.5) / 2 ** 32;
}
