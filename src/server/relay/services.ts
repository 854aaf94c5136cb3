// The objects that the steps of a request use, built once: authentication, limits, channels, counting and billing.
import type { Context } from "#server/context.ts";
import { type AttemptLimits, DEFAULT_LIMITS } from "#server/upstream/call/attempt.ts";
import { createTokenCounter } from "#server/upstream/tokens/counter.ts";
import { createAuthenticator } from "./admission/admit.ts";
import { createCallLimits } from "./admission/call-limits.ts";
import { createRelayLimits } from "./admission/relay-limits.ts";
import { createErrorLog } from "./error-log.ts";
import { createBodyReader } from "./http/request-body.ts";
import { Queues } from "./routing/queues.ts";
import { SecondCalls } from "./routing/second-calls.ts";

/** Everything the steps of a request need. */
export type Services = ReturnType<typeof createServices>;

/** Builds them once per process; `limits` are shorter in tests. */
export function createServices(ctx: Context, limits: Partial<AttemptLimits>) {
  const { ledger, prices, options, clock, events } = ctx;
  const queues = new Queues();
  const secondCalls = new SecondCalls();
  events.measure("tollgate_relay_second_calls", () => secondCalls.made);
  ctx.gate.onLeave(() => queues.stir());
  return {
    ctx,
    authenticator: createAuthenticator(ctx),
    health: ctx.health,
    gate: ctx.gate,
    queues,
    secondCalls,
    limits: createRelayLimits(ctx),
    callLimits: createCallLimits(ctx),
    errorLog: createErrorLog(ctx),
    readBody: createBodyReader(ctx.config.memoryBytes),
    bill: {
      ledger,
      prices,
      options,
      clock,
      events,
      tokens: createTokenCounter(() => options.get("ApproximateTokenEnabled")),
    },
    upstream: {
      egress: ctx.egress,
      credentials: ctx.credentials,
      now: clock.now,
      optionText: (name: "ServerAddress" | "SystemName") => options.get(name),
      // Written out: V8 does not optimise reads of an object made by spreading, and recompiles its readers again and again.
      limits: {
        firstByteMs: limits.firstByteMs ?? DEFAULT_LIMITS.firstByteMs,
        idleMs: limits.idleMs ?? DEFAULT_LIMITS.idleMs,
        totalMs: limits.totalMs ?? ctx.config.relayTimeoutMs,
        streamMs: limits.streamMs ?? DEFAULT_LIMITS.streamMs,
      },
    },
  };
}
