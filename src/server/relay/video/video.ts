// The Videos API: submit, look, list, fetch, cancel, delete (requirements C52–C57). Everything is found by who owns it: what is another's is
// not there. Loaded when it is first asked for.

import type { Caller } from "#server/relay/admission/admit.ts";
import { faultOf } from "#server/relay/finish.ts";
import { listAnswer, listAsked } from "#server/relay/http/list-page.ts";
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import type { VideoRoute } from "#server/relay/http/routes.ts";
import { type Submission, type SubmissionCall, submission } from "#server/relay/submission.ts";
import { knownCaller } from "#server/relay/tell-limits.ts";
import { findTaskOf, hasEnded, hideTask, listTasksOf, type TaskRow } from "#server/store/tasks.ts";
import { cancelTask } from "#server/tasks/cancel.ts";
import { Cancellation } from "#server/upstream/cancellation.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import { sendContent } from "./content.ts";
import { videoObject } from "./object.ts";
import { readVideo } from "./request.ts";
import { submitVideo } from "./submit.ts";

interface Call extends SubmissionCall {
  readonly route: VideoRoute;
}

/** Answers a call. Never throws. */
export async function answerVideo(call: Call): Promise<void> {
  const { response, route } = call;
  if (route.verb === "submit")
    return submission(call, { name: "videos", endpoint: "images" }, (...begun) => submit(call, ...begun));
  try {
    // A caller who has used up his key may still fetch what he paid for.
    const caller = await knownCaller(call);
    if (route.verb === "list") response.sendJson(200, await list(call, caller));
    else await answerOne(call, await ownTask(call, caller, route.id));
  } catch (error) {
    response.sendFault(faultOf(error));
  }
}

/** Throws: LocalError 404, alike for what is another's and for what never was. */
async function ownTask({ services }: Call, caller: Caller, id: string): Promise<TaskRow> {
  const row = await findTaskOf(services.ctx.db, caller, id);
  if (row?.kind !== "video") throw new LocalError(localErrors.videoUnknown(id));
  return row;
}

async function answerOne(call: Call, row: TaskRow): Promise<void> {
  const { services, response, route } = call;
  const { ctx } = services;
  switch (route.verb) {
    case "content":
      return sendContent(services, call, row);
    case "cancel":
      return response.sendJson(200, await cancelled(call, row));
    case "delete":
      if (!hasEnded(row)) await cancelled(call, row);
      await hideTask(ctx.db, row.id, ctx.clock.seconds());
      return response.sendJson(200, { id: row.task_id, object: "video.deleted", deleted: true });
    default:
      return response.sendJson(200, videoObject(row));
  }
}

/** Throws: LocalError 409 where it has ended, or its upstream goes on with it; the fault where that was not reached. */
async function cancelled(call: Call, row: TaskRow): Promise<JsonRecord> {
  const { ctx } = call.services;
  const outcome = !hasEnded(row) && (await cancelTask(ctx, row));
  if (outcome !== true) throw new LocalError(outcome || localErrors.taskNotCancellable());
  const after = await findTaskOf(ctx.db, { userId: row.user_id, payerId: row.payer_id }, row.task_id);
  return videoObject(after ?? row);
}

async function list(call: Call, caller: Caller): Promise<JsonRecord> {
  const { after: cursor, limit, isAscending } = listAsked(call.req, { usual: 20, most: 100 });
  const after = cursor === "" ? undefined : (await ownTask(call, caller, cursor)).id;
  const asked = { kind: "video", after, limit: limit + 1, isAscending } as const;
  const rows = await listTasksOf(call.services.ctx.db, caller, asked);
  return listAnswer(rows, limit, { object: videoObject, id: ({ task_id }) => task_id });
}

async function submit(
  { services, req, response }: Call,
  state: Submission,
  caller: Caller,
): Promise<JsonRecord> {
  const bytes = await services.readBody(req, response);
  const order = await readVideo(bytes, req.headers["content-type"] ?? "");
  state.model = order.model;
  const cancellation = new Cancellation();
  return videoObject(await submitVideo(services, state, { caller, order, bytes, cancellation }));
}
