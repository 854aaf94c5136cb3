// Books what was decided of a batch, part by part: who is killed in between goes on with the parts that are left, and the ledger takes each
// of them once (requirements C58). One entry for a part of up to a thousand lines, and one in the log that explains it: an entry of each line
// would be fifty thousand rows of a batch, and one of the whole batch could not be checked against the entries of the ledger.
import { type BatchPart, listOpenParts, markPartBooked } from "#server/store/batch-files.ts";
import { markTaskBooked, type TaskRow } from "#server/store/tasks.ts";
import type { TaskTools } from "#server/tasks/channel.ts";
import { settleTask } from "#server/tasks/settle.ts";
import { batchFactsOf, explainPart, type PartSum, priceOf } from "./facts.ts";

/** Throws: when the ledger cannot take it now; it is tried again. */
export async function bookBatch(tools: TaskTools, row: TaskRow): Promise<void> {
  const { db, ledger } = tools;
  for (const part of await listOpenParts(db, row.id)) {
    await ledger.resume(part.request_id);
    if (row.outcome === "charge" && part.sum !== "") await settlePart(tools, row, part);
    else await ledger.release(part.request_id);
    await markPartBooked(db, part);
  }
  await markTaskBooked(db, row.id);
}

async function settlePart(
  tools: TaskTools,
  row: TaskRow,
  { request_id: requestId, sum: text }: BatchPart,
): Promise<void> {
  // What decideBatch wrote.
  const sum = JSON.parse(text) as PartSum;
  const { prices, group, isGroupNamed } = batchFactsOf(row);
  const { model } = sum;
  const stored = prices[model];
  if (stored === undefined) throw new Error(`no price of ${model} was noted`);
  const { usage, content: explained } = explainPart(sum, priceOf(stored));
  const content = isGroupNamed ? `${explained}（分组 ${group}）` : explained;
  const charge = BigInt(sum.charge);
  const isEstimated = sum.untold > 0;
  const priceVersion = stored.version;
  await settleTask(tools, row, { requestId, model, charge, usage, content, isEstimated, priceVersion });
}
