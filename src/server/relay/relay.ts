// The story of one request (design 4.7): door, reception, bank, map, workshop, pipe, bank, exit. One try, one finally, one settle. A
// fault is made where it happens and only read here.
import type { Context } from "#server/context.ts";
import type { ReserveVerdict } from "#server/money/operations.ts";
import { newRequestId } from "#server/secrets.ts";
import type { AttemptLimits } from "#server/upstream/attempt.ts";
import type { RelayFault } from "#server/upstream/fault.ts";
import type { JsonRecord } from "#server/upstream/hub.ts";
import type { Caller } from "./admit.ts";
import { Account, priceOf } from "./bill.ts";
import { answerBilling } from "./billing.ts";
import { countedPart, countPrompt } from "./count.ts";
import { faultOf, finish } from "./exit.ts";
import { readEmbed, renderEmbed } from "./gemini-embed.ts";
import { type Incoming, readIncoming } from "./incoming.ts";
import { type Journey, newJourney } from "./journey.ts";
import { models } from "./models.ts";
import { pour } from "./pour.ts";
import { createRealtime, type Realtime } from "./realtime.ts";
import type { RealtimeTimes } from "./realtime-session.ts";
import { Refusal, refusals } from "./refusal.ts";
import { createRooms, type Rooms } from "./rooms.ts";
import { Roster } from "./roster.ts";
import {
  type Asked,
  addressOf,
  type CountRoute,
  findRoute,
  formatHeaders,
  listFormat,
  offersOf,
  type RelayRequest,
  type RelayResponse,
  type RelayRoute,
  type Route,
  sessionOf,
  splitUrl,
  type TaskRoute,
} from "./routes.ts";
import { Door } from "./stream.ts";
import { TaskAccount } from "./task-bill.ts";
import { isTaskIncoming, readTask } from "./tasks.ts";
import { findCandidates, lastWord, type Trial, tryChannels } from "./try.ts";
import { responsesStream, voiceOf } from "./voices.ts";

export interface Relay {
  (req: RelayRequest, res: RelayResponse): void;
  readonly upgrade: Realtime["upgrade"];
  readonly decline: Realtime["decline"];
  /** Answers a call that is not taken, in its own format; the connection ends (reliability D02). */
  turnAway(req: RelayRequest, res: RelayResponse, fault: RelayFault): void;
  /** From now on connections end with the answers that have not begun. */
  drain(): void;
  /**
   * Ends what still runs because the process ends: upstreams are aborted, what had come is settled, clients get an error as
   * the last event or as the answer (reliability G01). Resolves when all of it is booked.
   */
  cut(): Promise<void>;
}

/** A request that is being answered. */
interface Running {
  readonly door: Door;
  readonly done: Promise<void>;
}

/** A silent stream shows that it lives after one to two of these (providers 17.1.1: every 15–20 s). */
const PULSE_MS = 9_000;

/** How often it is looked whether calls that are no streams have had their time: one timer for all of them. */
const DEADLINE_LOOK_MS = 250;

/** When the process ends, calls that still wait for a count after this long are charged by a rough one. */
const COUNTING_MS = 2_000;

/** Time limits of a call, and of a client that does not take its answer (reliability R03). Unit: ms. */
interface RelayTimes extends AttemptLimits {
  readonly stallMs: number;
}

/** Builds the listener of /v1. `limits`, `pulseMs` and `times` (of realtime conversations) are shorter in tests. */
export function createRelay(
  ctx: Context,
  limits: Partial<RelayTimes> = {},
  pulseMs: number = PULSE_MS,
  times?: RealtimeTimes,
): Relay {
  const rooms = createRooms(ctx, limits);
  const realtime = createRealtime(rooms, times);
  const running = new Roster<Running>();
  ctx.events.measure("tollgate_relay_running", () => running.size);
  setInterval(() => {
    for (const { door } of running.list()) door.keepAlive();
  }, pulseMs).unref();
  setInterval(() => {
    const nowMs = ctx.clock.now();
    for (const { door } of running.list()) door.checkTime(nowMs);
  }, DEADLINE_LOOK_MS).unref();
  const listen = (req: RelayRequest, res: RelayResponse) => {
    const door = new Door(req, res, newRequestId(ctx.clock.now()), limits.stallMs);
    const leave = () => running.remove(seat);
    const done = answer(rooms, req, door).then(leave, (error: unknown) => {
      ctx.events.backgroundFailed({ task: "relay", error });
      door.sendFault(refusals.internal(""));
      leave();
    });
    const seat = running.add({ door, done });
  };
  return Object.assign(listen, {
    upgrade: realtime.upgrade,
    decline: realtime.decline,
    turnAway(req: RelayRequest, res: RelayResponse, fault: RelayFault) {
      const door = new Door(req, res, newRequestId(ctx.clock.now()), limits.stallMs);
      const { path, wantsEvents } = splitUrl(req.url ?? "");
      door.voice = voiceOf(path, wantsEvents);
      door.endConnection();
      door.sendFault(fault);
    },
    drain() {
      for (const { door } of running.list()) door.endConnection();
    },
    async cut() {
      const left = running.list();
      for (const { door } of left) door.cut(refusals.serverStopping());
      const hurry = setTimeout(() => void rooms.bill.tokens.close(), COUNTING_MS);
      await Promise.all([...left.map(({ done }) => done), realtime.cut()]);
      clearTimeout(hurry);
      await rooms.failedCalls.idle();
    },
  });
}

