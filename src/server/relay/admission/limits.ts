// How many calls tokens and users may begin in a minute and have running at once (reliability L06, R25): counted over all nodes,
// which costs a question to PostgreSQL where there are several, and none with SQLite. Off unless the operator sets a limit.
import type { Coord } from "#server/coord/coord.ts";
import type { Events } from "#server/events.ts";
import type { Options } from "#server/options.ts";
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import type { Caller } from "./authenticate.ts";

export interface RelayLimits {
  /** Lets a call begin; the caller of this says when it is over. Throws: LocalError 429. */
  begin(caller: Pick<Caller, "tokenId" | "userId">, address: string): Leave | Promise<Leave>;
}

type Leave = () => void;

/** Whom a limit is for, and what it is; 0 = none. */
interface Limit {
  readonly name: string;
  readonly most: number;
}

const MINUTE_MS = 60_000;

function nothing(): void {
  // No limit of running calls is set: there is nothing to give back.
}

export function createRelayLimits(parts: {
  readonly options: Pick<Options, "get">;
  readonly coord: Pick<Coord, "count" | "hold">;
  readonly events: Pick<Events, "rateLimited">;
}): RelayLimits {
  const { options, coord, events } = parts;

  /** Throws: when a name has begun too many calls in the last minute. */
  async function count({ name, most }: Limit, address: string): Promise<void> {
    if (most === 0) return;
    const { allowed, retryAfterMs } = await coord.count(`relay ${name}`, MINUTE_MS, most);
    if (allowed) return;
    events.rateLimited({ limit: "relay_rate", address });
    throw new LocalError(localErrors.tooMany(retryAfterMs));
  }

  /** Throws: when too many calls of a name are running. */
  async function hold({ name, most }: Limit, address: string): Promise<Leave> {
    if (most === 0) return nothing;
    const leave = await coord.hold(`relay ${name}`, most);
    if (leave !== undefined) return leave;
    events.rateLimited({ limit: "relay_running", address });
    throw new LocalError(localErrors.tooManyAtOnce());
  }

  async function enter(running: readonly Limit[], begun: readonly Limit[], address: string): Promise<Leave> {
    const places = await Promise.allSettled(running.map((limit) => hold(limit, address)));
    const leave = () => {
      for (const place of places) if (place.status === "fulfilled") place.value();
    };
    try {
      // Who is full does not use up what he may begin.
      for (const place of places) if (place.status === "rejected") throw place.reason;
      for (const limit of begun) await count(limit, address);
      return leave;
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Nearly nobody sets one. */
  function isUnlimited(): boolean {
    return (
      options.get("TokenConcurrency") === 0 &&
      options.get("UserConcurrency") === 0 &&
      options.get("TokenRequestsPerMinute") === 0 &&
      options.get("UserRequestsPerMinute") === 0
    );
  }

  return {
    begin(caller, address) {
      if (isUnlimited()) return nothing;
      const { tokenId, userId } = caller;
      const atOnce = { token: options.get("TokenConcurrency"), user: options.get("UserConcurrency") };
      const perMinute = {
        token: options.get("TokenRequestsPerMinute"),
        user: options.get("UserRequestsPerMinute"),
      };
      const both = (most: typeof atOnce) => [
        { name: `token ${tokenId}`, most: most.token },
        { name: `user ${userId}`, most: most.user },
      ];
      return enter(both(atOnce), both(perMinute), address);
    },
  };
}
