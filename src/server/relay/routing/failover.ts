// Calls channels until one replies: what a request knows of itself meanwhile, and whether another channel is tried (requirements W9.3).
// Nothing is retried once a byte of a reply is there.
import type { Demand, Entry } from "#server/channels/channel-caps.ts";
import { keptGroups } from "#server/channels/decision.ts";
import type { Health } from "#server/channels/health.ts";
import type { LiveChannel } from "#server/channels/live-channel.ts";
import type { Run } from "#server/channels/pace.ts";
import type { Context } from "#server/context.ts";
import type { Caller } from "#server/relay/admission/admit.ts";
import type { Admission } from "#server/relay/admission/call-limits.ts";
import type { Account, Booked } from "#server/relay/billing/account.ts";
import { mostTokens } from "#server/relay/billing/pricing-text.ts";
import type { LimitHead } from "#server/relay/http/limit-head.ts";
import { Exhausted, LocalError } from "#server/relay/http/local-errors.ts";
import type { IncomingRequest } from "#server/relay/text/incoming.ts";
import { DECISION, type FailedAttempt, printAttempts } from "#server/store/failed-attempts.ts";
import { type AttemptTools, attempt } from "#server/upstream/call/attempt.ts";
import type { Call, CallFacts, StreamReply, Trace, WholeReply } from "#server/upstream/call/call.ts";
import type { Cancellation } from "#server/upstream/cancellation.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import { conversationOf } from "./affinity.ts";
import { noteFailure, report, toldBy, wasUncalled } from "./failed-calls.ts";
import { type Made, NextChannel, type NextServices, type Turn, type Wanted } from "./next-channel.ts";
import { backOff } from "./pause.ts";
import type { SecondCalls } from "./second-calls.ts";
import { upstreamWords } from "./upstream-words.ts";

export interface FailoverServices extends NextServices {
  readonly ctx: Pick<Context, "candidates" | "options" | "events" | "clock" | "prices" | "ledger">;
  readonly upstream: AttemptTools;
  readonly health: Health;
  readonly secondCalls: SecondCalls;
}

/** Source: requirements R09. */
const MAX_RETRIES = 5;
/** How many channels may turn out unable to serve a request; each costs us work and the caller nothing. */
const MAX_UNCALLED = 10;
/** After this long no other channel is tried: the client has waited enough. */
const RETRY_BUDGET_MS = 120_000;

/** What the choice depends on. */
interface Search extends Wanted {
  /** What the log may keep of an upstream's words. */
  readonly wordsOf: (fault: RelayFault) => string;
}

/** What a call of several at once has of its own. */
export type Lane = Pick<Call, "trace" | "cancellation">;

type Reply = WholeReply | StreamReply;

/** A request whose first call may get a second one beside it (`hedge.ts`). */
export interface Hedged {
  readonly tools: FailoverServices;
  readonly state: RequestState;
  readonly search: Search;
  readonly account: Account;
  ask(channel: LiveChannel, lane: Lane): Promise<Reply | RelayFault>;
}

/** Calls the channel, and another one when it is late. Resolves with the call that counts. */
export type Hedge = (hedged: Hedged, next: NextChannel, turn: Turn) => Promise<Made<Reply>>;

/** The request so far; filled in by the loop. */
export type Progress = Pick<
  RequestState,
  | "requestId"
  | "startedMs"
  | "channel"
  | "entry"
  | "run"
  | "attempts"
  | "failedAttempts"
  | "next"
  | "decidedBefore"
>;

/** Why the call went where it went, group by group, as the log keeps it; "" = no channel was looked for. */
export function decisionOf({ next, decidedBefore }: Pick<Progress, "next" | "decidedBefore">): string {
  if (next === undefined) return decidedBefore;
  return decidedBefore === "" ? next.decision : keptGroups(decidedBefore, next.decision);
}

/** What a request brings to the loop. */
export interface Admitted {
  readonly caller: Caller;
  readonly incoming: IncomingRequest;
  readonly account: Account;
  readonly candidates: readonly LiveChannel[];
  /** Another group of the token comes after this one. */
  readonly mayMoveOn?: boolean | undefined;
  /** undefined = one channel is called at a time. */
  readonly hedge?: Hedge | undefined;
}

/** What a call takes of channels with limits: at most so many tokens, and its place in windows of the ledger. */
export function demandOf(
  { ctx }: Pick<FailoverServices, "ctx">,
  requestId: string,
  tokens: Demand["tokens"],
): Demand {
  return {
    tokens,
    hold: (limits) => ctx.ledger.hold(requestId, { limits, zone: ctx.options.get("BudgetTimeZone") }),
  };
}