function answer(rooms: Rooms, req: RelayRequest, door: Door): Promise<void> {
  const asked = splitUrl(req.url ?? "");
  const route = findRoute(req.method ?? "", asked.path);
  door.voice = voiceOf(asked.path, asked.wantsEvents);
  return route.kind === "relay" || route.kind === "task"
    ? relay(rooms, req, door, { route, asked })
    : answerHere(rooms, req, door, { route, asked });
}

/** What goes to no channel. */
async function answerHere(
  rooms: Rooms,
  req: RelayRequest,
  door: Door,
  { route, asked }: { route: Route; asked: Asked },
): Promise<void> {
  if (req.method === "OPTIONS") door.sendPreflight();
  else if (route.kind === "unknown") door.sendUnknownPath(asked.path);
  else if (route.kind === "upgrade") door.sendUpgradeRequired(refusals.upgradeRequired());
  else await inform(rooms, req, door, { route, asked });
}

/** What is asked of a channel, and by which path. */
interface Errand {
  readonly route: RelayRoute | TaskRoute;
  readonly asked: Asked;
}

/**
 * One relayed request from its first byte to its last. Nearly always the rooms before the bank have their answer at once: what
 * then is no promise is not waited for, since each wait costs more than most of their work.
 */
async function relay(rooms: Rooms, req: RelayRequest, door: Door, errand: Errand): Promise<void> {
  const { route, asked } = errand;
  const address = addressOf(req, rooms.ctx.config.trustedProxies);
  const journey = newJourney({
    requestId: door.requestId,
    startedMs: rooms.ctx.clock.now(),
    endpoint: route.endpoint,
    offers: offersOf(req, asked.key),
    address,
  });
  try {
    // Waited for in any case: meanwhile a body that came with its head is parsed, and need not be listened for.
    const caller = await rooms.admission.admit(journey.offers, address);
    journey.caller = caller;
    const entered = rooms.limits.begin(caller, address);
    journey.leave = entered instanceof Promise ? await entered : entered;
    const body = rooms.readBody(req, door);
    const read = readAsked(req, errand, body instanceof Promise ? await body : body);
    const incoming = servedModel(rooms, caller, read instanceof Promise ? await read : read);
    journey.incoming = incoming;
    if (incoming.isStream) expectStream(door, incoming, journey.startedMs);
    const found = findCandidates(rooms, caller, incoming);
    const candidates = found instanceof Promise ? await found : found;
    const account = accountOf(rooms, journey, { caller, incoming, candidates });
    const verdict = await account.open();
    if (verdict !== "reserved") throw new Refusal(await refusalOf(rooms, journey, verdict));
    journey.account = account;
    limitTime(rooms, door, incoming);
    const reply = await tryChannels(rooms, journey, { caller, incoming, account, candidates }, door.gone);
    const embed = route.kind === "relay" ? route.embed : undefined;
    journey.reply = embed === undefined ? reply : renderEmbed(embed, reply);
    if (reply.kind === "stream") {
      const fault = await pour(reply, door, incoming.isArray, () => account.watch(reply));
      journey.fault = fault && lastWord(fault);
    }
  } catch (error) {
    journey.fault = faultOf(error);
  } finally {
    try {
      await finish(rooms, journey, door);
      const taken = door.taken();
      if (taken !== undefined) await taken;
    } finally {
      journey.leave();
    }
  }
}

type Timed = Pick<Incoming, "isStream" | "isTimed">;

/** From now on the call has the time that calls have which are no streams: all its attempts together (RELAY_TIMEOUT). */
function limitTime({ ctx, upstream }: Rooms, door: Door, { isStream, isTimed }: Timed): void {
  const { totalMs } = upstream.limits;
  const isLimited = !isStream || isTimed === true;
  if (isLimited && totalMs > 0) door.deadlineMs = ctx.clock.now() + totalMs;
}

/** What is different for a client that streams, before there is a stream. */
function expectStream(door: Door, { endpoint, model, body }: Incoming, startedMs: number): void {
  // Claude Code waits long, what stands between often does not.
  door.mayOpenEarly = endpoint === "messages";
  if (endpoint === "responses") door.voice = responsesStream({ model, body, startedMs });
}

