// How many calls tokens and users may begin in a minute and have running at once, by the options.
import type { Limits } from "#server/limits/limits.ts";
import { type Counting, LIMITS, type Limit } from "#server/limits/table.ts";
import type { Options } from "#server/options.ts";
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import type { Caller } from "./admit.ts";

/**
 * How many calls tokens and users may begin in a minute and have running at once (requirements L06, R25): counted over all nodes, which
 * costs a query to PostgreSQL where there are several, and none with SQLite. Off unless the operator sets a limit.
 */
export interface RelayLimits {
  /** No limit is set: nothing has to begin. A field, since every call reads it. */
  readonly isOff: boolean;
  /** Counts a call that begins; the returned function ends it. Throws: LocalError 429. */
  begin(caller: Pick<Caller, "tokenId" | "userId">, address: string): Leave | Promise<Leave>;
}

type Leave = () => void;

const LIMIT_OPTIONS = [
  "TokenConcurrency",
  "UserConcurrency",
  "TokenRequestsPerMinute",
  "UserRequestsPerMinute",
] as const;
type LimitOption = (typeof LIMIT_OPTIONS)[number];

function nothing(): void {
  // No limit of running calls is set: there is nothing to give back.
}

export function createRelayLimits(parts: {
  readonly options: Pick<Options, "get" | "onChange">;
  readonly limits: Pick<Limits, "check" | "hold">;
}): RelayLimits {
  const { options, limits } = parts;

  /** Throws: when too many calls were begun in the last minute. */
  async function count(counting: Counting, address: string): Promise<void> {
    if (counting.limit.burst === 0) return;
    const { allowed, retryAfterMs } = await limits.check(counting, address);
    if (!allowed) throw new LocalError(localErrors.tooMany(retryAfterMs));
  }

  /** Throws: when too many calls are running. */
  async function hold(counting: Counting, address: string): Promise<Leave> {
    if (counting.limit.burst === 0) return nothing;
    const leave = await limits.hold(counting, address);
    if (leave === undefined) throw new LocalError(localErrors.tooManyAtOnce());
    return leave;
  }

  async function enter(
    running: readonly Counting[],
    begun: readonly Counting[],
    address: string,
  ): Promise<Leave> {
    const slots = await Promise.allSettled(running.map((counting) => hold(counting, address)));
    const leave = () => {
      for (const slot of slots) if (slot.status === "fulfilled") slot.value();
    };
    try {
      // A call that may not run does not count as begun.
      for (const slot of slots) if (slot.status === "rejected") throw slot.reason;
      for (const counting of begun) await count(counting, address);
      return leave;
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Few operators set one. */
  function isUnlimited(): boolean {
    return LIMIT_OPTIONS.every((option) => options.get(option) === 0);
  }

  const relayLimits = {
    isOff: isUnlimited(),
    begin(caller: Pick<Caller, "tokenId" | "userId">, address: string) {
      if (isUnlimited()) return nothing;
      const token = String(caller.tokenId);
      const user = String(caller.userId);
      const set = (limit: Limit, option: LimitOption, subject: string) => ({
        limit: { ...limit, burst: options.get(option) },
        subject,
      });
      const running = [
        set(LIMITS.tokenRunning, "TokenConcurrency", token),
        set(LIMITS.userRunning, "UserConcurrency", user),
      ];
      const begun = [
        set(LIMITS.tokenCalls, "TokenRequestsPerMinute", token),
        set(LIMITS.userCalls, "UserRequestsPerMinute", user),
      ];
      return enter(running, begun, address);
    },
  };
  options.onChange(() => {
    relayLimits.isOff = isUnlimited();
  });
  return relayLimits;
}
