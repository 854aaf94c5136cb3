// The steps of one request (ARCHITECTURE.md): receive, admit, read, reserve, select, call, pipe, finish, which settles. A request
// is settled once, whatever happened before. A fault is made where it happens and only read here.
import type { Context } from "#server/context.ts";
import { newRequestId } from "#server/secrets.ts";
import type { AttemptLimits } from "#server/upstream/call/attempt.ts";
import type { StreamReply } from "#server/upstream/call/call.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import { type Caller, isLimited } from "./admission/admit.ts";
import { faultOf, finish } from "./finish.ts";
import { ClientResponse, InFlight } from "./http/client-response.ts";
import { errorFormatOf, responsesStream } from "./http/error-format.ts";
import type { RelayRequest, RelayResponse } from "./http/exchange.ts";
import { LocalError, localErrors } from "./http/local-errors.ts";
import { pipe } from "./http/pipe.ts";
import {
  type Asked,
  addressOf,
  type CountRoute,
  findRoute,
  formatHeaders,
  listFormat,
  offersOf,
  type RelayRoute,
  type Route,
  sessionOf,
  splitUrl,
  type TaskRoute,
} from "./http/routes.ts";
import { readTask } from "./media/tasks.ts";
import { endAdmission, wasRefused } from "./pass-limits.ts";
import { answerBilling } from "./queries/billing.ts";
import { countedPart, countPrompt } from "./queries/count-tokens.ts";
import { models } from "./queries/models.ts";
import { answerOwn } from "./queries/own-key.ts";
import type { SocketTimes } from "./realtime/session.ts";
import { createUpgrades, type Upgrades } from "./realtime/upgrades.ts";
import { lastWord } from "./routing/failed-calls.ts";
import { callFactsOf, newRequestState, type RequestState } from "./routing/failover.ts";
import { inEachGroup, servedMember } from "./routing/groups.ts";
import { findCandidates } from "./routing/next-channel.ts";
import { limitTime, serve } from "./serve.ts";
import { createServices, type Services } from "./services.ts";
import { beginLimited, fillRest, knownCaller } from "./tell-limits.ts";
import { readEmbed, renderEmbed } from "./text/gemini-embeddings.ts";
import { type IncomingRequest, readIncoming } from "./text/incoming.ts";

export interface Relay {
  (req: RelayRequest, res: RelayResponse): void;
  readonly upgrade: Upgrades["upgrade"];
  readonly decline: Upgrades["decline"];
  /** Answers a call that is not taken, in its own format; the connection ends (requirements D02). */
  turnAway(req: RelayRequest, res: RelayResponse, fault: RelayFault): void;
  /** From now on connections end with the answers that have not begun. */
  drain(): void;
  /**
   * Ends all running calls because the process ends: upstreams are aborted, partial answers are settled, clients get an error as
   * the last event or as the answer (requirements G01). Resolves when all of them are booked.
   */
  cut(): Promise<void>;
}

/** A request that is being answered. */
interface Running {
  readonly response: ClientResponse;
  readonly done: Promise<void>;
}

/** A silent stream sends a keep-alive after one to two of these (vendors/claude-code: every 15–20 s). */
const PULSE_MS = 9_000;

/** How often the deadlines of calls that are no streams are checked: one timer for all of them. */
const DEADLINE_LOOK_MS = 250;

/** When the process ends, calls that still wait for a count after this long are charged by an estimate. */
const COUNTING_MS = 2_000;

/** Time limits of a call, and of a client that does not take its answer (requirements R03). Unit: ms. */
interface RelayTimes extends AttemptLimits {
  readonly stallMs: number;
}

