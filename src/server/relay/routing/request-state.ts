// The state of one request through all steps. Each field is set once where it is known, and read by `finish`.
import type { LiveChannel } from "#server/channels/candidates.ts";
import type { Caller } from "#server/relay/admission/authenticate.ts";
import type { Account, Booked } from "#server/relay/billing/account.ts";
import type { IncomingRequest } from "#server/relay/text/incoming.ts";
import type { Failure } from "#server/store/log-trail.ts";
import type { StreamReply, Trace, WholeReply } from "#server/upstream/call/call.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";

export interface RequestState {
  readonly requestId: string;
  readonly startedMs: number;
  readonly endpoint: IncomingRequest["endpoint"];
  /** The keys that the headers offer. */
  readonly offers: readonly string[];
  readonly address: string;
  readonly trace: Trace;
  caller: Caller | undefined;
  /** Ends the call in the caller's limits. */
  freeSlot: () => void;
  incoming: IncomingRequest | undefined;
  account: Account | undefined;
  /** The channel called last. */
  channel: LiveChannel | undefined;
  attempts: number;
  /** The failed attempts, in their order. */
  failedAttempts: readonly Failure[];
  reply: WholeReply | StreamReply | undefined;
  fault: RelayFault | undefined;
  booked: Booked | undefined;
}

/** Shared by most calls. */
const NONE_FAILED: readonly Failure[] = [];

function nothing(): void {
  // Nothing was taken from the caller's limits yet.
}

export function newRequestState({
  requestId,
  startedMs,
  endpoint,
  offers,
  address,
}: Pick<RequestState, "requestId" | "startedMs" | "endpoint" | "offers" | "address">): RequestState {
  return {
    requestId,
    startedMs,
    endpoint,
    offers,
    address,
    trace: { firstByteMs: 0, isSent: false },
    caller: undefined,
    freeSlot: nothing,
    incoming: undefined,
    account: undefined,
    channel: undefined,
    attempts: 0,
    failedAttempts: NONE_FAILED,
    reply: undefined,
    fault: undefined,
    booked: undefined,
  };
}
