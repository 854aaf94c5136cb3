// The report of the dashboard as what is drawn: sums by day, models by rank, the hours of the week. Pure.
import type { TagColour } from "#console/base/colours.ts";
import type { UsageReport, UsageSums } from "#contract/usage.ts";

/** What a board shows; how calls went is counted by person, so a team's report has none of it. */
export type BoardReport = Omit<UsageReport, "outcomes"> & Partial<Pick<UsageReport, "outcomes">>;

/** Leads from a figure to the calls behind it. */
export type ToLog = (filters: Readonly<Record<string, string | number>>) => string;

const DAY_S = 86_400;
const DAY_MIN = 1_440;
/** Of the models that a report names; the others are black. */
const COLOURS: readonly TagColour[] = ["teal", "blue", "violet", "orange", "green", "pink", "brown", "olive"];
export const OTHERS = "其他";

export interface Sums {
  readonly quota: number;
  readonly requests: number;
  readonly prompt: number;
  readonly completion: number;
}

const NONE: Sums = { quota: 0, requests: 0, prompt: 0, completion: 0 };

/** Where the reader's day begins, as the report wants it: minutes east of UTC, modulo a day. */
export function dayOffset(now: Date): number {
  return (DAY_MIN - now.getTimezoneOffset()) % DAY_MIN;
}

/** The starts of the days of a report, oldest first. Unit: seconds. */
export function daysOf({ start, days }: Pick<UsageReport, "start" | "days">): readonly number[] {
  return Array.from({ length: days }, (_none, at) => start + at * DAY_S);
}

export function sum(rows: readonly UsageSums[]): Sums {
  return rows.reduce<Sums>(
    (sums, row) => ({
      quota: sums.quota + row.quota,
      requests: sums.requests + row.requests,
      prompt: sums.prompt + row.prompt_tokens,
      completion: sums.completion + row.completion_tokens,
    }),
    NONE,
  );
}

type DayRow = UsageReport["daily"][number];

/** One sum per day; days without calls are zero. */
export function sumByDay(rows: readonly DayRow[], days: readonly number[]): readonly Sums[] {
  return days.map((day) => sum(rows.filter((row) => row.day === day)));
}

export interface ModelUsage extends Sums {
  readonly name: string;
  readonly colour: TagColour;
  /** Part of all that was spent, 0 to 1. */
  readonly share: number;
  readonly rows: readonly DayRow[];
}

/** The models by what was spent on them, and last what the report sums as others. */
export function rankModels(rows: readonly DayRow[]): readonly ModelUsage[] {
  const total = sum(rows).quota;
  const names = [...new Set(rows.map((row) => row.model_name))];
  const ranked = names
    .map((name) => {
      const own = rows.filter((row) => row.model_name === name);
      return { name: name === "" ? OTHERS : name, rows: own, ...sum(own) };
    })
    .sort(
      (one, other) =>
        Number(one.name === OTHERS) - Number(other.name === OTHERS) ||
        other.quota - one.quota ||
        other.requests - one.requests,
    );
  return ranked.map((model, at) => ({
    ...model,
    colour: (model.name === OTHERS ? undefined : COLOURS[at]) ?? "black",
    share: total === 0 ? 0 : model.quota / total,
  }));
}

export interface DayOutcome {
  /** Part of the calls that failed, 0 to 1; null = there were no calls. */
  readonly failed: number | null;
  /** Milliseconds; null = nothing was streamed. */
  readonly firstByteMs: number | null;
}

/** How the calls of each day went. */
export function outcomesByDay(rows: UsageReport["outcomes"], days: readonly number[]): readonly DayOutcome[] {
  const known = new Map(rows.map((row) => [row.day, row]));
  return days.map((day) => {
    const row = known.get(day);
    return {
      failed: row === undefined || row.calls === 0 ? null : row.failures / row.calls,
      firstByteMs: row === undefined || row.first_byte_ms === 0 ? null : row.first_byte_ms,
    };
  });
}

/** How all calls of a report went. The mean first byte weighs days by their calls. */
export function outcomeOf(rows: UsageReport["outcomes"]): DayOutcome {
  const calls = rows.reduce((total, row) => total + row.calls, 0);
  const failures = rows.reduce((total, row) => total + row.failures, 0);
  const timed = rows.filter((row) => row.first_byte_ms > 0);
  const weight = timed.reduce((total, row) => total + row.calls, 0);
  const time = timed.reduce((total, row) => total + row.first_byte_ms * row.calls, 0);
  return {
    failed: calls === 0 ? null : failures / calls,
    firstByteMs: weight === 0 ? null : Math.round(time / weight),
  };
}

export interface WeekHour {
  readonly requests: number;
  readonly quota: number;
}

/** Calls by weekday (Monday first) and hour of the reader's day. */
export function weekOf(rows: UsageReport["weekly"]): readonly (readonly WeekHour[])[] {
  const known = new Map(rows.map((row) => [row.hour, row]));
  return Array.from({ length: 7 }, (_day, day) =>
    Array.from({ length: 24 }, (_hour, hour): WeekHour => {
      const row = known.get(day * 24 + hour);
      return { requests: row?.requests ?? 0, quota: row?.quota ?? 0 };
    }),
  );
}

/** How much more than before, as a part: 0.25 = a quarter more. undefined = there was nothing before. */
export function growth(now: number, before: number): number | undefined {
  return before === 0 ? undefined : now / before - 1;
}

/** Start of a day (seconds) → `11-20`. Half a day on, so that a change of the clock does not shift the date. */
export function dayLabel(day: number): string {
  const at = new Date((day + DAY_S / 2) * 1000);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** 0.0123 → `1.2%`; small parts keep what tells them from none. */
export function percent(part: number): string {
  const value = part * 100;
  return `${value > 0 && value < 0.1 ? value.toFixed(2) : value.toFixed(1)}%`;
}
