// How a task ends: what becomes of its money is decided once, in its row, and then booked. A call that finds it decided and not booked
// books it, again if need be: the ledger takes each request id once (requirements C52).
import { changeOpenTask, markTaskBooked, type TaskRow } from "#server/store/tasks.ts";
import { bookBatch } from "./batch/book.ts";
import type { TaskTools } from "./channel.ts";
import { type Made, type TaskFacts, taskCharge } from "./facts.ts";
import { logFailure } from "./log-failure.ts";
import { settleTask } from "./settle.ts";

/** What a failed task tells. Both are shown to its owner. */
export interface TaskEnd {
  readonly state: "failed" | "cancelled";
  readonly code: string;
  readonly message: string;
  /** They are the upstream's own words. */
  readonly isTheirs?: true | undefined;
}

const MOST_CODE = 64;
const MOST_MESSAGE = 500;

export function factsOf({ facts }: Pick<TaskRow, "facts">): TaskFacts {
  // Written by beginTask, submitVideo and completeTask.
  return JSON.parse(facts) as TaskFacts;
}

/** Ends a task without a charge; one whose end is decided ends as it was decided. Of one that failed the log tells. */
export async function failTask(tools: TaskTools, row: TaskRow, end: TaskEnd): Promise<void> {
  const ended = await endUnpaid(tools, row, end);
  if (ended === undefined) return;
  if (end.state === "failed") await logFailure(tools, ended, end.isTheirs === true);
  await bookTask(tools, ended);
}

/** As `failTask`, of a task whose call tells the log itself that it failed. */
export async function failSubmitted(tools: TaskTools, row: TaskRow, end: TaskEnd): Promise<void> {
  const ended = await endUnpaid(tools, row, end);
  if (ended !== undefined) await bookTask(tools, ended);
}

/** Decides that nothing is charged. undefined = the end was decided before. */
async function endUnpaid(tools: TaskTools, row: TaskRow, end: TaskEnd): Promise<TaskRow | undefined> {
  const ended_at = tools.clock.seconds();
  const code = clean(end.code, MOST_CODE);
  const message = clean(end.message, MOST_MESSAGE);
  const change = { state: end.state, outcome: "refund", code, message, ended_at } as const;
  return (await changeOpenTask(tools.db, row.id, change)) ? { ...row, ...change } : undefined;
}

/** PostgreSQL cannot store NUL. */
function clean(text: string, most: number): string {
  return text.replaceAll("\u0000", "").slice(0, most);
}

/** Ends a task whose result is there. `result` is sealed. */
export async function completeTask(
  tools: TaskTools,
  row: TaskRow,
  { result, made, state = "completed" }: { result: string; made: Made; state?: "completed" | "cancelled" },
): Promise<void> {
  const facts: TaskFacts & { made: Made } = { ...factsOf(row), made };
  const change = {
    state,
    outcome: "charge",
    charge: Number(taskCharge(facts, made).amount),
    facts: JSON.stringify(facts),
    progress: 100,
    result_sealed: result,
    ended_at: tools.clock.seconds(),
  } as const;
  if (await changeOpenTask(tools.db, row.id, change)) await bookTask(tools, { ...row, ...change });
}

/** Books what was decided. Throws: when the ledger cannot take it now; it is tried again. */
export async function bookTask(tools: TaskTools, row: TaskRow): Promise<void> {
  if (row.kind === "batch") return bookBatch(tools, row);
  const { db, ledger } = tools;
  await ledger.resume(row.request_id);
  if (row.outcome === "charge") await settle(tools, row);
  else await ledger.release(row.request_id);
  await markTaskBooked(db, row.id);
}

async function settle(tools: TaskTools, row: TaskRow): Promise<void> {
  const facts = factsOf(row) as TaskFacts & { readonly made?: Made };
  const { amount: charge, ...booked } = taskCharge(facts, facts.made ?? {});
  const { request_id: requestId, model } = row;
  await settleTask(tools, row, { ...booked, requestId, model, charge, priceVersion: facts.priceVersion });
}
