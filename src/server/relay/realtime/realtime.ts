// Realtime conversations (vendors/realtime): an upgrade is taken, the caller admitted, the first response reserved, a channel selected
// that answers, and then two sockets talk. A client gets a refusal as an error event, as it would from the vendor.
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { parseCredential } from "#server/accounts/actors.ts";
import type { LimitRef } from "#server/money/rows.ts";
import type { Caller } from "#server/relay/admission/admit.ts";
import type { Admission } from "#server/relay/admission/call-limits.ts";
import { priceOf } from "#server/relay/billing/account.ts";
import { faultOf, tellDone } from "#server/relay/finish.ts";
import { realtimeError } from "#server/relay/http/error-format.ts";
import type { RelayRequest, UpgradeRequest } from "#server/relay/http/exchange.ts";
import { isOfLimit } from "#server/relay/http/limit-errors.ts";
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import { addressOf, offersOf, splitUrl } from "#server/relay/http/routes.ts";
import { refuseUpgrade } from "#server/relay/http/upgrade.ts";
import { countCall } from "#server/relay/pass-limits.ts";
import { countAgainst, report } from "#server/relay/routing/failed-calls.ts";
import { callFactsOf, eachChannel, type Progress, trailOf } from "#server/relay/routing/failover.ts";
import { inEachGroup } from "#server/relay/routing/groups.ts";
import { findCandidates } from "#server/relay/routing/next-channel.ts";
import { upstreamWords } from "#server/relay/routing/upstream-words.ts";
import type { Services } from "#server/relay/services.ts";
import { upgradeHeaders } from "#server/relay/tell-limits.ts";
import { Cancellation } from "#server/upstream/cancellation.ts";
import { isAborted, type RelayFault } from "#server/upstream/errors/fault.ts";
import { MAX_MESSAGE_BYTES, openRealtime, type RealtimeLine } from "#server/upstream/realtime/connect.ts";
import type { TokenUsage } from "#server/upstream/usage.ts";
import { RealtimeBill } from "./account.ts";
import { CLOSE, RealtimeSession, type SocketTimes, shut } from "./session.ts";

const NO_BYTES = Buffer.alloc(0);

export interface Realtime {
  /** Takes an upgrade to a conversation. */
  take(req: UpgradeRequest, socket: Duplex, head: Buffer, requestId: string): Promise<void>;
  /** Ends all conversations with an error and 1001. Resolves when they are booked. */
  cut(): Promise<void>;
}

/** A key in the list of protocols: browsers can send no headers (requirements T3.2). */
const KEY_PROTOCOL = "openai-insecure-api-key.";
const BETA_PROTOCOL = "openai-beta.realtime-v1";
/** One conversation, from its handshake to its last booking. */
interface Conversation extends Progress {
  readonly client: WebSocket;
  readonly cancellation: Cancellation;
  session: RealtimeSession | undefined;
  caller: Caller | undefined;
  bill: RealtimeBill | undefined;
  /** Why it did not come about. */
  fault: RelayFault | undefined;
  /** Why we ended it before both sides could talk; undefined = we did not. */
  cutBy: RelayFault | undefined;
  /** Ends the conversation in the caller's limits. */
  freeSlot: (isRefused?: boolean) => void;
  /** What it took of the limits of a group; undefined = there are none. */
  admission: Admission | undefined;
  model: string;
}

export function createRealtime(services: Services, times: SocketTimes): Realtime {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
    handleProtocols: (offered) => (offered.has("realtime") ? "realtime" : false),
  });
  const running = new Map<Conversation, Promise<void>>();
  services.ctx.events.measure("tollgate_realtime_running", () => running.size);
  const lines = new WeakMap<UpgradeRequest, readonly string[]>();
  const arriving = new Set<Arrival>();
  server.on("headers", (headers, req) => headers.push(...(lines.get(req) ?? [])));
  const begin = (client: WebSocket, arrival: Arrival) => {
    // Nothing is read before there is a listener.
    client.pause();
    const talk = newConversation(client, arrival.requestId, services.ctx.clock.now());
    const done = converse(services, arrival, talk, times)
      .catch((error: unknown) => services.ctx.events.backgroundFailed({ task: "realtime", error }))
      .finally(() => running.delete(talk));
    running.set(talk, done);
  };
  return {
    async take(req, socket, head, requestId) {
      const arrival = arrivalOf(services, req, requestId);
      arriving.add(arrival);
      const told = await arrival.caller.then(
        (caller) => upgradeHeaders(services, { caller, model: askedModel(req.url ?? "") }),
        // It is told by an event, as the vendor does.
        () => [],
      );
      lines.set(req, [`x-oneapi-request-id: ${requestId}`, ...told]);
      if (arriving.delete(arrival))
        server.handleUpgrade(req, socket, head, (client) => begin(client, arrival));
      else refuseUpgrade(socket, requestId, localErrors.serverStopping());
    },
    async cut() {
      arriving.clear();
      for (const talk of running.keys()) stop(talk);
      await Promise.all(running.values());
    },
  };
}

