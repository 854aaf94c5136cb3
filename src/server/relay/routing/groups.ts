// The groups of a token, one after the other (requirements K15): the next is used only when the channels of the one before are
// exhausted for this call. Knows neither money nor limits.
import type { Candidates } from "#server/channels/candidates.ts";
import type { Caller } from "#server/relay/admission/admit.ts";
import { Exhausted, LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import type { Progress } from "./failover.ts";

/** A caller in each of the groups of its token. Order: as they are tried. */
export function membersOf(caller: Caller): readonly Caller[] {
  return caller.fallbacks.length === 0 ? [caller] : [caller, ...caller.fallbacks];
}

/** The first of them whose group has a channel for the model; else the first. */
export function servedMember(candidates: Pick<Candidates, "find">, caller: Caller, model: string): Caller {
  if (caller.fallbacks.length === 0 || caller.pin !== undefined) return caller;
  return membersOf(caller).find(({ group }) => candidates.find(group, model).length > 0) ?? caller;
}

/** What is done in a group. */
export interface InGroup<Done> {
  /** Throws: Exhausted when no channel of the group is left; LocalError. */
  serve(member: Caller, mayMoveOn: boolean): Promise<Done>;
  /** Gives back what was taken in the group that is left. */
  leave(): Promise<void>;
}

/**
 * Serves a call in the first of its groups that can. A group that refuses it before calling an upstream (it is too dear, its limits
 * are reached) is passed over too, but for the first, which is what the caller asked for. Throws: LocalError with what says most.
 */
export async function inEachGroup<Done>(
  progress: Pick<Progress, "attempts">,
  caller: Caller,
  model: string,
  { serve, leave }: InGroup<Done>,
): Promise<Done> {
  const members = membersOf(caller);
  const last = members.at(-1);
  const word = new Word();
  for (const member of members) {
    const callsBefore = progress.attempts;
    try {
      return await serve(member, member !== last);
    } catch (error) {
      word.hear(error, { isFirst: member === caller, hasCalled: progress.attempts > callsBefore });
    }
    if (member !== last) await leave();
  }
  const groups = members.map(({ group }) => group).join("、");
  throw word.of(members.length) ?? new LocalError(localErrors.noChannel(groups, model));
}

/** What a caller is told when no group has served the call: an upstream's words before a refusal of ours, that before an empty group. */
class Word {
  #told: LocalError | undefined;
  #empty: LocalError | undefined;
  #isOfUpstream = false;

  /** Throws: the error itself when it is no reason to pass the group over. */
  hear(error: unknown, { isFirst, hasCalled }: { isFirst: boolean; hasCalled: boolean }): void {
    if (!(error instanceof LocalError)) throw error;
    const isExhausted = error instanceof Exhausted;
    if (!isExhausted && (isFirst || hasCalled)) throw error;
    // Channels whose limits are all full are some.
    const isEmpty = isExhausted && !hasCalled && error.fault.code === "no_available_channel";
    if (isEmpty) this.#empty ??= error;
    else if (hasCalled || !this.#isOfUpstream) this.#told = error;
    this.#isOfUpstream ||= hasCalled;
  }

  /** undefined = all of several groups were empty. */
  of(groups: number): LocalError | undefined {
    return this.#told ?? (groups === 1 ? this.#empty : undefined);
  }
}
