// What is known of one request as it goes from room to room. Filled in once per field, read by the exit.
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
  /** What the caller showed as a key. */
  readonly offers: readonly string[];
  readonly address: string;
  readonly trace: Trace;
  caller: Caller | undefined;
  /** Makes room for the caller's next call. */
  leave: () => void;
  incoming: IncomingRequest | undefined;
  account: Account | undefined;
  /** The channel called last. */
  channel: LiveChannel | undefined;
  attempts: number;
  /** Channels that failed, in the order of the calls. */
  trail: readonly Failure[];
  reply: WholeReply | StreamReply | undefined;
  fault: RelayFault | undefined;
  booked: Booked | undefined;
}

/** Of most calls. */
const NOBODY: readonly Failure[] = [];

function nothing(): void {
  // No room was taken yet.
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
    leave: nothing,
    incoming: undefined,
    account: undefined,
    channel: undefined,
    attempts: 0,
    trail: NOBODY,
    reply: undefined,
    fault: undefined,
    booked: undefined,
  };
}
