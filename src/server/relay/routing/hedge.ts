// A second call beside the first one of a stream that is late (requirements C45): to the next channel. Whichever begins to answer counts, the
// other one is aborted. There is one reservation and one settlement; each call gives back what it took of its channel's limits.
import { type Demand, daysOf } from "#server/channels/channel-caps.ts";
import type { LiveChannel } from "#server/channels/live-channel.ts";
import { costOf } from "#server/money/price.ts";
import { costPrice } from "#server/money/price-book.ts";
import { parseRational } from "#server/money/rational.ts";
import type { LimitRef } from "#server/money/rows.ts";
import { estimatePrompt } from "#server/relay/billing/pricing-text.ts";
import { LocalError } from "#server/relay/http/local-errors.ts";
import { OVERTAKEN } from "#server/store/failed-attempts.ts";
import type { StreamReply, WholeReply } from "#server/upstream/call/call.ts";
import { Cancellation } from "#server/upstream/cancellation.ts";
import { isAborted } from "#server/upstream/errors/fault.ts";
import { countAgainst, noteFailure, report } from "./failed-calls.ts";
import type { Hedge, Hedged, Lane } from "./failover.ts";
import type { Begun, Made, NextChannel, Turn } from "./next-channel.ts";

type Call = Made<WholeReply | StreamReply>;

/** One of the calls. */
interface Running {
  readonly begun: Begun;
  readonly lane: Lane;
  /** What has chosen its channel. */
  readonly chooser: NextChannel;
  readonly done: Promise<Call>;
  isDone: boolean;
}

/** Calls the channel, and the next one too when this one is later than nineteen of twenty streams of its model. */
export const hedge: Hedge = async (hedged, next, turn) => {
  const { tools, search } = hedged;
  tools.secondCalls.count();
  const running: Running[] = [];
  search.cancellation.watch(() => {
    for (const { lane } of running) passOn(hedged, lane);
  });
  const first = start(hedged, next, turn);
  running.push(first);
  const usualMs = tools.health.pace.usualMs(search.model);
  const isLate = usualMs !== undefined && (await isLater(first, usualMs));
  const second = isLate ? await startSecond(hedged, next, first) : undefined;
  if (second === undefined) return settleOn(hedged, first, running);
  running.push(second);
  const { winner, loser } = await race(hedged, next, { first, second }).catch((error: unknown) => {
    for (const { lane, begun } of running) {
      lane.cancellation.cancel();
      begun.entry?.leave(0);
    }
    throw error;
  });
  if (loser !== undefined) giveUp(hedged, loser, loser === first);
  return settleOn(hedged, winner, running);
};

function start({ search, ask }: Hedged, chooser: NextChannel, turn: Turn): Running {
  const lane = { trace: { firstByteMs: 0, isSent: false }, cancellation: new Cancellation() };
  if (search.cancellation.isCancelled) lane.cancellation.cancel();
  const begun = chooser.begin(turn);
  const call = async () => {
    const made = await chooser.run(begun, (channel) => ask(channel, lane));
    one.isDone = true;
    return made;
  };
  const one: Running = { begun, lane, chooser, isDone: false, done: Promise.resolve().then(call) };
  return one;
}

/** The client has left, or its time is over: so has the call's. */
function passOn({ search, state }: Hedged, { trace, cancellation }: Lane): void {
  if (search.cancellation.isExpired) cancellation.expire();
  else cancellation.cancel();
  state.trace.isSent ||= trace.isSent;
}

/** Whether a call has no result after this time. */
function isLater({ done }: Running, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(true), ms);
    const end = () => {
      clearTimeout(timer);
      resolve(false);
    };
    done.then(end, end);
  });
}

/** undefined = too many were made lately, or no other channel can be called at once. */
async function startSecond(hedged: Hedged, next: NextChannel, first: Running): Promise<Running | undefined> {
  const { tools, state, search } = hedged;
  if (search.cancellation.isCancelled || !tools.secondCalls.take()) return undefined;
  const { channel } = first.begun;
  const chooser = next.beside(channel, besides(search.demand, daysIn(first.begun)));
  const turn = await takeNow(hedged, chooser);
  if (turn !== undefined && !first.isDone && !search.cancellation.isCancelled) {
    state.attempts += 1;
    return start(hedged, chooser, turn);
  }
  turn?.entry?.undo();
  tools.secondCalls.giveBack();
  if (turn !== undefined && daysIn(turn).length > 0) await keepDays(hedged, first.begun);
  return undefined;
}

