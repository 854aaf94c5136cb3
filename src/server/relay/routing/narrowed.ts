// What is left of the channels of a group and model: those that the operator's rules allow (requirements C44), or the one that an administrator
// named; and what a caller is told when none is.
import { ChannelStatus } from "#contract/channel.ts";
import { allowedBy } from "#contract/route-rule.ts";
import type { LiveChannel } from "#server/channels/live-channel.ts";
import { ruleFor } from "#server/channels/route-rules.ts";
import type { RenamedGroups } from "#server/coord/renamed-groups.ts";
import type { Options } from "#server/options.ts";
import type { Caller } from "#server/relay/admission/admit.ts";
import { Exhausted, LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import type { IncomingRequest } from "#server/relay/text/incoming.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";

/** The body is what rules go by; a conversation in real time has none. */
export type AskedModel = Pick<IncomingRequest, "model" | "isModelDefault"> &
  Partial<Pick<IncomingRequest, "body" | "form">>;

/** A client that named no model is told which one was meant: it may be one that no channel has any more (requirements W8.1). */
export function unserved(
  { model, isModelDefault }: AskedModel,
  fault: RelayFault,
  Kind: typeof LocalError = LocalError,
): LocalError {
  return new Kind(isModelDefault === true ? localErrors.modelLeftOut(model, fault) : fault);
}

export interface RuleTables {
  readonly options: Pick<Options, "get">;
  readonly renamedGroups: Pick<RenamedGroups, "otherNames">;
}

/** What the operator's rules leave of the channels. Throws: LocalError with the rule's name for administrators (requirements C44). */
export function ruled(
  { options, renamedGroups }: RuleTables,
  found: readonly LiveChannel[],
  { group, teamId = 0, isAdmin }: Caller,
  asked: AskedModel,
): readonly LiveChannel[] {
  const { model } = asked;
  const bytes = (asked.form ?? asked.body)?.bytes.length ?? 0;
  const groups = [group, ...renamedGroups.otherNames(group)];
  const rule = ruleFor(options.get("RouteRules"), { model, groups, teamId, bytes });
  if (rule === undefined) return found;
  const left = allowedBy(rule, found);
  if (left.length > 0) return left;
  const fault = isAdmin ? localErrors.ruledOut(rule.name, model) : localErrors.noChannel(group, model);
  throw unserved(asked, fault, Exhausted);
}

/** The channel that a call names by its number. Throws: LocalError. */
export function pinned(channel: LiveChannel | undefined, caller: Caller, model: string): LiveChannel {
  if (!caller.isAdmin) throw new LocalError(localErrors.pinNotAllowed());
  if (channel === undefined || !/^\d+$/.test(caller.pin ?? ""))
    throw new LocalError(localErrors.pinInvalid());
  if (channel.status !== ChannelStatus.enabled) throw new LocalError(localErrors.pinDisabled());
  if (!channel.models.has(model) && !channel.mapping.has(model))
    throw new LocalError(localErrors.pinWithoutModel(model));
  return channel;
}
