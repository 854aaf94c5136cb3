// Cancelling a task: its upstream is asked first, since what goes on there costs the operator. An administrator may end it without that.
import type { VideoWireName } from "#contract/video.ts";
import type { TaskRow } from "#server/store/tasks.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import { polledResponse, storedRequest } from "#server/upstream/stored/requests.ts";
import { callTask, type TaskAnswer } from "#server/upstream/video/call.ts";
import { videoWires } from "#server/upstream/video/index.ts";
import { cancelBatch } from "./batch/hear.ts";
import { aboutTask, callToolsOf, channelOfTask, TASK_SEAL, type TaskTools } from "./channel.ts";
import { failTask } from "./end.ts";
import { hearOfTask } from "./poll.ts";

const CANCELLED = { state: "cancelled", code: "cancelled", message: "任务已取消，未收费" } as const;

/** Whether it was cancelled; false = its upstream goes on with it. A fault = its upstream, or the way there, did not answer. */
export type Cancelled = boolean | RelayFault;

/**
 * Cancels a task at its upstream. `isForced` = it ends for its owner all the same. A batch ends by itself when its upstream has stopped:
 * what it has answered by then is paid.
 */
export async function cancelTask(tools: TaskTools, row: TaskRow, isForced = false): Promise<Cancelled> {
  const cancelled = await cancelUpstream(tools, row);
  if (!isForced && (row.kind === "batch" || cancelled !== true)) return cancelled;
  await failTask(tools, row, CANCELLED);
  return true;
}

async function cancelUpstream(tools: TaskTools, row: TaskRow): Promise<Cancelled> {
  if (row.upstream_sealed === "") return false;
  const channel = await channelOfTask(tools, row);
  if (channel === undefined || channel === "gone") return false;
  if (row.kind === "batch") return ofAnswer(await cancelBatch(tools, row, channel));
  const id = tools.secrets.open(row.upstream_sealed, TASK_SEAL);
  const cancel =
    row.kind === "response"
      ? storedRequest(channel, "POST", { id, tail: "/cancel" })
      : videoWires[row.wire as VideoWireName].cancel?.(id); // what submitVideo wrote
  if (cancel === undefined) return false;
  const answer = await callTask(callToolsOf(tools), channel, cancel, aboutTask(tools, channel, row));
  // What was made before is paid: then the cancelling is no refund.
  if (answer.kind === "answer" && row.kind === "response")
    await hearOfTask(tools, row, polledResponse(answer.body));
  return ofAnswer(answer);
}

/** Only an upstream that was heard has refused. */
function ofAnswer(answer: TaskAnswer): Cancelled {
  if (answer.kind === "answer") return true;
  return answer.fault.upstreamStatus === 0 ? answer.fault : false;
}
