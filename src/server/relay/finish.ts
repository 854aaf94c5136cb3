// The last steps of a request: settle, then send the last byte, then one line for the operator. Never throws.
import type { Context } from "#server/context.ts";
import { faultKind, type StoreFaultKind } from "#server/store/fault.ts";
import type { Trace, WholeReply } from "#server/upstream/call/call.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import type { TokenUsage } from "#server/upstream/usage.ts";
import type { Account } from "./billing/account.ts";
import type { ClientResponse } from "./http/client-response.ts";
import { LocalError, localErrors } from "./http/local-errors.ts";
import { faultLabel } from "./routing/failed-calls.ts";
import { type RequestState, trailOf } from "./routing/failover.ts";
import type { Services } from "./services.ts";
import { withUsage } from "./text/embedding-usage.ts";
import type { IncomingRequest } from "./text/incoming.ts";

/** Database faults after which a caller may try again. */
const PASSING: ReadonlySet<StoreFaultKind> = new Set(["busy", "full", "lost", "timeout"]);

/** The fault of anything thrown: an error that is no LocalError was not expected. */
export function faultOf(error: unknown): RelayFault {
  if (error instanceof LocalError) return error.fault;
  if (PASSING.has(faultKind(error))) return localErrors.ledgerUnavailable(String(error));
  return localErrors.internal(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
}

/** Ends a request. Nothing of an answer's end reaches the client before its charge is durable (requirements M11). */
export async function finish(
  { ctx, errorLog }: Pick<Services, "ctx" | "errorLog">,
  state: RequestState,
  response: ClientResponse,
): Promise<void> {
  const { account, reply } = state;
  // An answer that came in time is sent, however long its settlement takes.
  response.deadlineMs = 0;
  if (response.cutBy !== undefined && reply === undefined) {
    // The server ended it, not the client: nothing is charged for an answer that never began.
    state.fault = response.cutBy;
    state.trace.isSent = false;
  }
  const isUnbooked = account === undefined || (await settle(ctx, state, response, account)) === "nothing";
  if (state.fault !== undefined) response.sendFault(state.fault);
  else if (reply?.kind === "whole") response.sendReply(shown(reply, state));
  else if (reply !== undefined) response.closeStream(reply.tail());
  if (response.hasLeft) tellDone(ctx, state, 499, "client_gone");
  else tellDone(ctx, state, response.status);
  if (isUnbooked && !response.hasLeft) note(errorLog, state, response.status);
}

/** Books the answer. Reports when there was none: then there is no charge, and no entry about one. */
async function settle(
  ctx: Pick<Context, "events">,
  state: RequestState,
  response: ClientResponse,
  account: Account,
): Promise<"nothing" | "something" | "unknown"> {
  const reply = received(state, account);
  try {
    const booking = await account.settle(reply, response.hasLeft, trailOf(state));
    if (booking === undefined) return "nothing";
    state.booked = { usage: account.usage, charged: booking.charged };
    return "something";
  } catch (error) {
    await account.giveBack(reply);
    ctx.events.backgroundFailed({ task: "settle", error });
    state.fault ??= localErrors.bookingFailed(String(error));
    // It may have been booked: then the client is not told that it was not, but sees the same as after a crash.
    if (state.reply?.kind === "whole" && faultKind(error) === "lost") response.hangUp();
    return "unknown";
  }
}

/** A failed call whose caller is known has an entry in the log, if there is none about a charge. */
function note(errorLog: Services["errorLog"], state: RequestState, status: number): void {
  const { caller, fault, incoming } = state;
  if (caller === undefined || fault === undefined) return;
  errorLog.note({
    ...state,
    caller,
    fault,
    model: incoming?.model ?? "",
    isStream: incoming?.isStream ?? false,
    // A stream has begun with 200, however it ended.
    status: status < 400 ? fault.status : status,
  });
}

/** The part of the answer to charge: none for an upstream's failure before output, though its answer may have begun (requirements M13). */
function received({ reply, fault, trace }: RequestState, account: Account): RequestState["reply"] {
  const isUpstreams = fault !== undefined && (fault.upstreamStatus > 0 || fault.blame === "channel");
  if (!isUpstreams || reply?.kind !== "stream" || !account.isEmpty(reply)) return reply;
  trace.isSent = false;
  return undefined;
}

function shown(reply: WholeReply, { endpoint, booked }: RequestState): WholeReply {
  return booked === undefined ? reply : withUsage(reply, endpoint, booked.usage);
}

/** What is told of a call: of a request, or of what has begun like one. */
interface Told extends Pick<RequestState, "requestId" | "startedMs" | "caller" | "channel" | "attempts"> {
  readonly endpoint: string;
  readonly incoming: Pick<IncomingRequest, "model" | "isStream"> | undefined;
  readonly booked:
    | { readonly usage: Pick<TokenUsage, "promptTokens" | "completionTokens">; readonly charged: bigint }
    | undefined;
  readonly trace?: Trace;
  readonly fault?: RelayFault | undefined;
}

/** One line for the operator, at the end of a call. It takes what a call has: nothing is made for it but the event. */
export function tellDone(
  { events, clock }: Pick<Context, "events" | "clock">,
  told: Told,
  status: number,
  label: string = told.fault === undefined ? "" : faultLabel(told.fault),
): void {
  const { caller, incoming, booked, fault, startedMs } = told;
  if (fault?.code === "internal_error") events.backgroundFailed({ task: "relay", error: fault.detail });
  const firstByteMs = told.trace?.firstByteMs ?? 0;
  events.relayDone({
    requestId: told.requestId,
    endpoint: told.endpoint,
    model: incoming?.model ?? "",
    userId: caller?.userId ?? 0,
    tokenId: caller?.tokenId ?? 0,
    channelId: told.channel?.id ?? 0,
    status,
    fault: label,
    isStream: incoming?.isStream ?? false,
    attempts: told.attempts,
    promptTokens: booked?.usage.promptTokens ?? 0,
    completionTokens: booked?.usage.completionTokens ?? 0,
    chargedQuota: Number(booked?.charged ?? 0n),
    elapsedMs: clock.now() - startedMs,
    firstByteMs: firstByteMs === 0 ? 0 : Math.max(1, firstByteMs - startedMs),
  });
}
