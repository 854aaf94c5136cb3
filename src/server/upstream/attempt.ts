// One call to one channel: plan, encode, sign, send, judge. The channel test and the relay use the very same code. It knows no user,
// no money and no database, and it never throws: what goes wrong is a RelayFault.
import type { EndpointName } from "#contract/providers.ts";
import type { Egress } from "#server/egress/dispatcher.ts";
import { type ClientBody, encodeBody, wantsUsage } from "./body.ts";
import { networkFault, type RelayFault } from "./fault.ts";
import type { Cancellation } from "./hub.ts";
import { type OptionText, planCall, type UpstreamTarget } from "./plan.ts";
import { Receiver, type StreamReply, type Trace, type WholeReply } from "./reply.ts";

/** Time limits of a call. Unit: ms; 0 = none. */
export interface AttemptLimits {
  /** Until the response headers, when a stream is asked for. */
  readonly firstByteMs: number;
  /** Between two pieces of the body. */
  readonly idleMs: number;
  /** A call that is no stream, as a whole (RELAY_TIMEOUT). */
  readonly totalMs: number;
}

/** Source: reliability R08. */
export const DEFAULT_LIMITS = { firstByteMs: 120_000, idleMs: 90_000 } as const;

export interface AttemptTools {
  readonly egress: Pick<Egress, "send">;
  readonly now: () => number;
  readonly optionText: OptionText;
  readonly limits: AttemptLimits;
}

export interface Call {
  readonly target: UpstreamTarget;
  readonly endpoint: EndpointName;
  readonly body: ClientBody;
  /** Upstream name, after the model mapping. */
  readonly model: string;
  readonly isStream: boolean;
  readonly apiVersion: string;
  readonly cancellation: Cancellation;
  readonly trace: Trace;
}

/** Endpoints whose streams tell usage only when asked (providers 4.5). */
const ASKS_USAGE: ReadonlySet<EndpointName> = new Set(["chat", "completions"]);

/** Calls a channel. Resolves when a whole reply has come, or a stream's first event, or when it is clear that neither will. */
export function attempt(tools: AttemptTools, call: Call): Promise<WholeReply | StreamReply | RelayFault> {
  const { target, endpoint, model, apiVersion, body, isStream, cancellation } = call;
  const plan = planCall(target, { endpoint, model, apiVersion }, tools.optionText);
  if (plan.kind === "fault") return Promise.resolve(plan);
  if (cancellation.isCancelled) return Promise.resolve(networkFault({ code: "aborted", detail: "" }));
  const canAsk = isStream && ASKS_USAGE.has(endpoint);
  const bytes = encodeBody(body, {
    model,
    asksUsage: canAsk && plan.takesStreamOptions,
    dropsStreamOptions: !plan.takesStreamOptions,
    edits: plan.edits,
    toolIdLength: plan.quirks?.toolIdLength,
  });
  const { firstByteMs, idleMs, totalMs } = tools.limits;
  return new Promise((resolve) => {
    const receiver = new Receiver({
      endpoint,
      quirks: plan.quirks,
      secrets: plan.secrets,
      credentials: plan.credentials,
      isStream,
      hidesUsage: isStream && !wantsUsage(body),
      totalMs,
      now: tools.now,
      trace: call.trace,
      settle: resolve,
    });
    const flow = tools.egress.send(
      {
        method: "POST",
        origin: plan.origin,
        path: plan.path,
        headers: isStream ? plan.streamHeaders : plan.headers,
        body: bytes,
        headersTimeoutMs: isStream ? firstByteMs : totalMs,
        idleTimeoutMs: idleMs,
        loopbackPort: plan.loopbackPort,
      },
      receiver,
    );
    receiver.attach(flow);
    cancellation.watch(() => {
      call.trace.isSent = flow.isSent;
      receiver.abort();
      resolve(networkFault({ code: "aborted", detail: "" }));
    });
  });
}
