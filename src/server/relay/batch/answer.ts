// Calls about files and batches: upload and submit, look, list, fetch, cancel, delete (requirements C57–C59). Everything is found by who owns
// it: what is another's is not there. Loaded when it is first asked for.
import type { Caller } from "#server/relay/admission/admit.ts";
import { faultOf } from "#server/relay/finish.ts";
import { listAnswer, listAsked } from "#server/relay/http/list-page.ts";
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import type { BatchRoute } from "#server/relay/http/routes.ts";
import { type Submission, type SubmissionCall, submission } from "#server/relay/submission.ts";
import { knownCaller } from "#server/relay/tell-limits.ts";
import { type FileRow, findFileOf, hideFile, listFilesOf } from "#server/store/batch-files.ts";
import { findTaskOf, hasEnded, listTasksOf, type TaskRow } from "#server/store/tasks.ts";
import { cancelTask } from "#server/tasks/cancel.ts";
import { channelOfTask, TASK_SEAL } from "#server/tasks/channel.ts";
import { lookAfter } from "#server/tasks/poll.ts";
import { batchRequest, fileTail } from "#server/upstream/batch/wire.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import { callTask } from "#server/upstream/video/call.ts";
import { aboutFile, sendFile } from "./content.ts";
import { batchObject, fileObject } from "./object.ts";
import { readOrder, submitBatch } from "./submit.ts";
import { MOST_FORM, uploadFile } from "./upload.ts";

interface Call extends SubmissionCall {
  readonly route: BatchRoute;
}

/** Answers a call. Never throws. */
export async function answerBatchCall(call: Call): Promise<void> {
  const { response, route } = call;
  if (route.verb === "create") {
    const kind = { name: route.of, endpoint: "chat", mostRest: MOST_FORM } as const;
    return submission(call, kind, (...begun) => create(call, ...begun));
  }
  try {
    // A caller who has used up his key may still fetch what he paid for.
    const caller = await knownCaller(call);
    if (route.of === "batches") response.sendJson(200, await aboutBatches(call, caller));
    else await aboutFiles(call, caller);
  } catch (error) {
    response.sendFault(faultOf(error));
  }
}

/** Throws: LocalError 404, alike for what is another's and for what never was. */
async function ownFile({ services }: Call, caller: Caller, fileId: string): Promise<FileRow> {
  const now = services.ctx.clock.seconds();
  const row = await findFileOf(services.ctx.db, caller, { fileId, now });
  if (row === undefined) throw new LocalError(localErrors.fileUnknown(fileId));
  return row;
}

async function aboutFiles(call: Call, caller: Caller): Promise<void> {
  const { response, route } = call;
  if (route.verb === "list") return response.sendJson(200, await filesOf(call, caller));
  const row = await ownFile(call, caller, route.id);
  if (route.verb === "content") return sendFile(call, row);
  if (route.verb === "delete") await deleteFile(call, row);
  response.sendJson(
    200,
    route.verb === "delete" ? { id: row.file_id, object: "file", deleted: true } : fileObject(row),
  );
}

/** Rows of one answer; OpenAI's clients ask for the rest by the cursor. */
const MOST_FILES = 1_000;

async function filesOf(call: Call, caller: Caller): Promise<JsonRecord> {
  const {
    limit: wanted,
    isAscending,
    after: cursor,
    query,
  } = listAsked(call.req, { usual: 100, most: 10_000 });
  const limit = Math.min(wanted, MOST_FILES);
  const { db, clock } = call.services.ctx;
  const after = cursor === "" ? undefined : (await ownFile(call, caller, cursor)).id;
  const purpose = query.get("purpose") ?? "";
  const asked = { now: clock.seconds(), purpose, after, limit: limit + 1, isAscending };
  const rows = await listFilesOf(db, caller, asked);
  return listAnswer(rows, limit, { object: fileObject, id: ({ file_id }) => file_id });
}

/** Also where its upstream does not delete it: then it expires there. Throws: LocalError when the upstream cannot be asked. */
async function deleteFile(call: Call, row: FileRow): Promise<void> {
  const { ctx, upstream } = call.services;
  const channel = await channelOfTask(ctx, row);
  if (channel !== "gone" && channel !== undefined) {
    const id = ctx.secrets.open(row.upstream_sealed, TASK_SEAL);
    const request = batchRequest(channel, "DELETE", fileTail(id));
    const answer = await callTask(upstream, channel, request, aboutFile(call, channel, row));
    const isThere = answer.kind === "failed" && answer.fault.upstreamStatus !== 404;
    if (isThere) throw new LocalError(answer.fault);
  }
  await hideFile(ctx.db, row.id, ctx.clock.seconds());
}

async function ownBatch({ services }: Call, caller: Caller, id: string): Promise<TaskRow> {
  const row = await findTaskOf(services.ctx.db, caller, id);
  if (row?.kind !== "batch") throw new LocalError(localErrors.batchUnknown(id));
  return row;
}

async function aboutBatches(call: Call, caller: Caller): Promise<JsonRecord> {
  const { services, route } = call;
  const { ctx } = services;
  if (route.verb === "list") return batchesOf(call, caller);
  const row = await ownBatch(call, caller, route.id);
  if (route.verb === "cancel") {
    const outcome = !hasEnded(row) && row.outcome === "" && (await cancelTask(ctx, row));
    if (outcome !== true) throw new LocalError(outcome || localErrors.taskNotCancellable());
  } else if (isAskable(row, ctx.clock.seconds())) await lookAfter(ctx, row);
  return batchObject(await ownBatch(call, caller, route.id));
}

/** Where its upstream did not know it, or had too few results yet, it is asked again in its turn: a client's looks hasten no end. */
function isAskable(row: TaskRow, nowSec: number): boolean {
  return !hasEnded(row) && (row.misses === 0 || nowSec >= row.next_at);
}

async function batchesOf(call: Call, caller: Caller): Promise<JsonRecord> {
  const { limit, isAscending, after: cursor } = listAsked(call.req, { usual: 20, most: 100 });
  const after = cursor === "" ? undefined : (await ownBatch(call, caller, cursor)).id;
  const asked = { kind: "batch", after, limit: limit + 1, isAscending } as const;
  const rows = await listTasksOf(call.services.ctx.db, caller, asked);
  return listAnswer(rows, limit, { object: batchObject, id: ({ task_id }) => task_id });
}

/** An upload, or a batch that is submitted. */
async function create(
  { services, req, response, route }: Call,
  state: Submission,
  caller: Caller,
): Promise<JsonRecord> {
  if (route.of === "files") return fileObject(await uploadFile({ services, state, caller, req, response }));
  const order = readOrder(await services.readBody(req, response));
  const row = await submitBatch(services, state, { caller, order });
  return batchObject(row);
}
