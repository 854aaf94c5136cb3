// How many calls tokens and users may begin in a minute and have running at once (reliability L06, R25). Counted in this process
// alone: looking anything up elsewhere would cost more than most calls. Off unless the operator sets a limit.
import type { Clock } from "#server/clock.ts";
import { Marks, takeTurn } from "#server/coord/marks.ts";
import type { Events } from "#server/events.ts";
import type { Options } from "#server/options.ts";
import type { Caller } from "./admit.ts";
import { Refusal, refusals } from "./refusal.ts";

export interface RelayLimits {
  /** Lets a call begin; the caller of this says when it is over. Throws: Refusal 429. */
  begin(caller: Pick<Caller, "tokenId" | "userId">, address: string): () => void;
}

const MINUTE_MS = 60_000;

function nothing(): void {
  // No limit of running calls is set: there is nothing to give back.
}

export function createRelayLimits(parts: {
  readonly options: Pick<Options, "get">;
  readonly clock: Clock;
  readonly events: Pick<Events, "rateLimited">;
}): RelayLimits {
  const { options, clock, events } = parts;
  const begun = new Marks();
  const running = new Map<string, number>();

  /** Throws: when a name has begun too many calls in the last minute. */
  function count(name: string, limit: number, address: string): void {
    if (limit === 0) return;
    const waitMs = takeTurn(begun, name, { windowMs: MINUTE_MS, limit, nowMs: clock.now() });
    if (waitMs === 0) return;
    events.rateLimited({ limit: "relay_rate", address });
    throw new Refusal(refusals.tooMany(waitMs));
  }

  function refuseFull(name: string, limit: number, address: string): void {
    if (limit === 0 || (running.get(name) ?? 0) < limit) return;
    events.rateLimited({ limit: "relay_running", address });
    throw new Refusal(refusals.tooManyAtOnce());
  }

  function add(name: string, change: 1 | -1): void {
    const left = (running.get(name) ?? 0) + change;
    if (left > 0) running.set(name, left);
    else running.delete(name);
  }

  return {
    begin({ tokenId, userId }, address) {
      const [token, user] = [`token ${tokenId}`, `user ${userId}`];
      const tokenRunning = options.get("TokenConcurrency");
      const userRunning = options.get("UserConcurrency");
      // Who is full does not use up what he may begin.
      refuseFull(token, tokenRunning, address);
      refuseFull(user, userRunning, address);
      count(token, options.get("TokenRequestsPerMinute"), address);
      count(user, options.get("UserRequestsPerMinute"), address);
      if (tokenRunning === 0 && userRunning === 0) return nothing;
      add(token, 1);
      add(user, 1);
      return () => {
        add(token, -1);
        add(user, -1);
      };
    },
  };
}