async function takeNow({ tools }: Hedged, chooser: NextChannel): Promise<Turn | undefined> {
  try {
    return await chooser.take(undefined);
  } catch (error) {
    // No other one is left. Whatever it is, the call that runs may be answered.
    if (!(error instanceof LocalError)) tools.ctx.events.backgroundFailed({ task: "hedge", error });
    return undefined;
  }
}

/** Both calls are counted in the days of their channels until one of them counts. */
function besides(demand: Demand, days: readonly LimitRef[]): Demand {
  return { tokens: demand.tokens, hold: (refs) => demand.hold([...days, ...refs]) };
}

function daysIn({ channel, entry }: Turn): readonly LimitRef[] {
  return entry === undefined ? [] : daysOf(channel);
}

/** The call is counted in the days of this channel alone. */
async function keepDays({ tools, search }: Hedged, turn: Turn): Promise<void> {
  try {
    await search.demand.hold(daysIn(turn));
  } catch (error) {
    // It is counted in both. What was answered stays answered.
    tools.ctx.events.backgroundFailed({ task: "hedge", error });
  }
}

interface Pair {
  readonly first: Running;
  readonly second: Running;
}

/** The call that counts, and the other one while it may still run. A failed call leaves the answer to the other. */
async function race(
  hedged: Hedged,
  next: NextChannel,
  { first, second }: Pair,
): Promise<{ readonly winner: Running; readonly loser: Running | undefined }> {
  const { tools, state, search } = hedged;
  await Promise.race([first.done, second.done]);
  const [one, other] = first.isDone ? [first, second] : [second, first];
  const { result: fault, ...begun } = await one.done;
  // What ends a call without another one beside it ends this one too.
  const isEnd = fault.kind !== "fault" || search.cancellation.isCancelled || (one === first && !fault.retry);
  if (isEnd) return { winner: one, loser: other };
  noteFailure(tools, state, { search, next }, { ...begun, result: fault });
  report(tools, state.requestId, { channel: begun.channel, fault, willRetry: true });
  await other.done;
  return { winner: other, loser: undefined };
}

/** Ends a call that does not count: no fault of its channel's, but its upstream may charge for it. */
function giveUp(hedged: Hedged, { begun, lane, done }: Running, isLate: boolean): void {
  const { state } = hedged;
  // Were only the answers known that came, more and more calls would count as late.
  if (isLate) begun.run?.replied();
  lane.cancellation.cancel();
  const overtaken = {
    channelId: begun.channel.id,
    error: OVERTAKEN,
    said: promptCost(hedged, begun.channel),
  };
  state.failedAttempts = [...state.failedAttempts, overtaken];
  done.then(
    (call) => release(hedged, call),
    () => begun.entry?.leave(0),
  );
}

function release({ tools, search }: Hedged, { channel, entry, permit, run, result }: Call): void {
  const { model } = search;
  entry?.leave(0);
  run?.end(0);
  if (result.kind !== "fault") {
    tools.health.answered(channel.id, model, permit);
    channel.keys?.answered(channel.keyId, model);
    if (result.kind === "stream") result.abort();
  } else if (isAborted(result)) tools.health.ended(channel.id, model, permit);
  else countAgainst(tools, channel, { model, fault: result, permit });
}

const BILLIONTHS = 1e9;

/** What the prompt alone costs the operator at a channel, in dollars; "" = it is not known. */
function promptCost({ tools, account }: Hedged, channel: LiveChannel): string {
  const { options, prices } = tools.ctx;
  const { incoming } = account;
  const dollar = parseRational(options.get("QuotaPerUnit"));
  const paid = costPrice(prices(), channel, { model: incoming.model, dollar });
  if (paid === undefined) return "";
  const prompt = { promptTokens: estimatePrompt(incoming), completionTokens: 0, cachedTokens: 0 };
  return `$${(costOf(prompt, paid.price, paid.scale) / BILLIONTHS).toFixed(6)}`;
}

/** The request goes on with this call: its price, its times, its channel's day. */
async function settleOn(hedged: Hedged, winner: Running, running: readonly Running[]): Promise<Call> {
  const { state, search, account } = hedged;
  const call = await winner.done;
  search.cancellation.watch(undefined);
  state.trace.firstByteMs = winner.lane.trace.firstByteMs;
  if (running.length < 2) return call;
  account.priceFor(call.channel);
  if (call.result.kind !== "fault") state.next = winner.chooser;
  if (running.some(({ begun }) => daysIn(begun).length > 0)) await keepDays(hedged, call);
  return call;
}
