// A task as its client reads it: OpenAI's video object. The upstream's own address of a video is nowhere in it.

import { hasEnded, type TaskRow } from "#server/store/tasks.ts";
import { factsOf } from "#server/tasks/end.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";

/** How long a task is kept. Unit: seconds. */
const KEPT_SEC = 30 * 86_400;

export function videoObject(row: TaskRow): JsonRecord {
  const { seconds, size } = factsOf(row);
  const ended = hasEnded(row);
  const status = statusOf(row, ended);
  return {
    id: row.task_id,
    // As other gateways name it.
    task_id: row.task_id,
    object: "video",
    model: row.model,
    status,
    // All of it is told when the charge is booked.
    progress: ended || row.progress < 100 ? row.progress : 99,
    created_at: row.created_at,
    completed_at: ended && row.state === "completed" ? row.ended_at : null,
    expires_at: ended && row.state === "completed" ? row.ended_at + KEPT_SEC : null,
    seconds: String(seconds),
    size,
    remixed_from_video_id: null,
    error: status === "failed" ? { code: row.code, message: row.message } : null,
  };
}

/** OpenAI has no word for a cancelled video. */
function statusOf({ state }: TaskRow, ended: boolean): string {
  if (state === "submitting") return "queued";
  if (state === "queued" || state === "in_progress") return state;
  if (!ended) return "in_progress";
  return state === "cancelled" ? "failed" : state;
}