/** Who comes: known, or refused, before the upgrade is answered. */
interface Arrival {
  readonly req: RelayRequest;
  readonly requestId: string;
  readonly protocols: readonly string[];
  readonly address: string;
  readonly caller: Promise<Caller>;
}

function arrivalOf({ ctx, authenticator }: Services, req: RelayRequest, requestId: string): Arrival {
  const protocols = (req.headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
  const address = addressOf(req, ctx.config.trustedProxies);
  const offers = [...offersOf(req, splitUrl(req.url ?? "").key), ...keysIn(protocols)];
  // A caller that is known already is no promise; what throws is one as well.
  const caller = Promise.resolve().then(() => authenticator.authenticate(offers, address));
  return { req, requestId, protocols, address, caller };
}

function nothing(): void {
  // Nothing was taken yet.
}

function newConversation(client: WebSocket, requestId: string, startedMs: number): Conversation {
  const cancellation = new Cancellation();
  client.on("close", () => cancellation.cancel());
  client.on("error", () => undefined);
  return {
    client,
    cancellation,
    requestId,
    startedMs,
    channel: undefined,
    entry: undefined,
    run: undefined,
    attempts: 0,
    failedAttempts: [],
    next: undefined,
    decidedBefore: "",
    session: undefined,
    caller: undefined,
    bill: undefined,
    fault: undefined,
    cutBy: undefined,
    freeSlot: nothing,
    admission: undefined,
    model: "",
  };
}

/** Ends a conversation, at any stage, because the process ends. */
function stop(talk: Conversation): void {
  const { session, client, cancellation, requestId } = talk;
  const fault = localErrors.serverStopping();
  if (session !== undefined) {
    session.end(fault, CLOSE.goingAway);
    return;
  }
  talk.cutBy = fault;
  client.send(realtimeError(fault, requestId));
  shut(client, CLOSE.goingAway, String(fault.code));
  cancellation.cancel();
}

async function converse(
  services: Services,
  arrival: Arrival,
  talk: Conversation,
  times: SocketTimes,
): Promise<void> {
  const { client, requestId } = talk;
  try {
    const { line, bill } = await connect(services, arrival, talk);
    const onFailure = (fault: RelayFault) => noteFailure(services, talk, fault);
    const session = new RealtimeSession({ client, line, bill, requestId, times, onFailure });
    talk.session = session;
    await session.run();
    tell(services, talk, session.fault);
  } catch (error) {
    const fault = talk.cutBy ?? faultOf(error);
    if (talk.session === undefined) talk.fault = fault;
    const hasLeft = talk.cutBy === undefined && talk.cancellation.isCancelled;
    if (client.readyState === client.OPEN) client.send(realtimeError(fault, requestId));
    shut(client, fault.status < 500 ? CLOSE.policy : CLOSE.internal, String(fault.code));
    await talk.bill?.close();
    tell(services, talk, fault);
    if (!hasLeft) note(services, talk, fault);
  } finally {
    talk.freeSlot(talk.fault !== undefined && isOfLimit(talk.fault));
    const { promptTokens = 0, completionTokens = 0 } = talk.bill?.total ?? {};
    talk.entry?.leave(promptTokens + completionTokens);
    talk.run?.end(0);
  }
}

/** Everything up to the moment when both sides can talk. Throws: LocalError. */
async function connect(
  services: Services,
  { req, protocols, address, caller: arriving }: Arrival,
  talk: Conversation,
): Promise<{ readonly line: RealtimeLine; readonly bill: RealtimeBill }> {
  const caller = await arriving;
  const model = modelIn(req.url ?? "");
  const slot = await services.limits.begin(caller, address, undefined);
  const { apiVersion } = splitUrl(req.url ?? "");
  Object.assign(talk, { caller, model, freeSlot: slot });
  const { headers } = req;
  const asking = { model, address, apiVersion, headers, passHeaders: betaOf(req, protocols) };
  return inEachGroup(talk, caller, model, {
    serve: (member, mayMoveOn) => connectIn(services, talk, { ...asking, caller: member, mayMoveOn }),
    async leave() {
      await talk.bill?.close();
      talk.freeSlot = slot;
      talk.admission?.undo();
      Object.assign(talk, { bill: undefined, admission: undefined });
    },
  });
}

interface AskedTalk {
  readonly caller: Caller;
  readonly mayMoveOn: boolean;
  readonly model: string;
  readonly address: string;
  readonly apiVersion: string;
  readonly headers: RelayRequest["headers"];
  readonly passHeaders: readonly string[];
}

/** Of tokens it asks for the least there is: where something is owed even that has no room. */
const LEAST = { input: 1, cap: undefined, output: 1 } as const;

/**
 * The same in one group: its limits, its price, its channels. A conversation is one call to limits of calls. Of tokens per minute it takes
 * what each response has used: what is owed then delays other calls and the next conversation, not this one. Throws: LocalError.
 */
async function connectIn(
  services: Services,
  talk: Conversation,
  { caller, mayMoveOn, model, address, apiVersion, headers, passHeaders }: AskedTalk,
): Promise<{ readonly line: RealtimeLine; readonly bill: RealtimeBill }> {
  const { bill: tools, upstream } = services;
  const { cancellation } = talk;
  talk.caller = caller;
  const counted = { caller, model, address, ...LEAST };
  const admission = caller.limits.length > 0 ? await countCall(services, talk, counted) : undefined;
  talk.admission = admission;
  const candidates = await findCandidates(services.ctx, caller, { model });
  const price = priceOf(tools, { model }, caller, candidates);
  const onUsed = admission && { onUsed: (used: TokenUsage) => admission.spend(used) };
  const bill = new RealtimeBill(tools, { caller, model, ...onUsed }, price);
  talk.bill = bill;
  await bill.reserve();
  // Nothing was sent yet.
  const wordsOf = (fault: RelayFault) => upstreamWords(fault, { model, bytes: NO_BYTES });
  const demand = { tokens: () => 0, hold: (refs: readonly LimitRef[]) => bill.holdFor(refs) };
  const search = { caller, model, candidates, isStream: true, mayMoveOn, cancellation, demand, wordsOf };
  const line = await eachChannel<RealtimeLine>(services, talk, search, (channel) => {
    const fault = bill.priceFor(channel);
    if (fault !== undefined) return Promise.resolve(fault);
    const { requestId: seed, attempts } = talk;
    return openRealtime(upstream, {
      target: channel,
      model: channel.mapping.get(model) ?? model,
      originModel: model,
      ...{ apiVersion, passHeaders, cancellation, seed },
      facts: callFactsOf(services, { headers, attempts }, caller, undefined),
    });
  });
  bill.trail = trailOf(talk);
  return { line, bill };
}

/** A failure of the channel within a conversation counts against it like a failed call: the next conversation goes elsewhere. */
function noteFailure(
  services: Services,
  { channel, model, requestId }: Conversation,
  fault: RelayFault,
): void {
  if (channel === undefined || fault.blame === "none") return;
  const permit = services.health.calling(channel.id, model);
  countAgainst(services, channel, { model, fault, permit });
  report(services, requestId, { channel, fault, willRetry: false });
}

/** Keys in the list of protocols. */
function keysIn(protocols: readonly string[]): string[] {
  return protocols
    .filter((name) => name.startsWith(KEY_PROTOCOL))
    .map((name) => name.slice(KEY_PROTOCOL.length))
    .filter((offer) => parseCredential(offer).key !== "");
}

/** Throws: LocalError. */
function modelIn(url: string): string {
  const model = askedModel(url);
  if (model === "") throw new LocalError(localErrors.fieldMissing("model"));
  return model;
}

/** "" = none is named. */
function askedModel(url: string): string {
  const at = url.indexOf("?");
  const query = new URLSearchParams(at < 0 ? "" : url.slice(at));
  // Azure's clients call it deployment.
  return query.get("model") ?? query.get("deployment") ?? "";
}

/** The interface's version as the client named it, in a header or among the protocols. */
function betaOf({ headers }: RelayRequest, protocols: readonly string[]): readonly string[] {
  const named = headers["openai-beta"];
  if (typeof named === "string") return ["openai-beta", named];
  return protocols.includes(BETA_PROTOCOL) ? ["openai-beta", "realtime=v1"] : [];
}

/** A conversation that never began has an entry in the log, as a failed call has. */
function note({ errorLog }: Services, talk: Conversation, fault: RelayFault): void {
  const { caller, session } = talk;
  if (caller === undefined || session !== undefined) return;
  errorLog.note({ ...talk, caller, fault, status: fault.status, isStream: true });
}

/** One line for the operator, at the end. */
function tell({ ctx }: Services, talk: Conversation, fault: RealtimeSession["fault"]): void {
  const { bill, model } = talk;
  const ended = fault !== undefined && isAborted(fault) ? "client_gone" : undefined;
  const booked = bill && { usage: bill.total, charged: bill.total.charged };
  const told = { ...talk, fault, endpoint: "realtime", incoming: { model, isStream: true }, booked };
  tellDone(ctx, told, fault?.status ?? 101, ended);
}