/** Builds the listener of /v1. `limits`, `pulseMs` and `times` (of sockets) are shorter in tests. */
export function createRelay(
  ctx: Context,
  limits: Partial<RelayTimes> = {},
  pulseMs: number = PULSE_MS,
  times?: SocketTimes,
): Relay {
  const services = createServices(ctx, limits);
  const running = new InFlight<Running>();
  ctx.events.measure("tollgate_relay_running", () => running.size);
  setInterval(() => {
    for (const { response } of running.list()) response.keepAlive();
  }, pulseMs).unref();
  setInterval(() => {
    const nowMs = ctx.clock.now();
    for (const { response } of running.list()) response.checkTime(nowMs);
  }, DEADLINE_LOOK_MS).unref();
  const listen = (req: RelayRequest, res: RelayResponse) => {
    const response = new ClientResponse(req, res, newRequestId(ctx.clock.now()), limits.stallMs);
    const leave = () => running.remove(entry);
    const done = answer(services, req, response).then(leave, (error: unknown) => {
      ctx.events.backgroundFailed({ task: "relay", error });
      response.sendFault(localErrors.internal(""));
      leave();
    });
    const entry = running.add({ response, done });
  };
  const turnAway = (req: RelayRequest, res: RelayResponse, fault: RelayFault) => {
    const response = new ClientResponse(req, res, newRequestId(ctx.clock.now()), limits.stallMs);
    const { path, wantsEvents } = splitUrl(req.url ?? "");
    response.errorFormat = errorFormatOf(path, wantsEvents);
    response.endConnection();
    response.sendFault(fault);
  };
  const upgrades = createUpgrades(services, { serve: listen, turnAway }, times);
  return Object.assign(listen, {
    upgrade: upgrades.upgrade,
    decline: upgrades.decline,
    turnAway,
    drain() {
      for (const { response } of running.list()) response.endConnection();
      upgrades.drain();
    },
    async cut() {
      const left = running.list();
      for (const { response } of left) response.cut(localErrors.serverStopping());
      const hurry = setTimeout(() => void services.bill.tokens.close(), COUNTING_MS);
      await Promise.all([...left.map(({ done }) => done), upgrades.cut()]);
      clearTimeout(hurry);
      await services.errorLog.idle();
    },
  });
}

function answer(services: Services, req: RelayRequest, response: ClientResponse): Promise<void> {
  const asked = splitUrl(req.url ?? "");
  const route = findRoute(req.method ?? "", asked.path);
  response.errorFormat = errorFormatOf(asked.path, asked.wantsEvents);
  return route.kind === "relay" || route.kind === "task"
    ? relay(services, req, response, { route, asked })
    : answerHere(services, req, response, { route, asked });
}

/** Answers routes that go to no channel. */
async function answerHere(
  services: Services,
  req: RelayRequest,
  response: ClientResponse,
  { route, asked }: { route: Route; asked: Asked },
): Promise<void> {
  if (req.method === "OPTIONS") response.sendPreflight();
  else if (route.kind === "video")
    await (await import("./video/video.ts")).answerVideo({ services, req, response, asked, route });
  else if (route.kind === "stored")
    await (await import("./stateful/answer.ts")).answerStored({ services, req, response, asked, route });
  else if (route.kind === "batch" && services.ctx.options.get("BatchesEnabled"))
    await (await import("./batch/answer.ts")).answerBatchCall({ services, req, response, asked, route });
  else if (route.kind === "unknown") response.sendUnknownPath(asked.path);
  else if (route.kind === "upgrade") response.sendUpgradeRequired(localErrors.upgradeRequired());
  else await inform(services, req, response, { route, asked });
}

/** A request for a channel: its route and its URL. */
interface RoutedRequest {
  readonly route: RelayRoute | TaskRoute;
  readonly asked: Asked;
}

/**
 * One relayed request from its first byte to its last. The steps before the ledger nearly always answer at once: a result that
 * is no promise is not awaited, since each await costs more than most of their work.
 */
