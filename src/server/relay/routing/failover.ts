// Select, call and fail over: which channels may serve, which is called, and whether another one is tried (requirements W8.4, W9.2,
// W9.3 [P]). Nothing is retried once a byte of a reply is there.

import { ChannelStatus } from "#contract/channel.ts";
import { type Candidates, isAsCalled, type LiveChannel } from "#server/channels/candidates.ts";
import type { Permit } from "#server/channels/circuit-breaker.ts";
import { type Health, isDisabling } from "#server/channels/health.ts";
import type { Context } from "#server/context.ts";
import type { Caller } from "#server/relay/admission/authenticate.ts";
import type { Account } from "#server/relay/billing/account.ts";
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import type { IncomingRequest } from "#server/relay/text/incoming.ts";
import { type AttemptTools, attempt } from "#server/upstream/call/attempt.ts";
import type { Call, StreamReply, WholeReply } from "#server/upstream/call/call.ts";
import type { Cancellation } from "#server/upstream/cancellation.ts";
import { accountless, isAborted, type RelayFault, saturated } from "#server/upstream/errors/fault.ts";
import { conversationOf } from "./affinity.ts";
import type { RequestState } from "./request-state.ts";
import { choose } from "./select.ts";
import { upstreamWords } from "./upstream-words.ts";

export interface FailoverServices {
  readonly ctx: Pick<Context, "candidates" | "options" | "events" | "clock">;
  readonly upstream: AttemptTools;
  readonly health: Health;
}

/** Source: requirements R09. */
const MAX_RETRIES = 5;
/** How many channels may turn out unable to serve a request; each costs us work and the caller nothing. */
const MAX_UNCALLED = 10;
/** After this long no other channel is tried: the client has waited enough. */
const RETRY_BUDGET_MS = 120_000;

/** Pauses between calls: twice as long each time, and never the same for two requests (requirements R09). */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/** The pause after so many calls that failed. Unit: ms; `random` from 0 to 1. */
export function pauseAfter(calls: number, random: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** (calls - 1), LONGEST_PAUSE_MS) * (0.5 + random / 2);
}

/** Waits, unless the client leaves. */
function pause(ms: number, cancellation: Cancellation): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(end, ms);
    function end() {
      clearTimeout(timer);
      cancellation.watch(undefined);
      resolve();
    }
    cancellation.watch(end);
  });
}

