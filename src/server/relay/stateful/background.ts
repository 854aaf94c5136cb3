// Responses in the background: a task like a video. Reserved when it is submitted, finished by the first to find it done (the job, or its
// client's look), booked once by the usage that the upstream reports; also after this process is gone (requirements C62).
import { lacksBackground } from "#server/channels/formats.ts";
import type { LiveChannel } from "#server/channels/live-channel.ts";
import { type Price, ratiosOf } from "#server/money/price.ts";
import type { Caller } from "#server/relay/admission/admit.ts";
import type { Admission } from "#server/relay/admission/call-limits.ts";
import { held, priceOf } from "#server/relay/billing/account.ts";
import { costCapOf } from "#server/relay/billing/cost-cap.ts";
import {
  estimatePrompt,
  expectedOutput,
  mostTokens,
  pricingOf,
  raisedBy,
} from "#server/relay/billing/pricing-text.ts";
import { limitErrors } from "#server/relay/http/limit-errors.ts";
import { Exhausted, LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import { countCall } from "#server/relay/pass-limits.ts";
import { reserveTask } from "#server/relay/reserve-task.ts";
import {
  callFactsOf,
  demandOf,
  eachChannel,
  type RequestState,
  trailOf,
} from "#server/relay/routing/failover.ts";
import { inEachGroup } from "#server/relay/routing/groups.ts";
import { findCandidates } from "#server/relay/routing/next-channel.ts";
import { upstreamWords } from "#server/relay/routing/upstream-words.ts";
import type { Services } from "#server/relay/services.ts";
import type { IncomingRequest } from "#server/relay/text/incoming.ts";
import { changeOpenTask, type TaskRow } from "#server/store/tasks.ts";
import { beginTask, giveUpTask } from "#server/tasks/begin.ts";
import { TASK_SEAL } from "#server/tasks/channel.ts";
import type { TaskFacts } from "#server/tasks/facts.ts";
import { pollDelay } from "#server/tasks/poll.ts";
import type { StreamReply, WholeReply } from "#server/upstream/call/call.ts";
import { Cancellation } from "#server/upstream/cancellation.ts";
import { type RelayFault, unreadableFault } from "#server/upstream/errors/fault.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import { backgroundRequest } from "#server/upstream/stored/requests.ts";
import { streamStored } from "#server/upstream/stored/stream.ts";
import { callTask } from "#server/upstream/video/call.ts";
import { textAt } from "#server/upstream/video/wire.ts";
import { bookHeard, Heard } from "./follow.ts";
import { type Kept, keepResponse } from "./keep.ts";

/** OpenAI ends a response in the background after an hour or more; the gateway waits no longer than a day. */
const TASK_SEC = 86_400;

interface Asked {
  readonly caller: Caller;
  readonly incoming: IncomingRequest;
}

/** In one of the caller's groups. */
interface InGroup extends Asked {
  readonly mayMoveOn: boolean;
}

/**
 * Submits it in the first of the caller's groups that can. Returns the upstream's answer, which has its id, or its events. Throws:
 * LocalError.
 */
export function submitInBackground(
  services: Services,
  state: RequestState,
  { caller, incoming }: Asked,
): Promise<Kept<WholeReply | StreamReply>> {
  const slot = state.freeSlot;
  let admission: Admission | undefined;
  return inEachGroup(state, caller, incoming.model, {
    async serve(member, mayMoveOn) {
      state.caller = member;
      const asked = { caller: member, incoming, mayMoveOn };
      admission = member.limits.length > 0 ? await admit(services, state, asked) : undefined;
      return submitIn(services, state, asked);
    },
    leave() {
      state.freeSlot = slot;
      state.limitHead?.forget();
      admission?.undo();
      return Promise.resolve();
    },
  });
}

/** Throws: LocalError. */
async function submitIn(
  services: Services,
  state: RequestState,
  { caller, incoming: asked, mayMoveOn }: InGroup,
): Promise<Kept<WholeReply | StreamReply>> {
  const { ctx, bill } = services;
  const { model, pinned } = asked;
  const found = pinned === undefined ? await findCandidates(ctx, caller, asked) : [pinned];
  const candidates = found.filter((channel) => lacksBackground(channel) === undefined);
  if (candidates.length === 0) throw new Exhausted(localErrors.stateRefused("background"));
  const incoming = raisedBy(candidates, asked);
  const price = priceOf(bill, incoming, caller, candidates);
  const facts = factsOf(price, { caller, incoming });
  const { requestId } = state;
  const task_id = `submitting-${requestId}`;
  const begun = {
    task_id,
    request_id: requestId,
    kind: "response",
    wire: "responses",
    model,
    facts,
  } as const;
  const row = await beginTask(ctx, caller, begun);
  try {
    const amount = held(bill, pricingOf(bill, wholeAnswer(incoming)).firstAmount(price), caller);
    const cap = costCapOf(caller, model, ctx.clock.seconds());
    if (cap !== undefined && amount > cap.amount) throw new LocalError(limitErrors.tooDear(cap.row));
    const refusal = await reserveTask(services, state, { caller, model, amount });
    if (refusal !== undefined) throw new LocalError(refusal);
    return await submit(services, state, { caller, incoming, mayMoveOn, candidates, row });
  } catch (error) {
    await giveUpTask(ctx, row, state.trace.isSent);
    throw error;
  }
}

/**
 * A request as it is reserved and counted: its events come while it runs, but nothing more is set aside then, since it goes on without its
 * client. So all of its output is, at once (requirements C62).
 */
function wholeAnswer(incoming: IncomingRequest): IncomingRequest {
  return incoming.isStream ? { ...incoming, isStream: false } : incoming;
}

/** Its minute counts what it may use: when it ends is another minute. Throws: LocalError. */
function admit(services: Services, state: RequestState, { caller, incoming }: Asked): Promise<Admission> {
  const { model, maxTokens } = incoming;
  const [input, output] = [estimatePrompt(incoming), expectedOutput(wholeAnswer(incoming))];
  const call = { caller, model, input, cap: maxTokens || undefined, output, address: state.address };
  return countCall(services, state, call, (admission) => {
    if (state.reply === undefined) admission.undo();
    else admission.leave({ promptTokens: input, completionTokens: output, cachedTokens: 0 });
  });
}

function factsOf(price: Price, { caller, incoming }: Asked): TaskFacts {
  return {
    seconds: 0,
    size: "",
    resolution: "",
    unit: "text",
    ratios: ratiosOf(price),
    priceVersion: price.version,
    tiers: price.tiers.map(({ above, price: tier }) => ({ above, ratios: ratiosOf(tier) })),
    usual: {
      promptTokens: estimatePrompt(incoming),
      completionTokens: expectedOutput(wholeAnswer(incoming)),
    },
    upstreamModel: incoming.model,
    group: caller.group,
    isGroupNamed: caller.isGroupNamed,
  };
}

interface Ready extends InGroup {
  readonly candidates: readonly LiveChannel[];
  readonly row: TaskRow;
}

interface Accepted {
  readonly kind: "accepted";
  readonly body: JsonRecord;
  readonly channel: LiveChannel;
  /** Its events, or that it does not tell any. */
  readonly events?: StreamReply | WholeReply;
  readonly heard?: Heard;
}

/** Throws: LocalError. */
async function submit(
  services: Services,
  state: RequestState,
  ready: Ready,
): Promise<Kept<WholeReply | StreamReply>> {
  const { ctx } = services;
  const { caller, incoming, candidates, mayMoveOn } = ready;
  const { model } = incoming;
  const wordsOf = (fault: RelayFault) => upstreamWords(fault, { model, bytes: incoming.body.bytes });
  const demand = demandOf(services, state.requestId, () => mostTokens(wholeAnswer(incoming)));
  const asked = { caller, model, isStream: incoming.isStream, endpoint: "responses" } as const;
  const search = { ...asked, candidates, mayMoveOn, cancellation: new Cancellation(), demand, wordsOf };
  const accepted = await eachChannel<Accepted>(services, state, search, (one) =>
    submitTo(services, state, one, ready),
  );
  const { body, events, heard } = accepted;
  try {
    await noteAccepted(services, ready, accepted, trailOf(state));
  } catch (error) {
    if (events?.kind === "stream") events.abort();
    throw error;
  }
  ctx.ledger.entrust(state.requestId);
  const done = async () => heard && bookHeard(services, caller, heard);
  return { reply: events ?? wholeOf(body), done };
}

/** Notes what it is called where it is made, so that the job and its client find it. */
async function noteAccepted(
  { ctx }: Services,
  { caller, incoming, row }: Ready,
  { body, channel }: Accepted,
  trail: string,
): Promise<void> {
  const id = textAt(body, "id");
  const now = ctx.clock.seconds();
  await changeOpenTask(ctx.db, row.id, {
    task_id: id,
    upstream_sealed: ctx.secrets.seal(id, TASK_SEAL),
    state: "queued",
    trail,
    next_at: Math.ceil(now + pollDelay(0)),
    deadline_at: now + TASK_SEC,
  });
  await keepResponse(ctx, { caller, channel, model: incoming.model }, { ...body, store: true });
}

function wholeOf(object: JsonRecord): WholeReply {
  const body = Buffer.from(JSON.stringify(object));
  const none = { headers: {}, usage: undefined, quirks: undefined, secrets: [], dropped: [] };
  return { kind: "whole", body, ...none, text: () => "" };
}

/** Submits to one channel, which the row names before anything is sent. */
async function submitTo(
  services: Services,
  state: RequestState,
  channel: LiveChannel,
  { caller, incoming, row }: Ready,
): Promise<Accepted | RelayFault> {
  const { ctx, upstream } = services;
  const { trace } = state;
  const { id: channel_id, keyId: key_id, mapping } = channel;
  await changeOpenTask(ctx.db, row.id, { channel_id, key_id });
  trace.isSent = true;
  const model = mapping.get(incoming.model) ?? incoming.model;
  const isPinned = incoming.pinned !== undefined;
  const request = backgroundRequest(channel, { body: incoming.body, model, isPinned });
  const about = {
    reach: "request",
    endpoint: "responses",
    model,
    originModel: incoming.model,
    isStream: incoming.isStream,
    seed: state.requestId,
    facts: callFactsOf(services, state, caller, incoming),
  } as const;
  const heard = new Heard();
  const answer = incoming.isStream
    ? await streamStored(upstream, channel, {
        ...{ request, about },
        limits: upstream.limits,
        trace: { firstByteMs: 0, isSent: false },
        hear: heard.hear,
      })
    : await callTask(upstream, channel, request, about);
  if (answer.kind === "failed") {
    trace.isSent = answer.isUnsure;
    return answer.isUnsure ? { ...answer.fault, retry: false } : answer.fault;
  }
  const made = answer.kind === "answer" ? answer.body : heard.response;
  if (made === undefined || textAt(made, "id") === "") {
    if (answer.kind === "stream") answer.abort();
    return { ...unreadableFault("no id of a response", 200), retry: false };
  }
  const accepted = { kind: "accepted", body: made, channel } as const;
  return answer.kind === "answer" ? accepted : { ...accepted, events: answer, heard };
}
