// The last rooms of a request: settle, then let the last byte go, then one line for the operator. Never throws.
import type { Context } from "#server/context.ts";
import { faultKind, type StoreFaultKind } from "#server/store/fault.ts";
import type { WholeReply } from "#server/upstream/call.ts";
import type { RelayFault } from "#server/upstream/fault.ts";
import type { Account } from "./bill.ts";
import { withUsage } from "./embed-usage.ts";
import type { Journey } from "./journey.ts";
import { Refusal, refusals } from "./refusal.ts";
import type { Rooms } from "./rooms.ts";
import type { Door } from "./stream.ts";
import { faultLabel } from "./try.ts";

/** Troubles of the database after which a caller may come again. */
const PASSING: ReadonlySet<StoreFaultKind> = new Set(["busy", "full", "lost", "timeout"]);

/** The fault in anything thrown: what is no Refusal was not expected. */
export function faultOf(error: unknown): RelayFault {
  if (error instanceof Refusal) return error.fault;
  if (PASSING.has(faultKind(error))) return refusals.bankClosed(String(error));
  return refusals.internal(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
}

/** Ends a request. Nothing of an answer's end reaches the client before its charge is durable (reliability M11). */
export async function finish(
  { ctx, failedCalls }: Pick<Rooms, "ctx" | "failedCalls">,
  journey: Journey,
  door: Door,
): Promise<void> {
  const { account, reply } = journey;
  // What came in time is the client's, whatever its settlement takes.
  door.deadlineMs = 0;
  if (door.cutBy !== undefined && reply === undefined) {
    // Our end, not the client's: nothing is charged for an answer that never began.
    journey.fault = door.cutBy;
    journey.trace.isSent = false;
  }
  const isUnbooked = account === undefined || (await settle(ctx, journey, door, account)) === "nothing";
  if (journey.fault !== undefined) door.sendFault(journey.fault);
  else if (reply?.kind === "whole") door.sendReply(shown(reply, journey));
  else if (reply !== undefined) door.closeStream(reply.tail());
  tell(ctx, journey, door);
  if (isUnbooked && !door.hasLeft) note(failedCalls, journey, door.status);
}

/** Books what came. Tells when that was nothing: then there is no charge, and no entry about one. */
async function settle(
  ctx: Pick<Context, "events">,
  journey: Journey,
  door: Door,
  account: Account,
): Promise<"nothing" | "something" | "unknown"> {
  const reply = received(journey, account);
  try {
    const booking = await account.settle(reply, door.hasLeft, journey.trail);
    if (booking === undefined) return "nothing";
    journey.booked = { usage: account.usage, charged: booking.charged };
    return "something";
  } catch (error) {
    await account.giveBack(reply);
    ctx.events.backgroundFailed({ task: "settle", error });
    journey.fault ??= refusals.bookingFailed(String(error));
    // It may have been booked: then the client is not told that it was not, but sees what a crash looks like.
    if (journey.reply?.kind === "whole" && faultKind(error) === "lost") door.hangUp();
    return "unknown";
  }
}

/** A failed call whose caller is known has an entry in the log, if there is none about a charge. */
function note(failedCalls: Rooms["failedCalls"], journey: Journey, status: number): void {
  const { caller, fault, incoming } = journey;
  if (caller === undefined || fault === undefined) return;
  failedCalls.note({
    ...journey,
    caller,
    fault,
    model: incoming?.model ?? "",
    isStream: incoming?.isStream ?? false,
    // A stream has begun with 200, whatever became of it.
    status: status < 400 ? fault.status : status,
  });
}

/** What is to be paid for. Nothing is charged for an upstream's failure before output, though its answer may have begun (reliability M13). */
function received({ reply, fault, trace }: Journey, account: Account): Journey["reply"] {
  const isUpstreams = fault !== undefined && (fault.upstreamStatus > 0 || fault.blame === "channel");
  if (!isUpstreams || reply?.kind !== "stream" || !account.isEmpty(reply)) return reply;
  trace.isSent = false;
  return undefined;
}

function shown(reply: WholeReply, { endpoint, booked }: Journey): WholeReply {
  const isUnread = endpoint !== "embeddings" && endpoint !== "rerank";
  return isUnread || booked === undefined ? reply : withUsage(reply, endpoint, booked.usage);
}

function tell({ events, clock }: Pick<Context, "events" | "clock">, journey: Journey, door: Door): void {
  const { caller, booked, fault, trace, startedMs } = journey;
  if (fault?.code === "internal_error") events.backgroundFailed({ task: "relay", error: fault.detail });
  events.relayDone({
    requestId: journey.requestId,
    endpoint: journey.endpoint,
    model: journey.incoming?.model ?? "",
    userId: caller?.userId ?? 0,
    tokenId: caller?.tokenId ?? 0,
    channelId: journey.channel?.id ?? 0,
    status: door.hasLeft ? 499 : door.status,
    fault: door.hasLeft ? "client_gone" : faultLabel(fault),
    isStream: journey.incoming?.isStream ?? false,
    attempts: journey.attempts,
    promptTokens: booked?.usage.promptTokens ?? 0,
    completionTokens: booked?.usage.completionTokens ?? 0,
    chargedQuota: Number(booked?.charged ?? 0n),
    elapsedMs: clock.now() - startedMs,
    firstByteMs: trace.firstByteMs === 0 ? 0 : Math.max(1, trace.firstByteMs - startedMs),
  });
}