/** The channels that may serve a request: those of the group and model, or the one an administrator named. Throws: LocalError. */
export function findCandidates(
  { ctx }: Pick<FailoverServices, "ctx">,
  caller: Caller,
  asked: AskedModel,
): readonly LiveChannel[] | Promise<readonly LiveChannel[]> {
  const { model } = asked;
  if (caller.models?.has(model) === false) throw unserved(asked, localErrors.modelNotAllowed(model));
  const { candidates } = ctx;
  const { pending } = candidates;
  return pending === undefined
    ? servingNow(candidates, caller, asked)
    : pending.then(() => servingNow(candidates, caller, asked));
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

/** The channels of a request that still serve it, as they are now: calls and pauses take minutes. */
function stillServing(
  candidates: Pick<Candidates, "find">,
  { caller, model, candidates: found }: Search,
): readonly LiveChannel[] {
  // The first call is made at once.
  if (caller.pin !== undefined) return found;
  const now = candidates.find(caller.group, model);
  // The snapshot has not been rebuilt.
  if (now === found) return found;
  const ids = new Set(found.map(({ id }) => id));
  return now.filter(({ id }) => ids.has(id));
}

/** Tried before the first call. */
const NONE: ReadonlySet<number> = new Set();

/** What the choice depends on. */
export interface Search {
  readonly caller: Caller;
  readonly model: string;
  readonly candidates: readonly LiveChannel[];
  /** What the requests of one conversation share; undefined = chance decides. */
  readonly conversation: number | undefined;
  readonly cancellation: Cancellation;
  /** What the log may keep of an upstream's words. */
  readonly wordsOf: (fault: RelayFault) => string;
}

/** The request so far; filled in by the loop. */
export type Progress = Pick<
  RequestState,
  "requestId" | "startedMs" | "channel" | "attempts" | "failedAttempts"
>;

/** What a request brings to the loop. */
export interface Attempt {
  readonly caller: Caller;
  readonly incoming: IncomingRequest;
  readonly account: Account;
  readonly candidates: readonly LiveChannel[];
}

/** Calls channels with a request until one replies. Throws: LocalError with the last fault. */
export function failOver(
  tools: FailoverServices,
  state: RequestState,
  { caller, incoming, account, candidates }: Attempt,
  cancellation: Cancellation,
): Promise<WholeReply | StreamReply> {
  const mayStick = candidates.length > 1 && tools.ctx.options.get("SessionAffinityEnabled");
  const conversation = mayStick ? conversationOf(incoming, caller) : undefined;
  const { model } = incoming;
  const { bytes } = incoming.form ?? incoming.body;
  const wordsOf = (fault: RelayFault) => upstreamWords(fault, { model, bytes });
  const search = { caller, model, candidates, conversation, cancellation, wordsOf };
  return eachChannel(tools, state, search, (channel) => {
    const fault = account.priceFor(channel);
    if (fault !== undefined) return Promise.resolve(fault);
    return attempt(tools.upstream, callOf(channel, incoming, state, cancellation));
  });
}

/** Chooses channels until one succeeds. Throws: LocalError with the last fault. */
export async function eachChannel<Done extends { readonly kind: string }>(
  tools: Omit<FailoverServices, "upstream">,
  progress: Progress,
  search: Search,
  ask: (channel: LiveChannel) => Promise<Done | RelayFault>,
): Promise<Done> {
  const { health, ctx } = tools;
  const { caller, model, conversation, cancellation } = search;
  const retries = caller.pin === undefined ? Math.min(ctx.options.get("RetryTimes"), MAX_RETRIES) : 0;
  let tried = NONE;
  let spent = 0;
  let uncalled = 0;
  let fault: RelayFault | undefined;
  const next = () => {
    const serving = stillServing(ctx.candidates, search);
    const isOpen = health.openCircuits(model);
    const channel = choose(serving, { tried, random: Math.random(), conversation, isOpen });
    if (channel === undefined)
      throw new LocalError(lastWord(fault ?? localErrors.noChannel(caller.group, model)));
    return channel;
  };
  for (;;) {
    let channel = next();
    if (fault !== undefined && (await calmDown(fault, spent, cancellation))) channel = next();
    progress.channel = channel;
    progress.attempts += 1;
    const permit = health.calling(channel.id, model);
    const result = await ask(channel);
    if (!isFault(result)) {
      health.answered(channel.id, model, permit);
      return result;
    }
    fault = result;
    countAgainst(tools, channel, { model, fault, permit });
    if (isAborted(fault)) throw new LocalError(fault);
    tried = new Set(tried).add(channel.id);
    const failure = { channelId: channel.id, error: faultLabel(fault), said: search.wordsOf(fault) };
    progress.failedAttempts = [...progress.failedAttempts, failure];
    // A channel that was not even called costs no retry.
    const wasCalled = !wasUncalled(fault);
    spent += Number(wasCalled);
    uncalled += Number(!wasCalled);
    const isLate = ctx.clock.now() - progress.startedMs > RETRY_BUDGET_MS;
    const willRetry =
      fault.retry && spent <= retries && uncalled < MAX_UNCALLED && !cancellation.isCancelled && !isLate;
    report(tools, progress.requestId, { channel, fault, willRetry });
    if (!willRetry) throw new LocalError(lastWord(fault));
  }
}

/** Counts a fault against the channel that was called, unless its key or address was replaced meanwhile. */
export function countAgainst(
  { health, ctx }: Omit<FailoverServices, "upstream">,
  called: LiveChannel,
  { model, fault, permit }: { model: string; fault: RelayFault; permit: Permit },
): void {
  const { id } = called;
  if (isAsCalled(called, ctx.candidates.byId(id))) health.failed(id, model, fault, permit);
  else health.ended(id, model, permit);
}

/** Before another channel is called after this fault: whether that took time. Throws: LocalError when the client leaves meanwhile. */
async function calmDown(fault: RelayFault, calls: number, cancellation: Cancellation): Promise<boolean> {
  if (wasUncalled(fault)) return false;
  await pause(pauseAfter(calls, Math.random()), cancellation);
  if (cancellation.isCancelled) throw new LocalError(lastWord(fault));
  return true;
}

/** Whether it is a fault; the results of a call never have its shape. */
function isFault(result: { readonly kind: string }): result is RelayFault {
  return result.kind === "fault";
}

function callOf(
  channel: LiveChannel,
  { endpoint, body, form, model, isStream, isArray, apiVersion, passHeaders, hints }: IncomingRequest,
  { trace, requestId }: RequestState,
  cancellation: Cancellation,
): Call {
  return {
    target: channel,
    endpoint,
    body,
    form,
    model: channel.mapping.get(model) ?? model,
    originModel: model,
    isStream,
    isArray,
    apiVersion,
    passHeaders,
    hints,
    seed: requestId,
    trace,
    cancellation,
  };
}

function wasUncalled(fault: RelayFault): boolean {
  return fault.retry && fault.blame === "none" && fault.upstreamStatus === 0;
}

/** A fault as the client sees it when no other channel is tried. */
export function lastWord(fault: RelayFault): RelayFault {
  if (fault.upstreamStatus !== 429) return fault;
  return isDisabling(fault) ? accountless(fault) : saturated(fault);
}

/** Reports a failed attempt to the operator. Codes of upstreams are not used as labels: they could be anything. */
export function report(
  { ctx }: Pick<FailoverServices, "ctx">,
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
export function faultLabel(fault: RelayFault | undefined): string {
  if (fault === undefined) return "";
  return fault.upstreamStatus > 0 ? `upstream_${fault.upstreamStatus}` : String(fault.code);
}
