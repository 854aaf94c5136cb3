// Looks after tasks that are under way: asks their upstreams, ends those that are done, failed or late, and books what was decided.
// Any number of processes may do it at once: each task is one's turn at a time, and its end is decided once (requirements C52, C54).
import type { VideoWireName } from "#contract/video.ts";
import { SealError } from "#server/secrets.ts";
import { deleteExpiredFiles } from "#server/store/batch-files.ts";
import { deleteExpiredResponses } from "#server/store/stored-responses.ts";
import {
  changeOpenTask,
  claimTask,
  deleteEndedTasks,
  listDueTasks,
  type TaskRow,
} from "#server/store/tasks.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import { polledResponse, storedRequest } from "#server/upstream/stored/requests.ts";
import { callTask } from "#server/upstream/video/call.ts";
import { videoWires } from "#server/upstream/video/index.ts";
import type { Polled } from "#server/upstream/video/wire.ts";
import { askBatch, type BatchWord } from "./batch/hear.ts";
import { aboutTask, callToolsOf, channelOfTask, TASK_SEAL, type TaskTools } from "./channel.ts";
import { bookTask, completeTask, failTask } from "./end.ts";

const AT_ONCE = 100;
/** Of them so many are asked about at the same time. */
const ABREAST = 8;
/** Between two questions about a task: more from one to the next. */
const FIRST_SEC = 2;
const LONGEST_SEC = 30;
/** So often in a row an upstream may say that it does not know a task. */
const MOST_MISSES = 3;
const FORGOTTEN_AT_ONCE = 5_000;
const FILES_AT_ONCE = 1_000;
/** A batch may take as long, and its lines are those of a file that has expired meanwhile. */
export const BATCH_SEC = 7 * 86_400;
const RETENTION_SEC = 30 * 86_400;

/** Between the `polls`th question and the next. Unit: seconds. */
export function pollDelay(polls: number): number {
  return Math.min(FIRST_SEC * 1.5 ** Math.min(polls, 10), LONGEST_SEC);
}

/** Looks after what is due. Returns how many tasks it looked at. */
export async function pollTasks(tools: TaskTools): Promise<number> {
  const due = await listDueTasks(tools.db, tools.clock.seconds(), AT_ONCE);
  const left = due.values();
  const work = async () => {
    for (const row of left) {
      if (tools.stopping.aborted) return;
      // One that fails is due again; the others do not wait for it.
      await lookAfter(tools, row).catch((error: unknown) =>
        tools.events.backgroundFailed({ task: `task ${row.task_id}`, error }),
      );
    }
  };
  await Promise.all(Array.from({ length: ABREAST }, work));
  return due.length;
}

/** Forgets tasks that ended long ago. Returns how many. */
export async function forgetTasks({ db, clock }: Pick<TaskTools, "db" | "clock">): Promise<number> {
  const now = clock.seconds();
  await deleteExpiredResponses(db, now, FORGOTTEN_AT_ONCE);
  await deleteExpiredFiles(db, now - BATCH_SEC, FILES_AT_ONCE);
  return deleteEndedTasks(db, now - RETENTION_SEC, FORGOTTEN_AT_ONCE);
}

/** Looks after a task now, unless it is another's turn. */
export async function lookAfter(tools: TaskTools, row: TaskRow): Promise<void> {
  const now = tools.clock.seconds();
  if (!(await claimTask(tools.db, row, Math.ceil(now + pollDelay(row.polls))))) return;
  if (row.outcome !== "") await bookTask(tools, row);
  else if (row.upstream_sealed !== "")
    await ask(tools, row).catch(async (error: unknown) => {
      // Without its key or its upstream's name for it, it can never be asked about.
      if (error instanceof SealError) await endLate(tools, row);
      throw error;
    });
  else if (now >= row.deadline_at)
    // Whether the upstream has it is not known: it is never submitted again.
    await failTask(tools, row, {
      state: "failed",
      code: "submit_unknown",
      message: "提交任务时服务中断，未收费",
    });
}

