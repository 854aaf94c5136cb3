// Files and batches as their clients read them: OpenAI's objects, with ids of ours (requirements C57).
import type { FileRow } from "#server/store/batch-files.ts";
import { hasEnded, type TaskRow } from "#server/store/tasks.ts";
import { batchFactsOf } from "#server/tasks/batch/facts.ts";
import { BATCH_TIMES } from "#server/upstream/batch/wire.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";

export function fileObject(row: Omit<FileRow, "id">): JsonRecord {
  return {
    id: row.file_id,
    object: "file",
    bytes: row.bytes,
    created_at: row.created_at,
    expires_at: row.expires_at,
    filename: row.filename,
    purpose: row.purpose,
    status: "processed",
    status_details: null,
  };
}

/** Words of the upstream that say that a batch has ended: told when it is booked. */
const ENDED: ReadonlySet<string> = new Set(["completed", "failed", "expired", "cancelled"]);
/** Of the words of other vendors OpenAI's clients know none. */
const KNOWN: ReadonlySet<string> = new Set(["validating", "in_progress", "finalizing", "cancelling"]);

export function batchObject(row: TaskRow): JsonRecord {
  const facts = batchFactsOf(row);
  const isEnded = hasEnded(row);
  const status = statusOf(row, facts.status, isEnded);
  const times = Object.fromEntries(BATCH_TIMES.map((name) => [name, facts.times[name] ?? null]));
  const ended =
    isEnded && ENDED.has(status)
      ? { [`${status}_at`]: facts.times[`${status}_at` as "failed_at"] ?? row.ended_at }
      : {};
  return {
    id: row.task_id,
    object: "batch",
    endpoint: facts.endpoint,
    model: row.model,
    errors:
      status === "failed" && row.code !== ""
        ? { object: "list", data: [{ code: row.code, message: row.message, param: null, line: null }] }
        : null,
    input_file_id: facts.inputFile,
    completion_window: "24h",
    status,
    output_file_id: (isEnded && facts.outputFile) || null,
    error_file_id: (isEnded && facts.errorFile) || null,
    created_at: row.created_at,
    ...times,
    ...ended,
    request_counts: { total: facts.lines, completed: facts.completed, failed: facts.failed },
    metadata: facts.metadata,
  };
}

function statusOf({ state }: TaskRow, said: string, isEnded: boolean): string {
  if (!isEnded) {
    if (KNOWN.has(said)) return said;
    return ENDED.has(said) ? "finalizing" : "validating";
  }
  if (state === "completed") return "completed";
  if (state === "cancelled") return "cancelled";
  return said === "expired" ? said : "failed";
}
