// One call to one channel: plan, prepare, sign, send, judge. The channel test and the relay both use this code. It knows no user, no
// money and no database. It never throws: every failure is a RelayFault.
import type { EndpointName } from "#contract/provider.ts";
import type { Egress } from "#server/egress/dispatcher.ts";
import { type EgressRequest, FaultError } from "#server/egress/send.ts";
import type { Cancellation } from "#server/upstream/cancellation.ts";
import {
  isPathAbsent,
  networkFault,
  type RelayFault,
  unmappableFault,
} from "#server/upstream/errors/fault.ts";
import { canaryOf } from "#server/upstream/errors/mask.ts";
import { Unmappable } from "#server/upstream/hub/request.ts";
import { isFault, type Signed } from "#server/upstream/signers/signer.ts";
import type { TokenCache } from "#server/upstream/signers/token-cache.ts";
import { priceFields, withoutFields } from "./body.ts";
import type {
  Call,
  CallTimes,
  Outcome,
  Plan,
  Prepared,
  PrepareTools,
  Result,
  Ruled,
  Unruled,
} from "./call.ts";
import { beyond, forgetAbsence, noteAbsence, type OptionText, planCall, unsupported } from "./plan.ts";
import { Receiver } from "./receive.ts";

/** Time limits of a call. Unit: ms; 0 = none. */
export interface AttemptLimits {
  /** Until the response headers, and until the first event, when a stream is asked for. */
  readonly firstByteMs: number;
  /** Between two pieces of the body. */
  readonly idleMs: number;
  /** A call that is no stream, as a whole (RELAY_TIMEOUT). */
  readonly totalMs: number;
  /** A stream, as a whole. */
  readonly streamMs: number;
}

/** Source: requirements R08. */
export const DEFAULT_LIMITS = { firstByteMs: 120_000, idleMs: 90_000, streamMs: 30 * 60_000 } as const;

export interface AttemptTools {
  readonly egress: Pick<Egress, "send">;
  /** Credentials that are exchanged for a key and expire. */
  readonly credentials: TokenCache;
  readonly now: () => number;
  readonly optionText: OptionText;
  readonly limits: AttemptLimits;
  /** Between two polls of an unfinished upstream task. Absent = 2 s. Unit: ms. */
  readonly askAgainMs?: number;
}

/** Calls a channel. Resolves with a whole reply, with a stream after its first event, or with a fault. */
export function attempt(tools: AttemptTools, asked: Call): Promise<Result> {
  const { target, model, cancellation } = asked;
  const other = beyond(asked);
  const plan = planCall(target, other === undefined ? asked : { ...asked, ...other }, tools.optionText);
  if (plan.kind === "fault") return Promise.resolve(plan);
  if (cancellation.isCancelled) return Promise.resolve(ended(cancellation));
  const call = plan.target.model === model ? asked : { ...asked, model: plan.target.model };
  const result = perform(tools, call, plan);
  const { beside } = plan;
  if (asked.isCompact === true) return result.then((made) => (isAbsence(made) ? unsupported() : made));
  return beside === undefined || asked.isPinned === true
    ? result
    : result.then((first) => elseItsOwn(tools, asked, beside, first));
}

/** A channel that turns out to lack an additional format is called in its wire's own format, now and in later calls. */
async function elseItsOwn(
  tools: AttemptTools,
  asked: Call,
  beside: EndpointName,
  first: Result,
): Promise<Result> {
  if (!isAbsence(first)) return first;
  const { target, trace } = asked;
  noteAbsence(target, beside);
  trace.firstByteMs = 0;
  const second = await attempt(tools, asked);
  if (isAbsence(second)) forgetAbsence(target, beside);
  return second;
}

/** Whether the upstream has no such path. */
function isAbsence(result: Result): boolean {
  return result.kind === "fault" && isPathAbsent(result);
}

function perform(tools: AttemptTools, call: Call, shared: Plan): Promise<Result> {
  // A credential made for this call is added to the secrets, and the response handler holds the same array (requirements R18).
  const plan = shared.signer === undefined ? shared : { ...shared, secrets: [...shared.secrets] };
  const prepared = prepareRuled(tools, call, plan);
  if (prepared instanceof Promise) {
    return unlessEnded(prepared, call).then((late) =>
      late.kind === "fault" ? late : deliver(tools, call, plan, late),
    );
  }
  return prepared.kind === "fault" ? Promise.resolve(prepared) : deliver(tools, call, plan, prepared);
}

/** The fault of a cancelled call: its client left, or its time limit passed. */
function ended({ isExpired }: Cancellation): RelayFault {
  return networkFault(
    isExpired ? { code: "timeout", detail: "total time limit" } : { code: "aborted", detail: "" },
  );
}