async function ask(tools: TaskTools, row: TaskRow): Promise<void> {
  const channel = await channelOfTask(tools, row);
  if (channel === "gone") {
    const message = "处理该任务的渠道或密钥已被删除，未收费";
    return failTask(tools, row, { state: "failed", code: "channel_gone", message });
  }
  if (row.kind === "batch") {
    return hearOfBatch(
      tools,
      row,
      channel === undefined ? { kind: "open" } : await askBatch(tools, row, channel),
    );
  }
  const polled =
    channel === undefined ? { state: "unknown" as const } : await questionOf(tools, row, channel);
  if (polled === "missing") return missed(tools, row);
  return hearOfTask(tools, row, polled);
}

async function questionOf(
  tools: TaskTools,
  row: TaskRow,
  channel: Exclude<Awaited<ReturnType<typeof channelOfTask>>, "gone" | undefined>,
): Promise<Polled | "missing"> {
  const id = tools.secrets.open(row.upstream_sealed, TASK_SEAL);
  const callTools = callToolsOf(tools);
  const about = aboutTask(tools, channel, row);
  if (row.kind === "response") {
    const answer = await callTask(callTools, channel, storedRequest(channel, "GET", { id }), about);
    return answer.kind === "failed" ? unheard(answer.fault) : polledResponse(answer.body);
  }
  const wire = videoWires[row.wire as VideoWireName]; // what submitVideo wrote
  const answer = await callTask(callTools, channel, wire.poll(id), about);
  if (answer.kind === "failed") return unheard(answer.fault);
  // A refusal with status 200 says nothing of the task.
  return wire.refusal?.(answer.body) === undefined ? wire.polled(answer.body) : { state: "unknown" };
}

async function hearOfBatch(tools: TaskTools, row: TaskRow, word: BatchWord): Promise<void> {
  switch (word.kind) {
    case "missing":
      return missed(tools, row);
    case "unheard":
      return unclear(tools, row);
    case "unpaid":
      return failTask(tools, row, word.end);
    case "decided":
      return bookTask(tools, word.row);
    default:
      return endLate(tools, row);
  }
}

function unheard({ upstreamStatus }: RelayFault): Polled | "missing" {
  return upstreamStatus === 404 ? "missing" : { state: "unknown" };
}

async function missed(tools: TaskTools, row: TaskRow): Promise<void> {
  if (row.misses + 1 >= MOST_MISSES) {
    const message = "上游已没有该任务，未收费";
    return failTask(tools, row, { state: "failed", code: "task_lost", message });
  }
  await changeOpenTask(tools.db, row.id, { misses: row.misses + 1 });
  await endLate(tools, row);
}

/** Takes in what an upstream says of a task whose end is open. */
export async function hearOfTask(tools: TaskTools, row: TaskRow, polled: Polled): Promise<void> {
  switch (polled.state) {
    case "done": {
      const { seconds, tokens, usage } = polled;
      const result = tools.secrets.seal(polled.result, TASK_SEAL);
      return completeTask(tools, row, { result, made: { seconds, tokens, usage } });
    }
    case "cancelled":
      // What came before is paid.
      return polled.usage === undefined
        ? failTask(tools, row, polled)
        : completeTask(tools, row, { result: "", made: { usage: polled.usage }, state: "cancelled" });
    case "failed":
      return failTask(tools, row, { ...polled, isTheirs: true });
    case "queued":
    case "in_progress": {
      const progress = Math.max(row.progress, Math.min(Math.max(Math.round(polled.progress ?? 0), 0), 99));
      const isNews = polled.state !== row.state || progress !== row.progress || row.misses > 0;
      if (isNews) await changeOpenTask(tools.db, row.id, { state: polled.state, progress, misses: 0 });
      return endLate(tools, row);
    }
    default:
      return unclear(tools, row);
  }
}

/** Nothing was said of the task, also not that it is unknown: what was said of that before is not in a row with what comes. */
async function unclear(tools: TaskTools, row: TaskRow): Promise<void> {
  if (row.misses > 0) await changeOpenTask(tools.db, row.id, { misses: 0 });
  await endLate(tools, row);
}

/** A task that its upstream has not finished in time costs nothing, whatever comes of it. */
async function endLate(tools: TaskTools, row: TaskRow): Promise<void> {
  if (tools.clock.seconds() < row.deadline_at) return;
  await failTask(tools, row, { state: "failed", code: "timeout", message: "上游未在期限内完成任务，未收费" });
}
