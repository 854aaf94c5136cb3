// Opens a realtime conversation with one channel (vendors/realtime): plan, sign, handshake, first message. Never throws: every failure is
// a RelayFault. Later messages are not its concern.
import type { WebSocket } from "ws";
import type { Egress } from "#server/egress/dispatcher.ts";
import type { SocketResult } from "#server/egress/socket.ts";
import type { CallFacts, Plan, Rewriter, Unruled, UpstreamTarget } from "#server/upstream/call/call.ts";
import {
  type About,
  type Draft,
  type OutgoingTools,
  outgoing,
  planDraft,
} from "#server/upstream/call/outgoing.ts";
import { type OptionText, planCall } from "#server/upstream/call/plan.ts";
import type { Cancellation } from "#server/upstream/cancellation.ts";
import { networkFault, type RelayFault, retryAfterOf, statusFault } from "#server/upstream/errors/fault.ts";
import { type Canary, canaryOf } from "#server/upstream/errors/mask.ts";
import { parseObject } from "#server/upstream/handlers/classify.ts";
import { readJson } from "#server/upstream/json/values.ts";
import { faultIn, isSettings } from "./events.ts";

export interface RealtimeTools extends OutgoingTools {
  readonly egress: Pick<Egress, "connect">;
  readonly optionText: OptionText;
}

export interface RealtimeCall {
  readonly target: UpstreamTarget;
  /** Upstream name, after the model mapping. */
  readonly model: string;
  readonly apiVersion: string;
  /** Names and values in turn. */
  readonly passHeaders: readonly string[];
  readonly cancellation: Cancellation;
  /** The name the client asked for. */
  readonly originModel: string;
  /** Letters and digits unique to this conversation. */
  readonly seed: string;
  readonly facts: CallFacts;
}

/** One message, whole. */
export interface Frame {
  readonly data: Buffer;
  readonly isBinary: boolean;
}

/** An open conversation, paused. */
export interface RealtimeLine {
  readonly kind: "line";
  readonly socket: WebSocket;
  /** Messages from before a listener was added. */
  readonly first: readonly Frame[];
  /** Upstream name. */
  readonly model: string;
  /** The channel's credential, to be masked for the client. */
  readonly credentials: readonly Canary[];
  /** Strings that no caller may read in an error. */
  readonly secrets: readonly string[];
  /** A client's message as the channel's rules have it, or their refusal; undefined = it passes. Absent = it has none. */
  readonly settled?: ((data: Buffer) => Buffer | RelayFault | undefined) | undefined;
}

/** Source: requirements T2.6. */
const HANDSHAKE_MS = 10_000;
/** Servers of this protocol send the first message; one that sends none within this time is assumed to wait for the client. */
const FIRST_WORD_MS = 3_000;
/** Source: vendors/realtime. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** Connects to a channel. The conversation is open once the server's first message is no error. */
export async function openRealtime(
  tools: RealtimeTools,
  call: RealtimeCall,
): Promise<RealtimeLine | RelayFault> {
  const { target, model, apiVersion } = call;
  const key = { endpoint: "realtime", model, apiVersion, isStream: false } as const;
  const plan = planCall(target, key, tools.optionText);
  if (plan.kind === "fault") return plan;
  const ready = await outgoing(tools, target, openingDraft(plan, call.passHeaders), openingOf(call));
  if (ready.kind === "fault") return ready;
  if (call.cancellation.isCancelled) return aborted();
  const { headers } = ready;
  const opening = tools.egress.connect({
    url: ready.url.replace(/^http/, "ws"),
    headers,
    handshakeTimeoutMs: HANDSHAKE_MS,
    maxMessageBytes: MAX_MESSAGE_BYTES,
    route: plan.route,
  });
  call.cancellation.watch(opening.abort);
  const result = await opening.result;
  if (result.kind !== "open") return refusalIn(result, plan, tools.now());
  const made = ready.secrets.filter((secret) => !plan.secrets.includes(secret));
  const credentials = [...plan.credentials, ...made.map(canaryOf)];
  const secrets = [...plan.secrets, ...made];
  const { rewrite } = target;
  const settled = rewrite && ((data: Buffer) => settle(rewrite, call, data));
  const line = { kind: "line", socket: result.socket, model, credentials, secrets, settled } as const;
  return firstWord(line, call.cancellation);
}

function aborted(): RelayFault {
  return networkFault({ code: "aborted", detail: "" });
}

/** A plan's headers begin with the two headers of a body. */
function bodyHeaders({ headers }: Plan): number {
  return headers.indexOf("user-agent");
}

/** The upgrade before rules. */
export function openingDraft(plan: Plan, passHeaders: readonly string[]): Draft {
  return { ...planDraft(plan), headers: [...plan.headers.slice(bodyHeaders(plan)), ...passHeaders] };
}

function openingOf({ model, originModel, seed, facts }: RealtimeCall): About {
  return { reach: "opening", endpoint: "realtime", model, originModel, isStream: true, seed, facts };
}

/** Settings of a session as rules get them. */
export function sessionUnruled(body: Buffer): Unruled {
  return { reach: "session", body };
}

/** A client's message as the channel's rules have it: only its settings of the session are theirs. undefined = it passes unchanged. */
function settle(rules: Rewriter, call: RealtimeCall, data: Buffer): Buffer | RelayFault | undefined {
  if (!isSettings(data)) return undefined;
  const ruled = rules.apply({ ...openingOf(call), target: call.target }, sessionUnruled(data));
  if (ruled.kind === "fault") return ruled;
  return ruled.body && Buffer.from(ruled.body);
}

function refusalIn(
  result: Exclude<SocketResult, { kind: "open" }>,
  { secrets }: Plan,
  nowMs: number,
): RelayFault {
  if (result.kind === "failed") return networkFault(result);
  const { status, headers, body } = result;
  const retryAfterMs = retryAfterOf(headers["retry-after"], nowMs);
  const text = body.toString("utf8", 0, 4_096);
  return statusFault({ status, body: parseObject(body), text, retryAfterMs, secrets });
}

/** Waits for the server's first message: some servers accept every handshake and then report a wrong key. */
function firstWord(
  line: Omit<RealtimeLine, "first">,
  cancellation: Cancellation,
): Promise<RealtimeLine | RelayFault> {
  const { socket, secrets } = line;
  return new Promise((resolve) => {
    const first: Frame[] = [];
    const keep = (data: Buffer, isBinary: boolean) => {
      first.push({ data, isBinary });
      // Messages that arrived in the same piece of data are included.
      if (first.length === 1) end(isBinary ? undefined : faultSaid(data, secrets));
    };
    const onClose = (code: number) => end(networkFault({ code: "reset", detail: `closed with ${code}` }));
    const end = (fault: RelayFault | undefined) => {
      clearTimeout(timer);
      socket.off("close", onClose);
      cancellation.watch(undefined);
      socket.pause();
      queueMicrotask(() => socket.off("message", keep));
      if (fault === undefined) {
        resolve({ ...line, first });
        return;
      }
      socket.terminate();
      resolve(fault);
    };
    const timer = setTimeout(() => end(undefined), FIRST_WORD_MS);
    socket.on("message", keep);
    socket.once("close", onClose);
    cancellation.watch(() => end(aborted()));
    socket.resume();
  });
}

/** An error in the server's first message; undefined = it is none. */
function faultSaid(data: Buffer, secrets: readonly string[]): RelayFault | undefined {
  const event = readJson(data.toString());
  return event?.["type"] === "error" ? faultIn(event, secrets) : undefined;
}
