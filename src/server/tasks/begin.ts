// A task before anything was sent for it: its row, and what becomes of it when no channel takes it.
import { deleteTask, insertTask, type TaskRow } from "#server/store/tasks.ts";
import type { BatchFacts } from "./batch/facts.ts";
import type { TaskTools } from "./channel.ts";
import { bookTask, failSubmitted } from "./end.ts";
import type { TaskFacts } from "./facts.ts";

/** When it is not known whether the upstream has it, it is given up after this. */
const SUBMIT_SEC = 300;

type Submitted = Pick<TaskRow, "task_id" | "request_id" | "kind" | "wire" | "model"> &
  Partial<Pick<TaskRow, "trail">>;

/** Writes the row of a task that is about to be submitted. `trail` = why it goes to its channel, where that is known. */
export async function beginTask(
  ctx: Pick<TaskTools, "db" | "clock">,
  caller: { readonly userId: number; readonly payerId: number; readonly tokenId: number },
  { facts, model, ...submitted }: Submitted & { readonly facts: TaskFacts | BatchFacts },
): Promise<TaskRow> {
  const now = ctx.clock.seconds();
  const row = {
    trail: "",
    ...submitted,
    model: model.replaceAll("\u0000", ""),
    user_id: caller.userId,
    payer_id: caller.payerId,
    token_id: caller.tokenId,
    channel_id: 0,
    key_id: 0,
    upstream_sealed: "",
    result_sealed: "",
    facts: JSON.stringify(facts),
    state: "submitting" as const,
    progress: 0,
    outcome: "" as const,
    charge: 0,
    is_booked: 0,
    code: "",
    message: "",
    misses: 0,
    polls: 0,
    next_at: now + SUBMIT_SEC,
    deadline_at: now + SUBMIT_SEC,
    created_at: now,
    ended_at: 0,
    deleted_at: 0,
  };
  return { ...row, id: await insertTask(ctx.db, row) };
}

/** The upstream did not take it, or it is not known whether it did: either way its owner pays nothing. */
export async function giveUpTask(ctx: TaskTools, row: TaskRow, isSent: boolean): Promise<void> {
  if (isSent) {
    const message = "无法确认上游是否已接受任务，未收费";
    await failSubmitted(ctx, row, { state: "failed", code: "submit_unknown", message });
    return;
  }
  // Nothing was decided: what is set aside is returned.
  await bookTask(ctx, row);
  await deleteTask(ctx.db, row.id);
}
