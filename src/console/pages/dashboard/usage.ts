// The rows of the dashboard summed by day and by model. Pure.
import type { TagColour } from "#console/base/colours.ts";
import type { DashboardRow } from "#contract/account.ts";

const DAYS = 7;
const DAY_S = 86_400;
/** Models with a colour of their own; the rest is one colour. */
const TOP = 8;
const COLOURS: readonly TagColour[] = ["teal", "blue", "violet", "orange", "green", "pink", "brown", "olive"];
export const OTHERS = "其他";

export interface Sums {
  readonly quota: number;
  readonly requests: number;
  readonly prompt: number;
  readonly completion: number;
}

const NONE: Sums = { quota: 0, requests: 0, prompt: 0, completion: 0 };

/** The seven UTC days up to now as the server names them, oldest first. */
export function daysUntil(nowSec: number): readonly string[] {
  return Array.from({ length: DAYS }, (_none, at) =>
    new Date((nowSec - (DAYS - 1 - at) * DAY_S) * 1000).toISOString().slice(0, 10),
  );
}

export function sum(rows: readonly DashboardRow[]): Sums {
  return rows.reduce<Sums>(
    (sums, row) => ({
      quota: sums.quota + row.Quota,
      requests: sums.requests + row.RequestCount,
      prompt: sums.prompt + row.PromptTokens,
      completion: sums.completion + row.CompletionTokens,
    }),
    NONE,
  );
}

/** One sum per day; days without calls are zero. */
export function sumByDay(rows: readonly DashboardRow[], days: readonly string[]): readonly Sums[] {
  return days.map((day) => sum(rows.filter((row) => row.Day === day)));
}

export interface ModelUsage extends Sums {
  readonly name: string;
  readonly colour: TagColour;
  /** Part of all that was spent, 0 to 1. */
  readonly share: number;
  readonly rows: readonly DashboardRow[];
}

/** The models by what was spent on them: the first eight, then all others as one. */
export function rankModels(rows: readonly DashboardRow[]): readonly ModelUsage[] {
  const total = sum(rows).quota;
  const names = [...new Set(rows.map((row) => row.ModelName))];
  const ranked = names
    .map((name) => {
      const own = rows.filter((row) => row.ModelName === name);
      return { name: name === "" ? "未知模型" : name, rows: own, ...sum(own) };
    })
    .sort((one, other) => other.quota - one.quota || other.requests - one.requests);
  const rest = ranked.slice(TOP).flatMap((model) => model.rows);
  const shown = [
    ...ranked.slice(0, TOP),
    ...(rest.length === 0 ? [] : [{ name: OTHERS, rows: rest, ...sum(rest) }]),
  ];
  return shown.map((model, at) => ({
    ...model,
    colour: COLOURS[at] ?? "black",
    share: total === 0 ? 0 : model.quota / total,
  }));
}

/** `2026-11-20` → `11-20`. */
export function dayLabel(day: string): string {
  return day.slice(5);
}
