// Takes in what an upstream says of a batch: how far it is, and when it has ended what its lines come to, decided once in the rows of the
// batch and of its parts, and then booked. The first to look does it: the job, or the client (requirements C58).
import type { LiveChannel } from "#server/channels/live-channel.ts";
import { randomHex } from "#server/secrets.ts";
import { decidePart, insertFile, listCountedParts } from "#server/store/batch-files.ts";
import { changeOpenTask, type TaskRow } from "#server/store/tasks.ts";
import { aboutTask, callToolsOf, TASK_SEAL, type TaskTools } from "#server/tasks/channel.ts";
import type { TaskEnd } from "#server/tasks/end.ts";
import { batchRequest, batchTail, type HeardBatch, heardBatch } from "#server/upstream/batch/wire.ts";
import { callTask, type TaskAnswer } from "#server/upstream/video/call.ts";
import { type BatchFacts, batchFactsOf } from "./facts.ts";
import { type BatchSum, sumResults } from "./results.ts";

/** How long OpenAI keeps the results of a batch. Unit: seconds. */
export const FILE_SEC = 30 * 86_400;
/** So often results that lack lines are read again: a store may show what was written last a moment late. */
const MOST_READS = 3;

/** What comes of a look: it goes on, its upstream does not know it or says nothing of it, nothing of it is paid, or it is decided in its row. */
export type BatchWord =
  | { readonly kind: "open" | "missing" | "unheard" }
  | { readonly kind: "unpaid"; readonly end: TaskEnd }
  | { readonly kind: "decided"; readonly row: TaskRow };

/** Asks the upstream. */
export async function askBatch(tools: TaskTools, row: TaskRow, channel: LiveChannel): Promise<BatchWord> {
  const id = tools.secrets.open(row.upstream_sealed, TASK_SEAL);
  const request = batchRequest(channel, "GET", batchTail(id));
  const answer = await callTask(callToolsOf(tools), channel, request, aboutTask(tools, channel, row));
  if (answer.kind === "failed") return { kind: answer.fault.upstreamStatus === 404 ? "missing" : "unheard" };
  return hearBatch(tools, row, channel, heardBatch(answer.body));
}

/** Asks the upstream to cancel it, and notes that it does; lines that were answered by then are paid. */
export async function cancelBatch(tools: TaskTools, row: TaskRow, channel: LiveChannel): Promise<TaskAnswer> {
  const id = tools.secrets.open(row.upstream_sealed, TASK_SEAL);
  const request = batchRequest(channel, "POST", `${batchTail(id)}/cancel`, {});
  const answer = await callTask(callToolsOf(tools), channel, request, aboutTask(tools, channel, row));
  if (answer.kind === "failed") return answer;
  const heard = heardBatch(answer.body);
  const facts = factsWith(batchFactsOf(row), { ...heard, status: heard.status || "cancelling" });
  const message = "已请求取消，已完成的行照常收费";
  await changeOpenTask(tools.db, row.id, { facts: JSON.stringify(facts), message });
  return answer;
}

function factsWith(facts: BatchFacts, { status, counts, times }: HeardBatch): BatchFacts {
  const { completed, failed } = counts ?? facts;
  return { ...facts, status, completed, failed, times: { ...facts.times, ...times } };
}

async function hearBatch(
  tools: TaskTools,
  row: TaskRow,
  channel: LiveChannel,
  heard: HeardBatch,
): Promise<BatchWord> {
  if (heard.state === "unknown") return { kind: "unheard" };
  const facts = factsWith(batchFactsOf(row), heard);
  if (heard.state === "ended") return end(tools, { row, channel, heard, facts });
  const share = (facts.completed + facts.failed) / facts.lines;
  const progress = Math.max(row.progress, Math.min(Math.floor(share * 100), 99));
  const change = { facts: JSON.stringify(facts), state: heard.state, progress, misses: 0 };
  const isNews = change.facts !== row.facts || change.state !== row.state || row.misses > 0;
  if (isNews) await changeOpenTask(tools.db, row.id, change);
  return { kind: "open" };
}

interface Ended {
  readonly row: TaskRow;
  readonly channel: LiveChannel;
  readonly heard: HeardBatch;
  readonly facts: BatchFacts;
}