async function relay(
  services: Services,
  req: RelayRequest,
  response: ClientResponse,
  routed: RoutedRequest,
): Promise<void> {
  const { route, asked } = routed;
  const address = addressOf(req, services.ctx.config.trustedProxies);
  const state = newRequestState({
    requestId: response.requestId,
    startedMs: services.ctx.clock.now(),
    endpoint: route.endpoint,
    offers: offersOf(req, asked.key),
    address,
    headers: req.headers,
  });
  try {
    // Always awaited: meanwhile a body that came with its head is parsed, and needs no listeners.
    const caller = await services.authenticator.authenticate(state.offers, address);
    state.caller = caller;
    response.language = caller.language;
    if (isLimited(caller, services.limits)) await beginLimited(services, state, response, caller);
    const body = services.readBody(req, response);
    const keepsState = route.endpoint === "responses" && services.ctx.options.get("ResponsesStateEnabled");
    const read = readAsked(req, { ...routed, keepsState }, body instanceof Promise ? await body : body);
    const incoming = servedModel(services, caller, read instanceof Promise ? await read : read);
    state.incoming = incoming;
    if (incoming.isStream) expectStream(response, incoming, state.startedMs);
    if (incoming.state !== undefined) {
      await relayStateful(services, state, response, { caller, incoming });
      return;
    }
    const reply = await serve(services, state, response, { caller, incoming });
    const embed = route.kind === "relay" ? route.embed : undefined;
    state.reply = embed === undefined ? reply : renderEmbed(embed, reply);
    if (reply.kind === "stream") await piped(state, response, reply, incoming);
  } catch (error) {
    state.fault = faultOf(error);
    await fillRest(services, state, state.incoming?.model ?? "");
  } finally {
    try {
      await finish(services, state, response);
      const taken = response.taken();
      if (taken !== undefined) await taken;
    } finally {
      leaveLimits(state);
    }
  }
}

/** The same for a request whose response its upstream may keep. What is noted of it stands before the answer ends. */
async function relayStateful(
  services: Services,
  state: RequestState,
  response: ClientResponse,
  asked: { readonly caller: Caller; readonly incoming: IncomingRequest },
): Promise<void> {
  const stateful = await import("./stateful/stateful.ts");
  const one = await stateful.direct(services, asked);
  state.caller = one.caller;
  state.incoming = one.incoming;
  const begun = await stateful.inBackground(services, state, one);
  if (begun !== undefined) {
    state.reply = begun.reply;
    if (begun.reply.kind === "stream")
      await (await import("./stateful/follow.ts")).passEvents(response, begun.reply);
    await begun.done();
    return;
  }
  const made = await serve(services, state, response, one);
  const { reply, done } = stateful.keep(services, { ...one, channel: state.channel }, made);
  state.reply = reply;
  if (reply.kind === "stream") await piped(state, response, reply, one.incoming);
  await done();
}

/** Sends a stream to the client while it comes. */
async function piped(
  state: RequestState,
  response: ClientResponse,
  reply: StreamReply,
  { isArray }: IncomingRequest,
): Promise<void> {
  const fault = await pipe(reply, response, isArray, () => state.account?.watch(reply));
  state.fault = fault && lastWord(fault);
}

/** Ends the call in the limits of its caller and of its channel: what it did not use of them is given back. */
function leaveLimits(state: RequestState): void {
  const { entry, run, booked } = state;
  state.freeSlot(state.fault !== undefined && wasRefused(state));
  if (state.admission !== undefined) endAdmission(state);
  const { promptTokens = 0, completionTokens = 0 } = booked?.usage ?? {};
  entry?.leave(promptTokens + completionTokens);
  run?.end(completionTokens);
}

/** Prepares the response for a client that streams, before the stream begins. */
function expectStream(
  response: ClientResponse,
  { endpoint, model, body }: IncomingRequest,
  startedMs: number,
): void {
  // Claude Code waits long, proxies in between often do not.
  response.mayOpenEarly = endpoint === "messages";
  if (endpoint === "responses") response.errorFormat = responsesStream({ model, body, startedMs });
}

/** OpenAI retired the models that the contract's default names in October 2025; this one succeeds them. */
const MODERATION_SUCCESSOR = "omni-moderation-latest";

