// The entry in the usage log of a task that failed after its upstream took it: it cost nothing, and says why it went to its channel
// (docs/decisions/033, requirements C47).
import { LogType } from "#contract/log.ts";
import { insertLogs } from "#server/store/logs.ts";
import { NO_CALL } from "#server/store/no-call.ts";
import { findTaskCaller, type TaskRow } from "#server/store/tasks.ts";
import type { TaskTools } from "./channel.ts";

/** What an upstream says may repeat the request, which no log holds (requirements P01); its task tells its owner. */
const THEIRS = "上游未能完成任务，未收费，原因见任务";

/** Best effort: the end of the task waits for it, and does not depend on it. `isTheirs` = what the row tells is the upstream's. */
export async function logFailure(
  { db, options, events }: Pick<TaskTools, "db" | "options" | "events">,
  row: TaskRow,
  isTheirs: boolean,
): Promise<void> {
  if (!options.get("LogConsumeEnabled")) return;
  try {
    const caller = await findTaskCaller(db, row);
    const entry = {
      ...NO_CALL,
      user_id: row.payer_id,
      member_id: row.payer_id === row.user_id ? 0 : row.user_id,
      project_id: caller?.project_id ?? 0,
      created_at: row.ended_at,
      type: LogType.error,
      content: isTheirs ? `upstream_error：${THEIRS}` : `${row.code}：${row.message}`,
      username: caller?.username ?? "",
      token_id: row.token_id,
      token_name: caller?.token_name ?? "",
      model_name: row.model,
      channel_id: row.channel_id,
      key_id: row.key_id,
      request_id: row.request_id,
      elapsed_time: (row.ended_at - row.created_at) * 1_000,
      trail: row.trail,
    };
    await insertLogs(db, [entry]);
  } catch (error) {
    events.backgroundFailed({ task: `entry of task ${row.task_id}`, error });
  }
}
