// `--case limits`: what limits add to a call. Two servers in turn, as floor and Tollgate are elsewhere: one on which nothing is limited, and
// one on which the same call passes limits at every level; and with `--before` the server of another checkout beside this one's.
import { type Book, checkBooks } from "./books.ts";
import { type Case, casesFor, type Outcome, overPairs, runCase, type Sample, typical } from "./cases.ts";
import { startLoad, startService } from "./processes.ts";
import type { Line } from "./report.ts";
import { createHome, furnish, furnishTeam, startTollgate } from "./tollgate.ts";

/** How much more CPU a call may take with all limits set (requirements L07). */
const WITH_LIMITS = 1.25;
/** What a call may take more than before it could be limited, where nothing is. */
const WITHOUT = 1.03;

const MEASURES: readonly { readonly measure: string; readonly field: keyof Sample }[] = [
  { measure: "CPU µs/request", field: "cpuUsPerRequest" },
  { measure: "requests/s", field: "requestsPerSecond" },
  { measure: "p50 ms", field: "latencyP50Ms" },
  { measure: "p99 ms", field: "latencyP99Ms" },
];

function linesOf(name: string, outcome: Outcome, atMost: number): Line[] {
  return MEASURES.map(({ measure, field }) => {
    const compared = overPairs(outcome, field, (ours, floors) => ours / floors);
    const isJudged = field === "cpuUsPerRequest";
    return {
      case: `${outcome.case.title}, ${name}`,
      measure,
      floor: typical(outcome.floor, field),
      tollgate: typical(outcome.tollgate, field),
      compared,
      by: "ratio",
      target: isJudged ? `≤ ${atMost} ×` : "",
      mark: isJudged ? (compared <= atMost ? "OK" : "MISS") : "",
    };
  });
}

interface Findings {
  readonly more: Line[];
  readonly books: Book[];
  readonly beside: string;
}

/** `before` = a checkout whose server is built; its calls are not limited either. Throws: Error when an answer was wrong. */
export async function measureLimits({
  isQuick,
  before,
  say,
}: {
  isQuick: boolean;
  before: string | undefined;
  say(text: string): void;
}): Promise<Findings> {
  const load = startLoad();
  const upstream = await startService("bench/upstream.ts");
  const homes = { plain: createHome(false), other: createHome(false) };
  const plain = await startTollgate(homes.plain);
  const other = await startTollgate(homes.other, {}, before);
  const target = { ...plain, key: await furnish(plain.port, upstream.port) };
  const furnishOther = before === undefined ? furnishTeam : furnish;
  const beside = { ...other, key: await furnishOther(other.port, upstream.port) };
  const outcomes: Outcome[] = [];
  for (const one of casesFor(isQuick).filter(
    ({ name }): boolean => name === "json" || name === "sse-flood",
  )) {
    say(`${one.title} …`);
    outcomes.push(await pairOf(one));
  }
  await plain.stop();
  await other.stop();
  const name = before === undefined ? "limits at every level" : "no limits";
  const atMost = before === undefined ? WITH_LIMITS : WITHOUT;
  return {
    more: outcomes.flatMap((outcome) => linesOf(name, outcome, atMost)),
    books: await checkBooks(homes.plain.dataDir, served(outcomes, before !== undefined)),
    beside: before === undefined ? "no limits" : "before",
  };

  /** What is measured stands second. */
  function pairOf(one: Case): Promise<Outcome> {
    return before === undefined ? runCase(load, one, target, beside) : runCase(load, one, beside, target);
  }
}

/** Answers of the server without limits: it is the second of a pair where another checkout is the first. */
function served(outcomes: readonly Outcome[], isSecond: boolean): number {
  return outcomes.reduce(
    (sum, { served: ofSecond, case: { requests, warmup, pairs } }) =>
      sum + (isSecond ? ofSecond : (requests + warmup) * (pairs + 1)),
    0,
  );
}
