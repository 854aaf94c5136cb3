// What becomes of a call that failed: whom it counts against, what the trail keeps, what operators and clients are told of it.
import { isAsCalled } from "#server/channels/candidates.ts";
import type { Permit } from "#server/channels/circuit-breakers.ts";
import { type Health, isDisabling } from "#server/channels/health.ts";
import type { LiveChannel } from "#server/channels/live-channel.ts";
import type { Context } from "#server/context.ts";
import { LocalError } from "#server/relay/http/local-errors.ts";
import type { FailedAttempt } from "#server/store/failed-attempts.ts";
import { accountless, isAborted, type RelayFault, saturated } from "#server/upstream/errors/fault.ts";
import type { Made, NextChannel } from "./next-channel.ts";

interface FailureTools {
  readonly ctx: Pick<Context, "candidates" | "events">;
  readonly health: Pick<Health, "ended" | "failed" | "keyFailed">;
}

interface FailedSearch {
  readonly model: string;
  /** What the log may keep of an upstream's words. */
  readonly wordsOf: (fault: RelayFault) => string;
}

/** Notes a call that failed: against its channel, and in the trail. Throws: LocalError when the client has left. */
export function noteFailure(
  tools: FailureTools,
  progress: { failedAttempts: readonly FailedAttempt[] },
  { search, next }: { readonly search: FailedSearch; readonly next: NextChannel },
  { channel, entry, permit, result: fault }: Made<never>,
): void {
  if (wasUncalled(fault)) entry?.undo();
  else entry?.leave(0);
  const isKeys = countAgainst(tools, channel, { model: search.model, fault, permit });
  if (isAborted(fault)) throw new LocalError(fault);
  next.note(channel, isKeys, fault.isProxyGone === true);
  const failure = { channelId: channel.id, error: faultLabel(fault), said: search.wordsOf(fault) };
  progress.failedAttempts = [...progress.failedAttempts, failure];
}

/**
 * Counts a fault against the channel that was called, or its key, unless key or address was replaced meanwhile. True = it was the key's
 * fault.
 */
export function countAgainst(
  { health, ctx }: FailureTools,
  called: LiveChannel,
  { model, fault, permit }: { model: string; fault: RelayFault; permit: Permit },
): boolean {
  const { id } = called;
  if (!isAsCalled(called, ctx.candidates.byId(id))) health.ended(id, model, permit);
  else if (called.keyId !== 0) return health.keyFailed(called, model, fault, permit);
  else health.failed(id, model, fault, permit);
  return false;
}

/** Nothing was sent: the channel cannot serve such a request. */
export function wasUncalled(fault: RelayFault): boolean {
  return fault.retry && fault.blame === "none" && fault.upstreamStatus === 0;
}

/** A fault as the client sees it when no other channel is tried. */
export function lastWord(fault: RelayFault): RelayFault {
  if (fault.upstreamStatus !== 429) return fault;
  return isDisabling(fault) ? accountless(fault) : saturated(fault);
}

/** The same with the status that the channel's table gives it: nothing but the client's status follows it (requirements C38). */
export function toldBy({ rewrite }: LiveChannel, fault: RelayFault): RelayFault {
  const word = lastWord(fault);
  const status = fault.upstreamStatus > 0 ? rewrite?.statusFor(fault.upstreamStatus) : undefined;
  return status === undefined ? word : { ...word, status };
}

/** Reports a failed attempt to the operator. Codes of upstreams are not used as labels: they could be anything. */
export function report(
  { ctx }: { readonly ctx: Pick<Context, "events"> },
  requestId: string,
  { channel, fault, willRetry }: { channel: LiveChannel; fault: RelayFault; willRetry: boolean },
): void {
  const { upstreamStatus: status, detail } = fault;
  ctx.events.channelFailed({
    requestId,
    channelId: channel.id,
    code: faultLabel(fault),
    status,
    willRetry,
    detail,
  });
}

/** A fault's name from a small fixed set. */
export function faultLabel(fault: RelayFault): string {
  return fault.upstreamStatus > 0 ? `upstream_${fault.upstreamStatus}` : String(fault.code);
}