/** Waits for a preparation, which cannot be stopped, until the call is cancelled. */
function unlessEnded<Ready>(ready: Promise<Ready>, { cancellation }: Call): Promise<Ready | RelayFault> {
  return new Promise((resolve, reject) => {
    cancellation.watch(() => resolve(ended(cancellation)));
    ready.then(resolve, reject);
  });
}

const UNSIGNED: Signed = { headers: [] };

function deliver(tools: AttemptTools, call: Call, plan: Plan, prepared: Prepared): Promise<Result> {
  if (plan.way.mayBeTask === true) return drawAndWait(tools, call, plan, prepared);
  return ask(tools, call, plan, prepared);
}

/** Source: vendors/dashscope-images. */
const ASK_AGAIN_MS = 2_000;
const MOST_QUESTIONS = 60;

/** An image may be an asynchronous task at the upstream: it is polled until it is done. */
async function drawAndWait(tools: AttemptTools, call: Call, plan: Plan, prepared: Prepared): Promise<Result> {
  let result = await ask(tools, call, plan, prepared);
  for (let round = 0; round < MOST_QUESTIONS; round += 1) {
    if (result.kind !== "whole" || result.next === undefined) return result;
    await pause(tools.askAgainMs ?? ASK_AGAIN_MS, call);
    if (call.cancellation.isCancelled) return ended(call.cancellation);
    result = await send(tools, call, { plan, prepared, signed: UNSIGNED, next: new URL(result.next) });
  }
  return networkFault({ code: "timeout", detail: "the task was not done in time" });
}

/** Resolves after this time, or when the call is cancelled. */
function pause(ms: number, { cancellation, trace }: Call): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    cancellation.watch(() => {
      trace.isSent = true;
      clearTimeout(timer);
      resolve();
    });
  });
}

function ask(tools: AttemptTools, call: Call, plan: Plan, prepared: Prepared): Promise<Result> {
  if (plan.signer === undefined) return send(tools, call, { plan, prepared, signed: UNSIGNED });
  return signAndSend(tools, call, plan, prepared);
}

/** Sends with a credential made for this call; repeats once when an exchanged credential turns out to be stale (requirements T2.3). */
async function signAndSend(tools: AttemptTools, call: Call, plan: Plan, prepared: Prepared): Promise<Result> {
  const { signer } = plan;
  if (signer === undefined) throw new Error("planned without a signer");
  const signTools = { tokens: tools.credentials, route: plan.route };
  for (let round = 1; ; round += 1) {
    const { key, other } = call.target;
    const signing = signer.sign(
      key,
      { method: methodOf(plan), url: plan.url, body: prepared.bytes, nowMs: tools.now(), other },
      signTools,
    );
    const signed = signing instanceof Promise ? await unlessEnded(signing, call) : signing;
    if (isFault(signed)) return signed;
    plan.secrets.push(...(signed.secrets ?? NO_SECRETS));
    if (call.cancellation.isCancelled) return ended(call.cancellation);
    const result = await send(tools, call, { plan, prepared, signed });
    const isStale = result.kind === "fault" && result.upstreamStatus === 401;
    if (!isStale || round > 1 || signer.forget?.(signed, signTools) !== true) return result;
  }
}

/** A WebSocket begins with a GET. */
function methodOf({ origin }: Plan): "GET" | "POST" {
  return origin.startsWith("ws") ? "GET" : "POST";
}

/** A call as it is sent. */
interface SignedCall {
  readonly plan: Plan;
  readonly prepared: Prepared;
  readonly signed: Signed;
  /** The URL to poll for a task that an earlier call started. */
  readonly next?: URL;
}

function send(tools: AttemptTools, call: Call, signedCall: SignedCall): Promise<Result> {
  const { plan, prepared, signed } = signedCall;
  const { isStream, cancellation, trace } = call;
  const limits = limitsFor(tools.limits, call.target.times);
  const { firstByteMs, totalMs, streamMs } = limits;
  const { handler, dropped } = prepared;
  const made = signed.secrets ?? NO_SECRETS;
  return new Promise((resolve) => {
    let isOver = false;
    const receiver = new Receiver({
      handler,
      dropped,
      secrets: plan.secrets,
      credentials: made.length === 0 ? plan.credentials : [...plan.credentials, ...made.map(canaryOf)],
      isStream,
      totalMs,
      firstEventMs: isStream ? firstByteMs : totalMs,
      streamMs: isStream ? streamMs : totalMs,
      now: tools.now,
      trace,
      deliver(result) {
        isOver = true;
        resolve(result);
      },
    });
    const flow = tools.egress.send(requestOf(limits, call, signedCall), receiver);
    receiver.attach(flow);
    watchTime(receiver, isStream ? limits : { ...limits, firstByteMs: 0 }, call.target.times);
    cancellation.watch(() => {
      // This call has its result. A client that leaves while the next channel is prepared has no call on the wire (requirements M13).
      if (isOver) return;
      trace.isSent = flow.isSent;
      receiver.abort();
      resolve(ended(cancellation));
    });
  });
}