async function end(tools: TaskTools, ended: Ended): Promise<BatchWord> {
  const { row, channel, heard, facts } = ended;
  const { secrets, db } = tools;
  const mayBeLate = row.misses + 1 < MOST_READS;
  const told = heard.counts?.completed ?? 0;
  const hasFiles = heard.outputFile + heard.errorFile !== "";
  if (!hasFiles && (told === 0 || !mayBeLate)) {
    await changeOpenTask(db, row.id, { facts: JSON.stringify(facts) });
    return { kind: "unpaid", end: unpaidEnd(heard) };
  }
  const parts = hasFiles ? await listCountedParts(db, row.id, facts.file) : [];
  const callTools = { ...callToolsOf(tools), secrets };
  const about = aboutTask(tools, channel, row);
  const sum = await sumResults({ tools: callTools, channel, about, facts, parts }, heard);
  const isShort = sum.kind === "sum" && sum.answered < told && mayBeLate;
  if (sum.kind === "fault" || isShort) {
    // It is looked at again, until its deadline.
    const misses = row.misses + (isShort ? 1 : 0);
    await changeOpenTask(db, row.id, { facts: JSON.stringify(facts), misses });
    return { kind: "open" };
  }
  const decided = await decide(tools, ended, sum);
  // Else another look has decided it, and books it.
  return decided === undefined ? { kind: "open" } : { kind: "decided", row: decided };
}

function unpaidEnd({ status, code, message }: HeardBatch): TaskEnd {
  const state = status === "cancelled" ? "cancelled" : "failed";
  const isTheirs = code + message === "" ? undefined : true;
  return { state, code: code || status, message: message || MESSAGES[status] || "", isTheirs };
}

/** Nothing of these was answered. */
const MESSAGES: Readonly<Record<string, string>> = {
  expired: "上游未在期限内完成批处理，未收费",
  cancelled: "批处理已取消，未收费",
  failed: "上游拒绝了批处理，未收费",
  completed: "上游没有返回结果，未收费",
};

const STATES: ReadonlyMap<string, TaskRow["state"]> = new Map([
  ["cancelled", "cancelled"],
  ["expired", "failed"],
  ["failed", "failed"],
]);

/** Decides what becomes of the money; its parts and its files are noted with it, all or nothing. undefined = another call has decided. */
async function decide(
  tools: TaskTools,
  { row, channel, heard, facts }: Ended,
  sum: BatchSum,
): Promise<TaskRow | undefined> {
  const { db, clock, secrets } = tools;
  const now = clock.seconds();
  const [output, error] = sum.bytes;
  const outputFile = heard.outputFile === "" ? "" : newFileId();
  const errorFile = heard.errorFile === "" ? "" : newFileId();
  const counted = { completed: sum.answered, failed: sum.failed, outputFile, errorFile };
  const change = {
    state: STATES.get(heard.status) ?? ("completed" as const),
    outcome: "charge" as const,
    charge: Number(sum.charge),
    facts: JSON.stringify({ ...facts, ...counted } satisfies BatchFacts),
    progress: 100,
    code: heard.status === "expired" ? "expired" : "",
    message: heard.status === "expired" ? "部分行未在期限内完成，只收已完成的行" : "",
    ended_at: now,
  };
  const files = [
    { id: outputFile, upstream: heard.outputFile, bytes: output, name: "output" },
    { id: errorFile, upstream: heard.errorFile, bytes: error, name: "error" },
  ];
  const isOurs = await db.transaction().execute(async (tx) => {
    if (!(await changeOpenTask(tx, row.id, change))) return false;
    for (const [part, one] of sum.parts)
      if (one !== undefined) await decidePart(tx, { task_id: row.id, part }, JSON.stringify(one));
    for (const { id, upstream, bytes, name } of files) {
      if (id === "") continue;
      await insertFile(tx, {
        file_id: id,
        user_id: row.user_id,
        payer_id: row.payer_id,
        channel_id: channel.id,
        key_id: row.key_id,
        upstream_sealed: secrets.seal(upstream, TASK_SEAL),
        purpose: "batch_output",
        filename: `${row.task_id}_${name}.jsonl`,
        bytes,
        endpoint: "",
        created_at: now,
        expires_at: now + FILE_SEC,
        deleted_at: 0,
        trail: "",
      });
    }
    return true;
  });
  return isOurs ? { ...row, ...change } : undefined;
}

/** What a client knows a file by. */
export function newFileId(): string {
  return `file-${randomHex(24)}`;
}
