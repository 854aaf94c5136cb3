// Cancelling a task: its upstream is asked first, since what goes on there costs the operator. An administrator may end it without that.
import type { VideoWireName } from "#contract/video.ts";
import type { TaskRow } from "#server/store/tasks.ts";
import { polledResponse, storedRequest } from "#server/upstream/stored/requests.ts";
import { callTask } from "#server/upstream/video/call.ts";
import { videoWires } from "#server/upstream/video/index.ts";
import { cancelBatch } from "./batch/hear.ts";
import { callToolsOf, channelOfTask, TASK_SEAL, type TaskTools } from "./channel.ts";
import { failTask } from "./end.ts";
import { hearOfTask } from "./poll.ts";

const CANCELLED = { state: "cancelled", code: "cancelled", message: "任务已取消，未收费" } as const;

/**
 * Whether it was cancelled; false = its upstream goes on with it. `isForced` = it ends for its owner all the same. A batch ends by itself
 * when its upstream has stopped: what it has answered by then is paid.
 */
export async function cancelTask(tools: TaskTools, row: TaskRow, isForced = false): Promise<boolean> {
  const isCancelled = await cancelUpstream(tools, row);
  if (!isForced && (row.kind === "batch" || !isCancelled)) return isCancelled;
  await failTask(tools, row, CANCELLED);
  return true;
}

async function cancelUpstream(tools: TaskTools, row: TaskRow): Promise<boolean> {
  if (row.upstream_sealed === "") return false;
  const channel = await channelOfTask(tools, row);
  if (channel === undefined || channel === "gone") return false;
  if (row.kind === "batch") return cancelBatch(tools, row, channel);
  const id = tools.secrets.open(row.upstream_sealed, TASK_SEAL);
  const cancel =
    row.kind === "response"
      ? storedRequest(channel, "POST", { id, tail: "/cancel" })
      : videoWires[row.wire as VideoWireName].cancel?.(id); // what submitVideo wrote
  if (cancel === undefined) return false;
  const answer = await callTask(callToolsOf(tools), channel, cancel);
  // What was made before is paid: then the cancelling is no refund.
  if (answer.kind === "answer" && row.kind === "response")
    await hearOfTask(tools, row, polledResponse(answer.body));
  return answer.kind === "answer";
}