const NO_SECRETS: readonly string[] = [];

/** An upstream's own limits are short, and kept to the moment; those of all are looked at when something comes, or by the connection. */
export function watchTime(
  receiver: Receiver,
  { firstByteMs, totalMs, streamMs }: AttemptLimits,
  own: CallTimes | undefined,
): void {
  if (own === undefined) return;
  for (const ms of new Set([firstByteMs, totalMs, streamMs]))
    if (ms > 0) setTimeout(() => receiver.checkTime(), ms + 2).unref();
}

/** The limits of a call: its upstream's own where it has some (requirements C41). */
export function limitsFor(limits: AttemptLimits, times: CallTimes | undefined): AttemptLimits {
  if (times === undefined) return limits;
  return {
    firstByteMs: times.firstByteMs || limits.firstByteMs,
    idleMs: times.idleMs || limits.idleMs,
    totalMs: times.totalMs || limits.totalMs,
    streamMs: times.totalMs || limits.streamMs,
  };
}

function requestOf(
  { firstByteMs, idleMs, totalMs }: AttemptLimits,
  { isStream, seed }: Call,
  { plan, prepared, signed, next }: SignedCall,
): EgressRequest {
  const url = next ?? (signed.url === undefined ? undefined : new URL(signed.url));
  return {
    method: next === undefined ? "POST" : "GET",
    origin: url?.origin ?? plan.origin,
    path: url === undefined ? plan.path : url.pathname + url.search,
    headers: headersOf(plan, prepared, signed),
    body: next === undefined ? prepared.bytes : undefined,
    headersTimeoutMs: isStream ? firstByteMs : totalMs,
    idleTimeoutMs: idleMs,
    route: plan.route,
    id: seed,
  };
}

/** The headers that go out. */
export function headersOf(plan: Plan, prepared: Prepared, signed: Signed): string[] {
  const headers = ownHeaders(plan, prepared, signed);
  return prepared.rehead === undefined ? headers : prepared.rehead(headers);
}

/** The plan's headers and those of the call, with another content type where the body is no JSON. */
function ownHeaders({ headers }: Plan, { headers: own, contentType }: Prepared, signed: Signed): string[] {
  if (own.length + signed.headers.length === 0 && contentType === undefined) return headers;
  const shared =
    contentType === undefined
      ? headers
      : headers.map((text, index) => (headers[index - 1] === "content-type" ? contentType : text));
  return [...shared, ...own, ...signed.headers];
}

/** Prepares a call as it is sent: with the channel's rules. */
export function prepareRuled(tools: PrepareTools, call: Call, plan: Plan): Outcome | Promise<Outcome> {
  const prepared = prepare(tools, call, plan);
  const { rewrite } = call.target;
  if (rewrite === undefined) return prepared;
  const rule = (made: Outcome) =>
    made.kind === "fault" ? made : withRules(made, rewrite.apply(call, unruled(call, plan, made)));
  return prepared instanceof Promise ? prepared.then(rule) : rule(prepared);
}

/** A call as rules get it. */
export function unruled(call: Call, plan: Plan, { bytes, contentType }: Prepared): Unruled {
  return {
    reach: "request",
    body: contentType === undefined ? bytes : undefined,
    format: plan.way.name === "native" ? call.endpoint : plan.dialect.native,
  };
}

/** A call as rules leave it. */
export function withRules(prepared: Prepared, ruled: Ruled | RelayFault): Outcome {
  if (ruled.kind === "fault") return ruled;
  const { body: bytes = prepared.bytes, rehead } = ruled;
  return { ...prepared, bytes, ...(rehead !== undefined && { rehead }) };
}

/** Prepares a call. A promise only where media have to be fetched first. */
export function prepare(tools: PrepareTools, call: Call, plan: Plan): Outcome | Promise<Outcome> {
  try {
    const { body, endpoint } = call;
    const dear = priceFields(body, endpoint, plan.quirks?.priceFields);
    const cheap = dear.length === 0 ? call : { ...call, body: withoutFields(body, dear) };
    const prepared = plan.way.prepare(tools, cheap, plan);
    return prepared instanceof Promise
      ? prepared.then((late) => telling(late, dear)).catch(faultOf)
      : telling(prepared, dear);
  } catch (error) {
    return faultOf(error);
  }
}

function telling(outcome: Outcome, names: readonly string[]): Outcome {
  if (names.length === 0) return outcome;
  return outcome.kind === "fault" ? outcome : { ...outcome, dropped: [...names, ...outcome.dropped] };
}

function faultOf(error: unknown): RelayFault {
  if (error instanceof Unmappable) return unmappableFault(error.what, error.reason);
  // Strings in a body may hold JSON too deep to serialize: that is an error of the client's request, not ours (requirements R05).
  if (error instanceof RangeError) return unmappableFault("messages", "内容嵌套过深");
  if (error instanceof FaultError) return networkFault(error.fault);
  throw error;
}