/** Calls channels with a request until one replies. Throws: LocalError with the last fault. */
export function failOver(
  tools: FailoverServices,
  state: RequestState,
  { caller, incoming, account, candidates, mayMoveOn, hedge }: Admitted,
  cancellation: Cancellation,
): Promise<Reply> {
  const isChoice = candidates.length > 1 || candidates[0]?.keys !== undefined;
  const mayStick = isChoice && tools.ctx.options.get("SessionAffinityEnabled");
  const conversation = mayStick ? conversationOf(incoming, caller) : undefined;
  const { model, isStream, endpoint } = incoming;
  const { bytes } = incoming.form ?? incoming.body;
  const wordsOf = (fault: RelayFault) => upstreamWords(fault, { model, bytes });
  const demand = demandOf(tools, state.requestId, () => mostTokens(incoming));
  const wanted = { caller, model, isStream, endpoint, candidates, conversation, mayMoveOn, cancellation };
  const search = { ...wanted, wordsOf, demand, isTimed: hedge !== undefined };
  const ask = (channel: LiveChannel, lane: Lane) => {
    const fault = account.priceFor(channel);
    if (fault !== undefined) return Promise.resolve(fault);
    const call = callOf(channel, incoming, state.requestId, lane);
    const asked =
      channel.rewrite === undefined ? call : { ...call, facts: callFactsOf(tools, state, caller, incoming) };
    return attempt(tools.upstream, asked);
  };
  const lane = { trace: state.trace, cancellation };
  const askAlone = (channel: LiveChannel) => ask(channel, lane);
  if (hedge === undefined) return eachChannel(tools, state, search, askAlone);
  const first = (next: NextChannel, turn: Turn) => hedge({ tools, state, search, account, ask }, next, turn);
  return eachChannel(tools, state, search, Object.assign(askAlone, { first }));
}

/** How the channel of a call was found, as the log keeps it. */
export function trailOf(progress: Pick<Progress, "failedAttempts" | "next" | "decidedBefore">): string {
  const { failedAttempts } = progress;
  const decision = decisionOf(progress);
  // As `printAttempts` would, but of nearly every call.
  if (failedAttempts.length === 0 && PLAIN.test(decision)) return DECISION + decision;
  return printAttempts(failedAttempts, decision);
}

/** Calls a channel. */
interface Ask<Done> {
  (channel: LiveChannel): Promise<Done | RelayFault>;
  /** How the first one is called, where another may be called beside it. */
  readonly first?: (next: NextChannel, turn: Turn) => Promise<Made<Done>>;
}

/** Chooses channels until one succeeds. Throws: LocalError with the last fault. */
export async function eachChannel<Done extends { readonly kind: string }>(
  tools: Omit<FailoverServices, "upstream">,
  progress: Progress,
  search: Search,
  ask: Ask<Done>,
): Promise<Done> {
  const { health, ctx } = tools;
  const { model, cancellation } = search;
  const retries = retriesOf(ctx, search);
  const next = new NextChannel(tools, search, triedBefore(progress));
  if (progress.next !== undefined) progress.decidedBefore = decisionOf(progress);
  progress.next = next;
  let spent = 0;
  let uncalled = 0;
  let proxied = 0;
  let fault: RelayFault | undefined;
  let word: RelayFault | undefined;
  for (;;) {
    if (fault !== undefined) {
      // Where no channel is left it throws now, and not after the pause.
      next.look(word);
      await backOff(fault, spent, cancellation);
    }
    const turn = await next.take(word);
    progress.channel = turn.channel;
    progress.entry = turn.entry;
    progress.attempts += 1;
    const { first } = ask;
    const isAlone = first === undefined || progress.attempts > 1;
    const made = await (isAlone ? next.call(turn, ask) : first(next, turn));
    const { channel, permit, result } = made;
    progress.channel = channel;
    if (!isFault(result)) {
      progress.entry = made.entry;
      progress.run = made.run;
      health.answered(channel.id, model, permit);
      channel.keys?.answered(channel.keyId, model);
      return result;
    }
    fault = result;
    progress.entry = undefined;
    word = toldBy(channel, fault);
    noteFailure(tools, progress, { search, next }, { ...made, result });
    proxied += Number(fault.blame === "proxy");
    // A channel that was not even called costs no retry, nor does the first one whose proxy failed: nothing was sent (requirements C13).
    const wasCalled = !wasUncalled(fault);
    spent += Number(wasCalled && !(fault.blame === "proxy" && proxied === 1));
    uncalled += Number(!wasCalled);
    const isLate = ctx.clock.now() - progress.startedMs > RETRY_BUDGET_MS;
    const mayGoOn = fault.retry && !cancellation.isCancelled && !isLate;
    const willRetry = mayGoOn && spent <= retries && uncalled < MAX_UNCALLED;
    report(tools, progress.requestId, { channel, fault, willRetry });
    if (!willRetry) throw endOf(word, mayGoOn);
  }
}

