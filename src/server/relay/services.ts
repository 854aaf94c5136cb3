// What the rooms of a request work with, built once: who is let in, what is known of channels, who counts and who pays.
import { createHealth } from "#server/channels/health.ts";
import type { Context } from "#server/context.ts";
import { type AttemptLimits, DEFAULT_LIMITS } from "#server/upstream/call/attempt.ts";
import { createTokenCounter } from "#server/upstream/tokens/counter.ts";
import { createAuthenticator } from "./admission/authenticate.ts";
import { createRelayLimits } from "./admission/limits.ts";
import { createErrorLog } from "./error-log.ts";
import { createBodyReader } from "./http/request-body.ts";

/** Everything the rooms of a request need. */
export type Services = ReturnType<typeof createServices>;

/** Builds them once per process; `limits` are shorter in tests. */
export function createServices(ctx: Context, limits: Partial<AttemptLimits>) {
  const { ledger, prices, options, clock, events } = ctx;
  return {
    ctx,
    authenticator: createAuthenticator(ctx),
    health: createHealth(ctx),
    limits: createRelayLimits(ctx),
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
      // Written out: of an object made by spreading V8 keeps no note of what is read, and compiles its readers anew without end.
      limits: {
        firstByteMs: limits.firstByteMs ?? DEFAULT_LIMITS.firstByteMs,
        idleMs: limits.idleMs ?? DEFAULT_LIMITS.idleMs,
        totalMs: limits.totalMs ?? ctx.config.relayTimeoutMs,
        streamMs: limits.streamMs ?? DEFAULT_LIMITS.streamMs,
      },
    },
  };
}