/** OpenAI retired the models that the contract's default names in October 2025; this one took their place. */
const MODERATION_SUCCESSOR = "omni-moderation-latest";

/** A moderation that names no model asks for the contract's (8.1) where it is served, else for its successor. */
function servedModel({ ctx }: Rooms, caller: Caller, incoming: Incoming): Incoming {
  const { endpoint, model, isModelDefault } = incoming;
  if (endpoint !== "moderation" || isModelDefault !== true) return incoming;
  const isServed = caller.models?.has(model) !== false && ctx.candidates.find(caller.group, model).length > 0;
  return isServed ? incoming : { ...incoming, model: MODERATION_SUCCESSOR };
}

/** What a request asks for, whichever kind of body it has. Throws: Refusal. */
function readAsked(req: RelayRequest, { route, asked }: Errand, body: Buffer): Incoming | Promise<Incoming> {
  const { deployment, wantsEvents, apiVersion } = asked;
  const outside = {
    deployment,
    wantsEvents,
    apiVersion,
    passHeaders: formatHeaders(req, route.endpoint),
    session: sessionOf(req),
  };
  if (route.kind === "task")
    return readTask({ ...route, ...outside }, body, req.headers["content-type"] ?? "");
  const { endpoint, pathModel, isStream } = route;
  if (route.embed === undefined) return readIncoming({ endpoint, pathModel, isStream, ...outside }, body);
  const { bytes, hints } = readEmbed(route.embed, body, pathModel ?? "");
  return readIncoming({ endpoint, pathModel, isStream, ...outside, hints }, bytes);
}

/** The account of a request, at the price of the first channel that has one. Throws: Refusal. */
function accountOf(
  { bill }: Rooms,
  { requestId, startedMs, trace }: Journey,
  { caller, incoming, candidates }: Pick<Trial, "caller" | "incoming" | "candidates">,
): Account {
  const price = priceOf(bill, incoming, caller, candidates);
  return isTaskIncoming(incoming)
    ? new TaskAccount(bill, { requestId, startedMs, caller, incoming, trace }, price)
    : new Account(bill, { requestId, startedMs, caller, incoming, trace }, price);
}

/** Why the bank would not set the estimate aside. */
async function refusalOf(
  rooms: Rooms,
  journey: Journey,
  verdict: Exclude<ReserveVerdict, "reserved">,
): Promise<RelayFault> {
  switch (verdict) {
    case "user_quota":
      return refusals.userQuota();
    case "user_disabled":
      return refusals.userDisabled();
    case "token_quota":
    case "token_unusable": {
      const reason = await rooms.admission.explain(journey.offers, journey.address);
      return reason ?? (verdict === "token_quota" ? refusals.tokenQuota() : refusals.keyInvalid());
    }
    default:
      throw new Error(`unknown verdict ${verdict satisfies never}`);
  }
}

/** The routes that need a caller and no upstream. */
async function inform(
  rooms: Rooms,
  req: RelayRequest,
  door: Door,
  { route, asked }: { route: Route; asked: Asked },
): Promise<void> {
  const { candidates, config } = rooms.ctx;
  try {
    const address = addressOf(req, config.trustedProxies);
    const caller = await rooms.admission.admit(offersOf(req, asked.key), address);
    if (candidates.pending !== undefined) await candidates.pending;
    if (route.kind === "models") {
      door.sendJson(200, models[listFormat(req, asked)].list(candidates, caller));
    } else if (route.kind === "model") {
      door.sendJson(200, models[listFormat(req, asked)].find(candidates, caller, route.id));
    } else if (route.kind === "billing")
      door.sendJson(200, await answerBilling(rooms.ctx, route.part, caller, address));
    else if (route.kind === "count") door.sendJson(200, await count(rooms, req, door, { route, caller }));
    else throw new Refusal(refusals.notImplemented());
  } catch (error) {
    door.sendFault(faultOf(error));
  }
}

/** Tells what a request would be in tokens. Costs nothing. */
async function count(
  rooms: Rooms,
  req: RelayRequest,
  door: Door,
  { route, caller }: { route: CountRoute; caller: Caller },
): Promise<JsonRecord> {
  const passHeaders = formatHeaders(req, route.endpoint);
  const outside = { ...route, isStream: false, wantsEvents: false, apiVersion: "", passHeaders };
  // It costs nothing, but it is work.
  const leave = await rooms.limits.begin(caller, addressOf(req, rooms.ctx.config.trustedProxies));
  try {
    const bytes = await rooms.readBody(req, door);
    const incoming = readIncoming(outside, countedPart(route.endpoint, bytes));
    const candidates = await findCandidates(rooms, caller, incoming);
    const { requestId, gone } = door;
    limitTime(rooms, door, incoming);
    return await countPrompt(rooms, { incoming, bytes, candidates, requestId, cancellation: gone });
  } finally {
    leave();
  }
}