/** A moderation that names no model asks for the contract's where it is served, else for its successor. */
function servedModel({ ctx }: Services, caller: Caller, incoming: IncomingRequest): IncomingRequest {
  const { endpoint, model, isModelDefault } = incoming;
  if (endpoint !== "moderation" || isModelDefault !== true) return incoming;
  const { group } = servedMember(ctx.candidates, caller, model);
  const isServed = caller.models?.has(model) !== false && ctx.candidates.find(group, model).length > 0;
  return isServed ? incoming : { ...incoming, model: MODERATION_SUCCESSOR };
}

/** Reads a request, whichever kind of body it has. Throws: LocalError. */
function readAsked(
  req: RelayRequest,
  { route, asked, keepsState }: RoutedRequest & { readonly keepsState: boolean },
  body: Buffer,
): IncomingRequest | Promise<IncomingRequest> {
  const { deployment, wantsEvents, apiVersion } = asked;
  const outside = {
    deployment,
    wantsEvents,
    apiVersion,
    passHeaders: formatHeaders(req, route.endpoint),
    session: sessionOf(req),
    keepsState,
  };
  if (route.kind === "task")
    return readTask({ ...route, ...outside }, body, req.headers["content-type"] ?? "");
  const { endpoint, pathModel, isStream, isCompact } = route;
  if (isCompact === true && !keepsState) throw new LocalError(localErrors.notImplemented());
  if (route.embed === undefined)
    return readIncoming({ endpoint, pathModel, isStream, isCompact, ...outside }, body);
  const { bytes, hints } = readEmbed(route.embed, body, pathModel ?? "");
  return readIncoming({ endpoint, pathModel, isStream, ...outside, hints }, bytes);
}

/** The routes that need a caller and no upstream. */
async function inform(
  services: Services,
  req: RelayRequest,
  response: ClientResponse,
  { route, asked }: { route: Route; asked: Asked },
): Promise<void> {
  const { candidates, config } = services.ctx;
  try {
    const address = addressOf(req, config.trustedProxies);
    const isOwn = route.kind === "own" || route.kind === "billing";
    const call = { services, req, response, asked };
    const caller = await knownCaller(call, isOwn ? "identify" : "authenticate");
    if (candidates.pending !== undefined) await candidates.pending;
    if (route.kind === "models") {
      response.sendJson(200, models[listFormat(req, asked)].list(candidates, caller));
    } else if (route.kind === "model") {
      response.sendJson(200, models[listFormat(req, asked)].find(candidates, caller, route.id));
    } else if (route.kind === "billing")
      response.sendJson(200, await answerBilling(services.ctx, route.part, caller, address));
    else if (route.kind === "own")
      response.sendJson(200, await answerOwn(services.ctx, route.part, caller, address));
    else if (route.kind === "count")
      response.sendJson(200, await count(services, req, response, { route, caller }));
    else throw new LocalError(localErrors.notImplemented());
  } catch (error) {
    response.sendFault(faultOf(error));
  }
}

/** Counts the tokens of a request. Costs nothing. */
async function count(
  services: Services,
  req: RelayRequest,
  response: ClientResponse,
  { route, caller }: { route: CountRoute; caller: Caller },
): Promise<JsonRecord> {
  const passHeaders = formatHeaders(req, route.endpoint);
  const outside = { ...route, isStream: false, wantsEvents: false, apiVersion: "", passHeaders };
  // It is free, but it is work: the caller's limits count it.
  const address = addressOf(req, services.ctx.config.trustedProxies);
  const leave = await services.limits.begin(caller, address, response.limitHead);
  try {
    const bytes = await services.readBody(req, response);
    const incoming = readIncoming(outside, countedPart(route.endpoint, bytes));
    const { requestId, gone } = response;
    limitTime(services, response, incoming);
    const served = await inEachGroup({ attempts: 0 }, caller, incoming.model, {
      serve: async (member) => ({
        caller: member,
        candidates: await findCandidates(services.ctx, member, incoming),
      }),
      leave: () => Promise.resolve(),
    });
    const facts = callFactsOf(services, { headers: req.headers, attempts: 1 }, caller, incoming);
    const counted = { ...served, incoming, bytes, requestId, facts, cancellation: gone };
    return await countPrompt(services, counted);
  } finally {
    leave();
  }
}
