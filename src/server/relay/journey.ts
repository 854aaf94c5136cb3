// What is known of one request as it goes from room to room. Filled in once per field, read by the exit.
import type { LiveChannel } from "#server/channels/candidates.ts";
import type { Failure } from "#server/store/log-trail.ts";
import type { StreamReply, Trace, WholeReply } from "#server/upstream/call.ts";
import type { RelayFault } from "#server/upstream/fault.ts";
import type { Caller } from "./admit.ts";
import type { Account, Booked } from "./bill.ts";
import type { Incoming } from "./incoming.ts";

export interface Journey {
  readonly requestId: string;
  readonly startedMs: number;
  readonly endpoint: Incoming["endpoint"];
  /** What the caller showed as a key. */
  readonly offers: readonly string[];
  readonly address: string;
  readonly trace: Trace;
  caller: Caller | undefined;
  /** Makes room for the caller's next call. */
  leave: () => void;
  incoming: Incoming | undefined;
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

export function newJourney({
  requestId,
  startedMs,
  endpoint,
  offers,
  address,
}: Pick<Journey, "requestId" | "startedMs" | "endpoint" | "offers" | "address">): Journey {
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
