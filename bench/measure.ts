// Times of what the server asks its database, against a budget: each case some forty times with other values each time.
import type { Db } from "#server/store/db.ts";

const TIMES = 40;
const LONG_MS = 10_000;

/** What PostgreSQL keeps in memory unless it is told otherwise: more than the small servers of tests. */
export const AS_INSTALLED = { shared_buffers: "128MB" };

export interface Case {
  readonly name: string;
  readonly targetMs: number;
  run(db: Db, turn: number): Promise<unknown>;
}

/** The same sequence in every run. */
export function pick(turn: number, count: number): number {
  return (Math.imul(turn + 1, 2_654_435_761) >>> 8) % count;
}

export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function percentile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * part) - 1)] ?? Number.NaN;
}

/** Runs a case some forty times with other values each time. Returns whether it is within its target. */
async function measure(db: Db, one: Case): Promise<boolean> {
  const times: number[] = [];
  const begun = performance.now();
  for (let turn = 0; turn < TIMES; turn += 1) {
    const started = performance.now();
    await one.run(db, turn);
    times.push(performance.now() - started);
    // What is far off need not be measured to the end.
    if (turn >= 4 && performance.now() - begun > LONG_MS) break;
  }
  times.sort((a, b) => a - b);
  const p95 = percentile(times, 0.95);
  const isMet = p95 <= one.targetMs;
  const numbers = [percentile(times, 0.5), p95, times.at(-1) ?? 0].map((ms) => ms.toFixed(1).padStart(9));
  say(
    `${one.name.padEnd(58)}${numbers.join("")}${String(one.targetMs).padStart(7)}  ${isMet ? "OK" : "MISS"}`,
  );
  return isMet;
}

/** Prints the times of each case beside its target. Returns how many miss it. */
export async function measureAll(db: Db, cases: readonly Case[]): Promise<number> {
  const heads = ["p50 ms", "p95 ms", "max ms", "target"].map((text) => text.padStart(9));
  say(`${"case".padEnd(58)}${heads.join("").slice(0, -2)}`);
  let missed = 0;
  for (const one of cases) if (!(await measure(db, one))) missed += 1;
  say(missed === 0 ? "all within budget" : `${missed} of ${cases.length} miss the budget`);
  return missed;
}
