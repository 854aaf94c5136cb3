// Looks at what is left of the limits of a caller where no call is counted in them: of who asks about what is his, and of a call that ended
// before its limits were passed. Loaded when one is limited.
import type { Clock } from "#server/clock.ts";
import type { Limits } from "#server/limits/limits.ts";
import { restOf } from "#server/money/limit-state.ts";
import type { WindowRest } from "#server/money/operations.ts";
import type { Options } from "#server/options.ts";
import type { LimitHead } from "#server/relay/http/limit-head.ts";
import type { Db } from "#server/store/db.ts";
import { findWindows, type LimitWindowRow } from "#server/store/limits.ts";
import { type CountedRate, countingOf, type Limited, ofModel, ratesLeft } from "./set-limits.ts";

interface LookParts {
  readonly db: Db;
  readonly options: Pick<Options, "get">;
  readonly limits: Pick<Limits, "look">;
  readonly clock: Pick<Clock, "now" | "seconds">;
}

interface Looked {
  readonly caller: Limited;
  /** "" = only the limits for all models. */
  readonly model: string;
}

/**
 * Fills in what an answer does not know yet of the limits of its caller: all rates, those of the options too, by one look, and windows by one
 * read in a second.
 */
export async function lookAtLimits(
  parts: LookParts,
  head: LimitHead,
  { byOptions, ...looked }: Looked & { readonly byOptions: readonly CountedRate[] },
): Promise<void> {
  const set = head.rates === undefined ? ratesOf(parts, looked) : [];
  const [rates, windows] = await Promise.all([
    ratesLeft(parts, [...byOptions, ...set]),
    head.windows ?? windowsLeft(parts, looked),
  ]);
  head.byOptions.push(...rates.slice(0, byOptions.length));
  head.rates ??= rates.slice(byOptions.length);
  head.windows ??= windows;
}

function ratesOf({ clock }: LookParts, { caller, model }: Looked): CountedRate[] {
  const nowSec = clock.seconds();
  return ofModel(caller, model).rates.map((one) => ({ kind: one.kind, counting: countingOf(one, nowSec) }));
}

async function windowsLeft(parts: LookParts, { caller, model }: Looked): Promise<readonly WindowRest[]> {
  const { windows } = ofModel(caller, model);
  if (windows.length === 0) return [];
  const moment = {
    userId: caller.userId,
    zone: parts.options.get("BudgetTimeZone"),
    nowSec: parts.clock.seconds(),
  };
  const counted = await readWindows(parts, caller);
  const ids = new Set(windows.map(({ limitId }) => limitId));
  return caller.limits.flatMap((row) => (ids.has(row.id) ? (restOf(row, counted, moment) ?? []) : []));
}

interface Read {
  readonly atSec: number;
  readonly windows: Promise<readonly LimitWindowRow[]>;
}

/** A client that is refused again and again costs one read a second. */
const lastRead = new WeakMap<Limited["limits"], Read>();

function readWindows({ db, clock }: LookParts, { limits, userId }: Limited): Read["windows"] {
  const atSec = clock.seconds();
  const last = lastRead.get(limits);
  if (last?.atSec === atSec) return last.windows;
  const windows = findWindows(
    db,
    limits.map(({ id }) => id),
    userId,
  );
  lastRead.set(limits, { atSec, windows });
  return windows;
}
