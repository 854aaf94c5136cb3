// Turns what was measured into lines with a target and a mark. Knows the budget of requirements N1; measures nothing.
import type { Book } from "./books.ts";
import { type Outcome, overPairs, type Sample, typical } from "./cases.ts";
import type { DiskTimes } from "./disk.ts";

/** What is measured of the process as a whole. */
export interface Vitals {
  readonly rssIdleMb: number;
  readonly rssLoadedMb: number;
  readonly readyMs: number;
  readonly disk: DiskTimes;
}

export interface Line {
  readonly case: string;
  readonly measure: string;
  readonly floor: number | undefined;
  readonly tollgate: number;
  /** Ratio to the floor, or what is added to it; undefined = the value itself is held against the target. */
  readonly compared: number | undefined;
  readonly by: "ratio" | "added" | "value";
  readonly target: string;
  readonly mark: "OK" | "MISS" | "";
}

interface Rule {
  readonly on: Outcome["case"]["name"];
  readonly measure: string;
  readonly field: keyof Sample;
  readonly by: "ratio" | "added";
  readonly atMost?: number;
  readonly atLeast?: number;
  /** At most the floor's own value and three times the p99 of the disk's fdatasync in the same run (decision 036). */
  readonly bound?: "floor and disk";
}

const DISK_SHARE = 3;

const RULES: readonly Rule[] = [
  { on: "json", measure: "CPU µs/request", field: "cpuUsPerRequest", by: "ratio", atMost: 2.3 },
  { on: "json", measure: "requests/s", field: "requestsPerSecond", by: "ratio", atLeast: 0.45 },
  { on: "json", measure: "p50 ms", field: "latencyP50Ms", by: "added" },
  { on: "json", measure: "p99 ms", field: "latencyP99Ms", by: "added" },
  { on: "json-idle", measure: "p50 ms", field: "latencyP50Ms", by: "added" },
  { on: "json-idle", measure: "p99 ms", field: "latencyP99Ms", by: "added", bound: "floor and disk" },
  { on: "json-idle", measure: "CPU µs/request", field: "cpuUsPerRequest", by: "ratio" },
  { on: "sse", measure: "CPU µs/event", field: "cpuUsPerEvent", by: "ratio", atMost: 1.3 },
  { on: "sse", measure: "chunks/stream", field: "chunksPerStream", by: "ratio" },
  { on: "sse", measure: "event delay p50 ms", field: "delayP50Ms", by: "added" },
  { on: "sse", measure: "event delay p99 ms", field: "delayP99Ms", by: "added" },
  { on: "sse", measure: "first byte p50 ms", field: "firstByteP50Ms", by: "added" },
  { on: "sse-flood", measure: "CPU µs/event", field: "cpuUsPerEvent", by: "ratio" },
  { on: "sse-flood", measure: "CPU µs/request", field: "cpuUsPerRequest", by: "ratio" },
  { on: "sse-flood", measure: "requests/s", field: "requestsPerSecond", by: "ratio" },
  { on: "sse-flood", measure: "chunks/stream", field: "chunksPerStream", by: "ratio" },
  { on: "sse-idle", measure: "first byte p50 ms", field: "firstByteP50Ms", by: "added", atMost: 1 },
  { on: "sse-idle", measure: "first byte p99 ms", field: "firstByteP99Ms", by: "added", atMost: 2 },
  { on: "sse-idle", measure: "whole p50 ms", field: "latencyP50Ms", by: "added" },
];

function judge(value: number, { atMost, atLeast }: { atMost?: number; atLeast?: number }): Line["mark"] {
  if (atMost !== undefined) return value <= atMost ? "OK" : "MISS";
  if (atLeast !== undefined) return value >= atLeast ? "OK" : "MISS";
  return "";
}

function targetText({ atMost, atLeast }: { atMost?: number; atLeast?: number }, unit: string): string {
  if (atMost !== undefined) return `≤ ${atMost}${unit}`;
  return atLeast === undefined ? "" : `≥ ${atLeast}${unit}`;
}

function lineOf(rule: Rule, outcome: Outcome, disk: DiskTimes | undefined): Line {
  const compared = overPairs(outcome, rule.field, (ours, floors) =>
    rule.by === "ratio" ? ours / floors : ours - floors,
  );
  const floor = typical(outcome.floor, rule.field);
  const limits = rule.bound && disk ? { atMost: Number((floor + DISK_SHARE * disk.p99Ms).toFixed(2)) } : rule;
  return {
    case: outcome.case.title,
    measure: rule.measure,
    floor,
    tollgate: typical(outcome.tollgate, rule.field),
    compared,
    by: rule.by,
    target: targetText(limits, rule.by === "ratio" ? " ×" : " ms"),
    mark: judge(compared, limits),
  };
}

/** The lines of the cases; `disk` is what the disk alone took in the same run. */
export function caseLines(outcomes: readonly Outcome[], disk?: DiskTimes): Line[] {
  return RULES.flatMap((rule) => {
    const outcome = outcomes.find((one) => one.case.name === rule.on);
    return outcome ? [lineOf(rule, outcome, disk)] : [];
  });
}

/** The lines of the process itself. */
export function vitalLines({ rssIdleMb, rssLoadedMb, readyMs, disk }: Vitals): Line[] {
  const line = (measure: string, tollgate: number, limits: { atMost?: number }, unit: string): Line => ({
    case: "process",
    measure,
    floor: undefined,
    tollgate,
    compared: undefined,
    by: "value",
    target: targetText(limits, unit),
    mark: judge(tollgate, limits),
  });
  return [
    line("RSS idle MB", rssIdleMb, { atMost: 110 }, " MB"),
    line("RSS under load MB", rssLoadedMb, {}, ""),
    line("ready ms, existing database", readyMs, { atMost: 1000 }, " ms"),
    { ...line("fdatasync p50 ms", disk.p50Ms, {}, ""), case: "the disk alone" },
    { ...line("fdatasync p99 ms", disk.p99Ms, {}, ""), case: "the disk alone" },
  ];
}

function short(value: number | undefined): string {
  if (value === undefined) return "";
  const digits = Math.abs(value) >= 1000 ? 0 : Math.abs(value) >= 100 ? 1 : 2;
  return value.toFixed(digits);
}

function comparedText({ by, compared = 0 }: Line): string {
  if (by === "value") return "";
  return by === "ratio" ? `${short(compared)} ×` : `${compared < 0 ? "" : "+"}${short(compared)}`;
}

/** The lines as a table for people; `beside` names what Tollgate is held against. */
export function tableOf(lines: readonly Line[], beside = "floor"): string {
  const rows = lines.map((line) => [
    line.case,
    line.measure,
    short(line.floor),
    short(line.tollgate),
    comparedText(line),
    line.target,
    line.mark,
  ]);
  const table = [["case", "measure", beside, "Tollgate", "compared", "target", ""], ...rows];
  const widths =
    table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? [];
  return table
    .map((row) =>
      row
        .map((cell, column) =>
          column >= 2 && column <= 4 ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
        )
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** The result of the ledger check as lines for people. */
export function booksText(books: readonly Book[]): string {
  return books
    .map(({ promise, isTrue, detail }) => `${isTrue ? "OK  " : "MISS"}  ${promise}: ${detail}`)
    .join("\n");
}
