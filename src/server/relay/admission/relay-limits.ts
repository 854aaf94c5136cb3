// How many calls tokens and users may begin in a minute and have running at once, by the options.
import type { Clock } from "#server/clock.ts";
import type { Limits } from "#server/limits/limits.ts";
import { type Counting, LIMITS, type Limit } from "#server/limits/table.ts";
import type { Options } from "#server/options.ts";
import { limitErrors } from "#server/relay/http/limit-errors.ts";
import type { LimitHead } from "#server/relay/http/limit-head.ts";
import { LocalError } from "#server/relay/http/local-errors.ts";
import type { Caller } from "./admit.ts";
import { type CountedRate, rateOf, ratesLeft } from "./set-limits.ts";

/**
 * How many calls tokens and users may begin in a minute and have running at once (requirements L06, R25): counted over all nodes, which
 * costs a query to PostgreSQL where there are several, and none with SQLite. Off unless the operator sets a limit.
 */
export interface RelayLimits {
  /** No limit is set: nothing has to begin. A field, since every call reads it. */
  readonly isOff: boolean;
  /** Counts a call that begins, and notes what is left; the returned function ends it. Throws: LocalError 429. */
  begin(caller: Counted, address: string, head: LimitHead | undefined): Leave | Promise<Leave>;
  /** The rates that a caller's calls are counted in. */
  rates(caller: Counted): readonly CountedRate[];
}

/** Ends the call among those that run; one that a limit refused counts as begun no more. */
type Leave = (isRefused?: boolean) => void;
type Counted = Pick<Caller, "tokenId" | "userId">;

const LIMIT_OPTIONS = [
  "TokenConcurrency",
  "UserConcurrency",
  "TokenRequestsPerMinute",
  "UserRequestsPerMinute",
] as const;
type LimitOption = (typeof LIMIT_OPTIONS)[number];

function nothing(): void {
  // There is nothing to give back, or nothing more can be done.
}

/** How the options limit a caller, its token first. */
export function optionLimits(options: Pick<Options, "get">, { tokenId, userId }: Counted) {
  const set = (limit: Limit, option: LimitOption, id: number): Counting[] => {
    const burst = options.get(option);
    return burst === 0 ? [] : [{ limit: { ...limit, burst }, subject: String(id) }];
  };
  return {
    running: [
      ...set(LIMITS.tokenRunning, "TokenConcurrency", tokenId),
      ...set(LIMITS.userRunning, "UserConcurrency", userId),
    ],
    begun: [
      ...set(LIMITS.tokenCalls, "TokenRequestsPerMinute", tokenId),
      ...set(LIMITS.userCalls, "UserRequestsPerMinute", userId),
    ],
  };
}

/** Who asks, and what is to know what is left. */
interface Asking {
  readonly address: string;
  readonly head: LimitHead | undefined;
}

/** A limit of an option by the name that a limit of the same kind has. */
function namedBy({ limit: { scope } }: Counting, kind: "rpm" | "running") {
  const subject = scope === "token" ? "token" : "user";
  return { subject, subject_name: "", model_pattern: "", kind, time_window: "total" } as const;
}

function rpmOf(counting: Counting): CountedRate {
  return { kind: "rpm", counting };
}

export function createRelayLimits(parts: {
  readonly options: Pick<Options, "get" | "onChange">;
  readonly limits: Pick<Limits, "check" | "hold" | "giveBack" | "look">;
  readonly clock: Pick<Clock, "now">;
}): RelayLimits {
  const { options, limits, clock } = parts;

  /** Throws: when too many calls were begun in the last minute. */
  async function count(counting: Counting, { address, head }: Asking): Promise<void> {
    const { allowed, retryAfterMs, fullAfterMs } = await limits.check(counting, address);
    head?.byOptions.push(rateOf(rpmOf(counting), { fullAfterMs, nowMs: clock.now() }));
    if (!allowed) throw new LocalError(limitErrors.tooFast(namedBy(counting, "rpm"), retryAfterMs));
  }

  async function look(begun: readonly Counting[], head: LimitHead | undefined): Promise<void> {
    if (head !== undefined && begun.length > 0)
      head.byOptions.push(...(await ratesLeft(parts, begun.map(rpmOf))));
  }

  /** What cannot be given back comes back with time. */
  function uncount(one: Counting): void {
    limits.giveBack(one, 1).catch(nothing);
  }

  /** Throws: when too many calls are running. */
  async function hold(counting: Counting, address: string): Promise<() => void> {
    const leave = await limits.hold(counting, address);
    if (leave === undefined) {
      const fault = limitErrors.tooManyAtOnce(namedBy(counting, "running"));
      throw new LocalError({ ...fault, code: "concurrency_limit_exceeded" });
    }
    return leave;
  }

  /** Holds slots, then counts; what comes after a limit without room is only looked at, for the answer. */
  async function enter(
    running: readonly Counting[],
    begun: readonly Counting[],
    asking: Asking,
  ): Promise<Leave> {
    const slots = await Promise.allSettled(running.map((counting) => hold(counting, asking.address)));
    const counted: Counting[] = [];
    const leave = (isRefused = false) => {
      for (const slot of slots) if (slot.status === "fulfilled") slot.value();
      if (isRefused) for (const one of counted) uncount(one);
    };
    const left = [...begun];
    try {
      // A call that may not run does not count as begun.
      for (const slot of slots) if (slot.status === "rejected") throw slot.reason;
      for (let one = left.shift(); one !== undefined; one = left.shift()) {
        await count(one, asking);
        counted.push(one);
      }
      return leave;
    } catch (error) {
      leave(true);
      await look(left, asking.head);
      throw error;
    }
  }

  /** Few operators set one. */
  function isUnlimited(): boolean {
    return LIMIT_OPTIONS.every((option) => options.get(option) === 0);
  }

  const relayLimits = {
    isOff: isUnlimited(),
    begin(caller: Counted, address: string, head: LimitHead | undefined) {
      if (isUnlimited()) return nothing;
      const { running, begun } = optionLimits(options, caller);
      return enter(running, begun, { address, head });
    },
    rates: (caller: Counted) => optionLimits(options, caller).begun.map(rpmOf),
  };
  options.onChange(() => {
    relayLimits.isOff = isUnlimited();
  });
  return relayLimits;
}
