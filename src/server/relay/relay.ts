// The story of one request (design 4.7): door, reception, bank, map, workshop, pipe, bank, exit. One try, one finally, one settle. A
// fault is made where it happens and only read here.
import type { Context } from "#server/context.ts";
import { newRequestId } from "#server/secrets.ts";
import type { AttemptLimits } from "#server/upstream/attempt.ts";
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
import { Door, pour } from "./stream.ts";
import { TaskAccount } from "./task-bill.ts";
import { isTaskIncoming, readTask } from "./tasks.ts";
import { findCandidates, tryChannels } from "./try.ts";
import { voiceOf } from "./voices.ts";

export interface Relay {
  (req: RelayRequest, res: RelayResponse): void;
  readonly upgrade: Realtime["upgrade"];
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

/** Builds the listener of /v1. `limits`, `pulseMs` and `times` (of realtime conversations) are shorter in tests. */
export function createRelay(
  ctx: Context,
  limits: Partial<AttemptLimits> = {},
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
  const listen = (req: RelayRequest, res: RelayResponse) => {
    const door = new Door(req, res, newRequestId(ctx.clock.now()));
    const done = answer(rooms, req, door)
      .catch((error: unknown) => {
        ctx.events.backgroundFailed({ task: "relay", error });
        door.sendFault(refusals.internal(""));
      })
      .then(() => running.remove(seat));
    const seat = running.add({ door, done });
  };
  return Object.assign(listen, {
    upgrade: realtime.upgrade,
    drain() {
      for (const { door } of running.list()) door.endConnection();
    },
    async cut() {
      const left = running.list();
      for (const { door } of left) door.cut(refusals.serverStopping());
      await Promise.all([...left.map(({ done }) => done), realtime.cut()]);
    },
  });
}

async function answer(rooms: Rooms, req: RelayRequest, door: Door): Promise<void> {
  const asked = splitUrl(req.url ?? "");
  const { path } = asked;
  const route = findRoute(req.method ?? "", path);
  door.voice = voiceOf(path, asked.wantsEvents);
  if (route.kind === "relay" || route.kind === "task") await relay(rooms, req, door, { route, asked });
  else if (req.method === "OPTIONS") door.sendPreflight();
  else if (route.kind === "unknown") door.sendUnknownPath(path);
  else if (route.kind === "upgrade") door.sendUpgradeRequired(refusals.upgradeRequired());
  else await inform(rooms, req, door, { route, asked });
}

/** One relayed request from its first byte to its last. */
async function relay(
  rooms: Rooms,
  req: RelayRequest,
  door: Door,
  { route, asked }: { route: RelayRoute | TaskRoute; asked: Asked },
): Promise<void> {
  const { endpoint } = route;
  const startedMs = rooms.ctx.clock.now();
  const address = addressOf(req, rooms.ctx.config.trustedProxies);
  const journey = newJourney({
    requestId: door.requestId,
    startedMs,
    endpoint,
    offers: offersOf(req, asked.key),
    address,
  });
  try {
    const caller = await rooms.admission.admit(journey.offers, address);
    journey.caller = caller;
    journey.leave = await rooms.limits.begin(caller, address);
    const incoming = await read(req, { route, asked }, await rooms.readBody(req, door.gone));
    journey.incoming = incoming;
    // Claude Code waits long, what stands between often does not.
    door.mayOpenEarly = incoming.isStream && endpoint === "messages";
    const candidates = await findCandidates(rooms, caller, incoming);
    const { requestId, trace } = journey;
    const price = priceOf(rooms.bill, incoming, caller, candidates);
    const billed = { requestId, startedMs, caller, trace };
    const account = isTaskIncoming(incoming)
      ? new TaskAccount(rooms.bill, { ...billed, incoming }, price)
      : new Account(rooms.bill, { ...billed, incoming }, price);
    await openAccount(rooms, journey, account);
    const reply = await tryChannels(rooms, journey, { caller, incoming, account, candidates }, door.gone);
    const embed = route.kind === "relay" ? route.embed : undefined;
    journey.reply = embed === undefined ? reply : renderEmbed(embed, reply);
    if (reply.kind === "stream")
      journey.fault = await pour(reply, door, incoming.isArray, () => account.watch(reply));
  } catch (error) {
    journey.fault = faultOf(error);
  } finally {
    await finish(rooms.ctx, journey, door);
    journey.leave();
  }
}

/** What a request asks for, whichever kind of body it has. Throws: Refusal. */
async function read(
  req: RelayRequest,
  { route, asked }: { route: RelayRoute | TaskRoute; asked: Asked },
  body: Buffer,
): Promise<Incoming> {
  const passHeaders = formatHeaders(req, route.endpoint);
  const outside = { ...asked, passHeaders, session: sessionOf(req) };
  if (route.kind === "task")
    return readTask({ ...route, ...outside }, body, req.headers["content-type"] ?? "");
  const { bytes, hints } = readEmbed(route, body);
  return readIncoming({ ...route, ...outside, hints }, bytes);
}

/** Sets the estimate aside before anything goes upstream. Throws: Refusal that says why the bank would not. */
async function openAccount(rooms: Rooms, journey: Journey, account: Account): Promise<void> {
  const verdict = await account.open();
  switch (verdict) {
    case "reserved":
      journey.account = account;
      return;
    case "user_quota":
      throw new Refusal(refusals.userQuota());
    case "user_disabled":
      throw new Refusal(refusals.userDisabled());
    case "token_quota":
    case "token_unusable": {
      const reason = await rooms.admission.explain(journey.offers, journey.address);
      throw new Refusal(
        reason ?? (verdict === "token_quota" ? refusals.tokenQuota() : refusals.keyInvalid()),
      );
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
    const bytes = await rooms.readBody(req, door.gone);
    const incoming = readIncoming(outside, countedPart(route.endpoint, bytes));
    const candidates = await findCandidates(rooms, caller, incoming);
    const { requestId, gone } = door;
    return await countPrompt(rooms, { incoming, bytes, candidates, requestId, cancellation: gone });
  } finally {
    leave();
  }
}
