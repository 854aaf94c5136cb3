// Takes an order for a video: limits, reservation, a row, and then one channel that accepts it. Once something was sent and it is not
// known what became of it, nothing is sent again (requirements C53); what is set aside is booked when the video is done.
import { videoPriceName } from "#contract/video.ts";
import { lacksVideos } from "#server/channels/formats.ts";
import type { LiveChannel } from "#server/channels/live-channel.ts";
import { ratiosOf } from "#server/money/price.ts";
import type { PriceBook } from "#server/money/price-book.ts";
import { videoPrice } from "#server/money/video-price.ts";
import type { Caller } from "#server/relay/admission/admit.ts";
import { held } from "#server/relay/billing/account.ts";
import { costCapOf } from "#server/relay/billing/cost-cap.ts";
import { limitErrors } from "#server/relay/http/limit-errors.ts";
import { Exhausted, LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import { countCall, endAdmission } from "#server/relay/pass-limits.ts";
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
import { randomHex } from "#server/secrets.ts";
import { changeOpenTask, type TaskRow } from "#server/store/tasks.ts";
import { beginTask, giveUpTask } from "#server/tasks/begin.ts";
import { TASK_SEAL } from "#server/tasks/channel.ts";
import { type TaskFacts, taskEstimate } from "#server/tasks/facts.ts";
import { pollDelay } from "#server/tasks/poll.ts";
import type { Cancellation } from "#server/upstream/cancellation.ts";
import {
  type RelayFault,
  statusFault,
  unmappableFault,
  unreadableFault,
} from "#server/upstream/errors/fault.ts";
import { Unmappable } from "#server/upstream/hub/request.ts";
import { callTask } from "#server/upstream/video/call.ts";
import { videoWires } from "#server/upstream/video/index.ts";
import type { VideoOrder } from "#server/upstream/video/order.ts";

/** How long an upstream may take for a video. */
const TASK_SEC = 3_600;

interface Asked {
  readonly caller: Caller;
  readonly order: VideoOrder;
  readonly bytes: Buffer;
  /** Only a stop of the process ends a submission: what its client does after it was sent changes nothing. */
  readonly cancellation: Cancellation;
}

/** Submits in the first of the caller's groups that can. Returns the task's row. Throws: LocalError. */
export async function submitVideo(services: Services, state: RequestState, asked: Asked): Promise<TaskRow> {
  const slot = state.freeSlot;
  return inEachGroup(state, asked.caller, asked.order.model, {
    serve: (caller, mayMoveOn) => submitIn(services, state, { ...asked, caller, mayMoveOn }),
    leave() {
      state.freeSlot = slot;
      endAdmission(state);
      return Promise.resolve();
    },
  });
}

async function submitIn(
  services: Services,
  state: RequestState,
  asked: Asked & { readonly mayMoveOn: boolean },
): Promise<TaskRow> {
  const { caller, order } = asked;
  const { ctx, bill } = services;
  const { model } = order;
  state.caller = caller;
  state.limitHead?.forget();
  if (caller.limits.length > 0) {
    const { address } = state;
    const call = { caller, model, input: 0, cap: undefined, output: 0, address };
    state.admission = await countCall(services, state, call);
  }
  const found = await findCandidates(ctx, caller, { model });
  const candidates = found.filter((channel) => lacksVideos(channel) === undefined);
  if (candidates.length === 0) throw new Exhausted(localErrors.noChannel(caller.group, model));
  const prices = bill.prices();
  const priced = candidates.filter((channel) => factsFor(channel, { caller, order, prices }) !== undefined);
  const offers = priced.map((channel) => factsFor(channel, { caller, order, prices }) as TaskFacts); // just looked at
  if (offers.length === 0) throw new LocalError(localErrors.priceMissing(priceNameOf(order)));
  // The dearest of them: whichever accepts it, enough is set aside.
  const amount = held(
    bill,
    offers.map(taskEstimate).reduce((most, one) => (one > most ? one : most)),
    caller,
  );
  const cap = costCapOf(caller, model, ctx.clock.seconds());
  if (cap !== undefined && amount > cap.amount) throw new LocalError(limitErrors.tooDear(cap.row));
  const row = await beginTask(ctx, caller, {
    task_id: `video_${randomHex(24)}`,
    request_id: state.requestId,
    kind: "video",
    wire: "",
    model,
    facts: offers[0] as TaskFacts, // there is one
  });
  try {
    const refusal = await reserveTask(services, state, { caller, model, amount });
    if (refusal !== undefined) throw new LocalError(refusal);
    return await callChannels(services, state, { ...asked, candidates: priced, prices, row });
  } catch (error) {
    await giveUpTask(ctx, row, state.trace.isSent);
    throw error;
  }
}

function priceNameOf({ model, resolution }: VideoOrder): string {
  return resolution === "" ? model : videoPriceName(model, resolution);
}

/** What is remembered of an order for this channel; undefined = it has no price there. What unknown models cost is no price of a video. */
function factsFor(
  { provider, mapping }: LiveChannel,
  { caller, order, prices }: Pick<Ready, "caller" | "order" | "prices">,
): TaskFacts | undefined {
  const { model, resolution, seconds, sizeText } = order;
  const upstreamModel = mapping.get(model) ?? model;
  const price = videoPrice(prices, { model, upstreamModel, resolution, group: caller.group });
  if (price === undefined || provider.video === undefined) return undefined;
  const { unit, usualSeconds } = videoWires[provider.video];
  return {
    seconds: seconds ?? usualSeconds,
    size: sizeText,
    resolution,
    unit,
    ratios: ratiosOf(price),
    priceVersion: price.version,
    upstreamModel,
    group: caller.group,
    isGroupNamed: caller.isGroupNamed,
  };
}

interface Ready extends Asked {
  readonly mayMoveOn: boolean;
  readonly candidates: readonly LiveChannel[];
  /** Those it was reserved by, whatever is published while a channel is looked for. */
  readonly prices: PriceBook;
  readonly row: TaskRow;
}

/** Throws: LocalError. */
async function callChannels(services: Services, state: RequestState, ready: Ready): Promise<TaskRow> {
  const { ctx } = services;
  const { caller, order, candidates, mayMoveOn, cancellation, row, bytes } = ready;
  const { model } = order;
  const wordsOf = (fault: RelayFault) => upstreamWords(fault, { model, bytes });
  const demand = demandOf(services, state.requestId, () => 0);
  const search = { caller, model, candidates, isStream: false, mayMoveOn, cancellation, demand, wordsOf };
  const accepted = await eachChannel<Accepted>(services, state, search, (channel) =>
    submitTo(services, state, channel, ready),
  );
  const now = ctx.clock.seconds();
  const change = {
    upstream_sealed: ctx.secrets.seal(accepted.upstreamId, TASK_SEAL),
    state: "queued",
    trail: trailOf(state),
    next_at: Math.ceil(now + pollDelay(0)),
    deadline_at: now + TASK_SEC,
  } as const;
  await changeOpenTask(ctx.db, row.id, change);
  ctx.ledger.entrust(state.requestId);
  return { ...row, ...accepted.change, ...change };
}

interface Accepted {
  readonly kind: "accepted";
  readonly upstreamId: string;
  readonly change: Pick<TaskRow, "channel_id" | "key_id" | "wire" | "facts">;
}

/** Submits to one channel. The row names it before anything is sent. */
async function submitTo(
  services: Services,
  state: RequestState,
  channel: LiveChannel,
  { caller, order, prices, row }: Ready,
): Promise<Accepted | RelayFault> {
  const { ctx, upstream } = services;
  const { trace } = state;
  const { provider, id: channel_id, keyId: key_id } = channel;
  const facts = factsFor(channel, { caller, order, prices });
  if (facts === undefined || provider.video === undefined)
    return { ...localErrors.priceMissing(priceNameOf(order)), retry: true };
  const wire = videoWires[provider.video];
  const ask = { ...order, model: facts.upstreamModel, seconds: facts.seconds };
  const request = requestOf(() => wire.submit(ask));
  if ("kind" in request) return request;
  const change = { channel_id, key_id, wire: provider.video, facts: JSON.stringify(facts) };
  await changeOpenTask(ctx.db, row.id, change);
  // From here on until the answer is understood, it may be there.
  trace.isSent = true;
  const answer = await callTask(upstream, channel, request, {
    reach: "request",
    endpoint: "videos",
    model: facts.upstreamModel,
    originModel: order.model,
    isStream: false,
    seed: state.requestId,
    facts: callFactsOf(services, state, caller, undefined),
  });
  if (answer.kind === "failed") {
    trace.isSent = answer.isUnsure;
    return answer.isUnsure ? { ...answer.fault, retry: false } : answer.fault;
  }
  const refusal = wire.refusal?.(answer.body);
  if (refusal !== undefined) {
    trace.isSent = false;
    return statusFault({
      status: 400,
      body: { error: refusal },
      text: "",
      retryAfterMs: 0,
      secrets: [channel.key],
    });
  }
  const upstreamId = wire.taskId(answer.body, ask);
  return upstreamId === ""
    ? { ...unreadableFault("no id of a task", 200), retry: false }
    : { kind: "accepted", upstreamId, change };
}

function requestOf<Made>(make: () => Made): Made | RelayFault {
  try {
    return make();
  } catch (error) {
    if (error instanceof Unmappable) return unmappableFault(error.what, error.reason);
    throw error;
  }
}