/** What ends the search: where only channels are wanting, another group may have some. */
function endOf(word: RelayFault, mayGoOn: boolean): LocalError {
  return mayGoOn ? new Exhausted(word) : new LocalError(word);
}

/** How many calls that failed may be followed by another one. */
function retriesOf({ options }: Pick<Context, "options">, { caller, mayMoveOn }: Search): number {
  if (caller.pin !== undefined) return 0;
  return mayMoveOn === true ? MAX_RETRIES : Math.min(options.get("RetryTimes"), MAX_RETRIES);
}

/** The channels that failed in the groups before: none is called twice. */
function triedBefore({ failedAttempts }: Progress): ReadonlySet<number> | undefined {
  return failedAttempts.length === 0 ? undefined : new Set(failedAttempts.map(({ channelId }) => channelId));
}

/** Whether it is a fault; the results of a call never have its shape. */
function isFault(result: { readonly kind: string }): result is RelayFault {
  return result.kind === "fault";
}

function callOf(
  channel: LiveChannel,
  incoming: IncomingRequest,
  seed: string,
  { trace, cancellation }: Lane,
): Call {
  const { endpoint, body, form, model, isStream, isArray, apiVersion, passHeaders, hints } = incoming;
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
    seed,
    trace,
    cancellation,
    isStored: incoming.state?.isStored === true,
    isPinned: incoming.pinned !== undefined,
    isCompact: incoming.state?.isCompact === true,
  };
}

/** What the rules of a channel may ask about a call; undefined = it is not about text. */
export function callFactsOf(
  { ctx }: { readonly ctx: Pick<Context, "clock"> },
  { headers, attempts }: Pick<RequestState, "headers" | "attempts">,
  { userId }: Pick<Caller, "userId">,
  incoming: Pick<IncomingRequest, "maxTokens" | "raisedTokens"> | undefined,
): CallFacts {
  const maxTokens = incoming?.maxTokens || incoming?.raisedTokens;
  return { header: readerOf(headers), attempt: attempts, userId, maxTokens, nowMs: ctx.clock.now() };
}

/** Reads a client's headers by their names in lower case. */
export function readerOf(headers: RequestState["headers"]): CallFacts["header"] {
  return (name) => {
    const value = headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  };
}

export interface RequestState {
  readonly requestId: string;
  readonly startedMs: number;
  readonly endpoint: IncomingRequest["endpoint"];
  /** The keys that the headers offer. */
  readonly offers: readonly string[];
  readonly address: string;
  /** Of the client's request. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly trace: Trace;
  caller: Caller | undefined;
  /** Ends the call among those that run at once by the options; one that a limit refused counts nowhere. */
  freeSlot: (isRefused?: boolean) => void;
  /** What the answer tells of the caller's limits; undefined = there are none. */
  limitHead: LimitHead | undefined;
  /** What the call has taken of the limits set for its caller; undefined = there are none. */
  admission: Admission | undefined;
  incoming: IncomingRequest | undefined;
  account: Account | undefined;
  /** The channel called last. */
  channel: LiveChannel | undefined;
  /** What the call has taken of its channel's limits; undefined = nothing. */
  entry: Entry | undefined;
  /** How fast it was answered; undefined = that is not measured. */
  run: Run | undefined;
  attempts: number;
  /** The failed attempts, in their order. */
  failedAttempts: readonly FailedAttempt[];
  /** What chooses in the group that is tried now; undefined = nothing was chosen yet. */
  next: NextChannel | undefined;
  /** The decisions in the groups before. */
  decidedBefore: string;
  reply: WholeReply | StreamReply | undefined;
  fault: RelayFault | undefined;
  booked: Booked | undefined;
}

/** A decision with nothing to escape. */
const PLAIN = /^[\w./-]+$/;

/** Shared by most calls. */
const NONE_FAILED: readonly FailedAttempt[] = [];

function nothing(): void {
  // Nothing was taken from the caller's limits yet.
}

export function newRequestState({
  requestId,
  startedMs,
  endpoint,
  offers,
  address,
  headers,
}: Pick<
  RequestState,
  "requestId" | "startedMs" | "endpoint" | "offers" | "address" | "headers"
>): RequestState {
  return {
    requestId,
    startedMs,
    endpoint,
    offers,
    address,
    headers,
    trace: { firstByteMs: 0, isSent: false },
    caller: undefined,
    freeSlot: nothing,
    limitHead: undefined,
    admission: undefined,
    incoming: undefined,
    account: undefined,
    channel: undefined,
    entry: undefined,
    run: undefined,
    attempts: 0,
    failedAttempts: NONE_FAILED,
    next: undefined,
    decidedBefore: "",
    reply: undefined,
    fault: undefined,
    booked: undefined,
  };
}
