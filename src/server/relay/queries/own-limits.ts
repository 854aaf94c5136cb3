// The limits that bind a key, as the key itself may read them (requirements L11): of what is its own and its member's with what is left; of its
// project and team so only for who may read their calls, and of a whole group and of everybody the amount alone, since the rest would tell what
// others use. Counts nothing.
import { isRateKind, isWindowKind, type LimitKind, type LimitSubject } from "#contract/limit-words.ts";
import { mayInTeam } from "#contract/team-words.ts";
import type { Context } from "#server/context.ts";
import type { Left, Watched } from "#server/limits/limits.ts";
import type { Counting } from "#server/limits/table.ts";
import { amountAt, stateOf } from "#server/money/limit-state.ts";
import type { Caller } from "#server/relay/admission/admit.ts";
import { optionLimits } from "#server/relay/admission/relay-limits.ts";
import { countingOf, rateOf, setLimit } from "#server/relay/admission/set-limits.ts";
import { findWindows, type LimitRow } from "#server/store/limits.ts";
import { findMembership } from "#server/store/teams.ts";

type Parts = Pick<Context, "db" | "options" | "limits" | "clock">;

/** Whose use counts. */
type Scope = "token" | "member" | "project" | "team" | "user" | "group" | "all";

/** A limit of each user of a group is his own; those of channels are the operator's, and no caller's. */
const SCOPES: Readonly<Record<Exclude<LimitSubject, "channel" | "channel_key">, Scope>> = {
  token: "token",
  seat: "member",
  project: "project",
  team: "team",
  user: "user",
  member: "user",
  group: "group",
  all: "all",
};

function scopeOf({ subject }: LimitRow): Scope {
  return subject === "channel" || subject === "channel_key" ? "all" : SCOPES[subject];
}

/** What others use too is not told. */
function isShared(scope: Scope): boolean {
  return scope === "group" || scope === "all";
}

/** What of all that binds a key its holder is told the use of. */
export type Reads = (scope: Scope) => boolean;

/** What a team and its projects use is told to members who may read the calls of others. */
export async function readsOf(
  { db }: Pick<Parts, "db">,
  { limits, userId, payerId }: Caller,
): Promise<Reads> {
  const isOfTeam = (scope: Scope) => scope === "project" || scope === "team";
  const team = limits.some((row) => isOfTeam(scopeOf(row)))
    ? await findMembership(db, userId, { wallet: payerId })
    : undefined;
  const mayRead = team !== undefined && mayInTeam(team.role, "calls");
  return (scope) => !isShared(scope) && (mayRead || !isOfTeam(scope));
}

/** Budgets and calls by window; amounts of budgets are quota units. Of what is not told `used`, `remaining` and `resets_at` are null. */
export async function windowsOf({ db, options, clock }: Parts, { limits, userId }: Caller, reads: Reads) {
  const own = limits.filter((row) => isWindowKind(row.kind) && !isShared(scopeOf(row)));
  const windows = await findWindows(
    db,
    own.map(({ id }) => id),
    userId,
  );
  const moment = { userId, zone: options.get("BudgetTimeZone"), nowSec: clock.seconds() };
  return own.flatMap((row) => {
    const state = stateOf(row, windows, moment);
    if (!state) return [];
    const left = state.amount - state.used;
    const scope = scopeOf(row);
    const isTold = reads(scope);
    return [
      {
        scope,
        model: row.model_pattern,
        kind: row.kind,
        window: row.time_window,
        mode: row.mode,
        limit: Number(state.amount),
        used: isTold ? Number(state.used) : null,
        remaining: isTold ? Number(left > 0n ? left : 0n) : null,
        resets_at: isTold && state.resetsAt !== 0 ? state.resetsAt : null,
      },
    ];
  });
}

interface Named {
  readonly scope: Scope;
  readonly model: string;
  readonly kind: LimitKind;
}

/** A limit of calls or LLM tokens per minute, or of calls at once. */
interface Told extends Watched {
  readonly of: Named;
}

/** A limit of what a call may cost. */
interface Cost extends Named {
  readonly mode: LimitRow["mode"];
  readonly limit: number;
}

/** Calls and LLM tokens per minute, calls at once, and the cost of a call; the options' limits first. */
export async function othersOf(parts: Parts, caller: Caller, reads: Reads) {
  const nowSec = parts.clock.seconds();
  const { running, begun } = optionLimits(parts.options, caller);
  const found: readonly (Told | Cost)[] = [
    ...begun.map((counting) => told(named(counting, "rpm"), counting)),
    ...running.map((counting) => told(named(counting, "running"), counting)),
    ...caller.limits.flatMap((row) => setPart(row, caller, nowSec)),
  ];
  const own = found.flatMap((one) => ("of" in one && reads(one.of.scope) ? [one] : []));
  const looked = await parts.limits.look(own);
  const nowMs = parts.clock.now();
  return found.map((one) => ("of" in one ? countedPart(one, looked.get(one), nowMs) : one));
}

function named({ limit: { scope } }: Counting, kind: "rpm" | "running"): Named {
  return { scope: scope === "token" ? "token" : "user", model: "", kind };
}

function told(of: Named, counting: Counting): Told {
  return { ...counting, isHeld: of.kind === "running", of };
}

/** One that was set; [] = it is counted by window. */
function setPart(row: LimitRow, { userId }: Caller, nowSec: number): (Told | Cost)[] {
  const { kind } = row;
  const of = { scope: scopeOf(row), model: row.model_pattern, kind };
  if (kind === "cost") return [{ ...of, mode: row.mode, limit: Number(amountAt(row, nowSec)) }];
  if (!isRateKind(kind) && kind !== "running") return [];
  return [told(of, countingOf(setLimit(row, kind, userId), nowSec))];
}

/** What is left of it, undefined = that is not told. */
function countedPart({ of, isHeld, ...counting }: Told, left: Left | undefined, nowMs: number) {
  const limit = counting.limit.burst;
  if (isHeld) return { ...of, limit, running: left?.taken ?? null };
  if (left === undefined) return { ...of, limit, remaining: null, resets_at: null };
  const { remaining, resetAtMs } = rateOf({ kind: "rpm", counting }, { ...left, nowMs });
  return { ...of, limit, remaining, resets_at: resetAtMs > nowMs ? Math.ceil(resetAtMs / 1_000) : null };
}
