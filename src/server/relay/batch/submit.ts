// Takes an order for a batch: a row, a reservation of each part of its file, and then the upstream that has the file, and no other. Once
// something was sent and it is not known what became of it, nothing is sent again (requirements C53, C59).
import type { LiveChannel } from "#server/channels/live-channel.ts";
import type { Caller } from "#server/relay/admission/admit.ts";
import { held } from "#server/relay/billing/account.ts";
import { costCapOf } from "#server/relay/billing/cost-cap.ts";
import { limitErrors } from "#server/relay/http/limit-errors.ts";
import { isLack, LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import { jsonValues } from "#server/relay/http/request-body.ts";
import { countCall } from "#server/relay/pass-limits.ts";
import { reserveTask } from "#server/relay/reserve-task.ts";
import { countAgainst, report } from "#server/relay/routing/failed-calls.ts";
import { type RequestState, readerOf } from "#server/relay/routing/failover.ts";
import { membersOf } from "#server/relay/routing/groups.ts";
import type { Services } from "#server/relay/services.ts";
import type { Submission } from "#server/relay/submission.ts";
import { randomHex } from "#server/secrets.ts";
import {
  type FilePart,
  type FileRow,
  findFileOf,
  insertBatchParts,
  listFileParts,
} from "#server/store/batch-files.ts";
import { parseDecision } from "#server/store/failed-attempts.ts";
import { changeOpenTask, type TaskRow } from "#server/store/tasks.ts";
import { type BatchFacts, lineEstimate, linesOf, priceOf, storedPrice } from "#server/tasks/batch/facts.ts";
import { beginTask, giveUpTask } from "#server/tasks/begin.ts";
import { aboutTask, channelOfTask, TASK_SEAL } from "#server/tasks/channel.ts";
import { BATCH_SEC, pollDelay } from "#server/tasks/poll.ts";
import { batchRequest, heardBatch } from "#server/upstream/batch/wire.ts";
import { type RelayFault, unreadableFault } from "#server/upstream/errors/fault.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import { callTask } from "#server/upstream/video/call.ts";
import { textAt } from "#server/upstream/video/wire.ts";
import { plainEndpoint } from "./line-reader.ts";

/** Source: vendors/batch-openai. */
const MOST_METADATA = { pairs: 16, key: 64, value: 512 } as const;

/** What a client asks for. */
export interface BatchOrder {
  readonly inputFile: string;
  readonly endpoint: string;
  readonly metadata: Readonly<Record<string, string>> | null;
}

/** Reads the request. Throws: LocalError 400. */
export function readOrder(bytes: Buffer): BatchOrder {
  const body = jsonValues(bytes);
  const inputFile = textOf(body, "input_file_id");
  const endpoint = textOf(body, "endpoint");
  if (textOf(body, "completion_window") !== "24h")
    throw new LocalError(localErrors.fieldInvalid("completion_window"));
  const given = body["metadata"] ?? null;
  const metadata = given === null ? null : asObject(given);
  if (metadata === undefined || (metadata !== null && !isMetadata(metadata)))
    throw new LocalError(localErrors.fieldInvalid("metadata"));
  // Results are kept as long as usual: a wish that we do not pass on is refused.
  if ((body["output_expires_after"] ?? null) !== null)
    throw new LocalError(localErrors.fieldInvalid("output_expires_after"));
  return { inputFile, endpoint, metadata };
}

function textOf(body: JsonRecord, name: string): string {
  const value = body[name];
  if (typeof value !== "string" || value === "") throw new LocalError(localErrors.fieldMissing(name));
  return value;
}

function isMetadata(value: JsonRecord): value is Record<string, string> {
  const pairs = Object.entries(value);
  const { pairs: most, key, value: longest } = MOST_METADATA;
  return (
    pairs.length <= most &&
    pairs.every(([name, text]) => name.length <= key && typeof text === "string" && text.length <= longest)
  );
}

interface Ready {
  readonly caller: Caller;
  readonly channel: LiveChannel;
  readonly file: FileRow;
  readonly parts: readonly FilePart[];
  readonly order: BatchOrder;
}

/** Submits it. Returns its row. Throws: LocalError. */
export async function submitBatch(
  services: Services,
  state: Submission,
  { caller: asking, order }: { readonly caller: Caller; readonly order: BatchOrder },
): Promise<TaskRow> {
  const { ctx } = services;
  const now = ctx.clock.seconds();
  const file = await findFileOf(ctx.db, asking, { fileId: order.inputFile, now });
  if (file?.purpose !== "batch") throw new LocalError(localErrors.fileUnknown(order.inputFile));
  if (file.endpoint !== plainEndpoint(order.endpoint))
    throw new LocalError(localErrors.fieldInvalid("endpoint"));
  const parts = await listFileParts(ctx.db, file.id);
  state.model = parts[0]?.model ?? "";
  const channel = await channelOfTask(ctx, file);
  if (channel === undefined)
    throw new LocalError(localErrors.ledgerUnavailable("the channel cannot be read"));
  if (channel === "gone" || channel.provider.batch === undefined)
    throw new LocalError(localErrors.fileLost(order.inputFile));
  const caller = servedMember(services, asking, { channel, parts, fileId: order.inputFile });
  state.caller = caller;
  state.channel = channel;
  // Where it goes was decided when its file came.
  state.decidedBefore = parseDecision(file.trail);
  const ready = { caller, channel, file, parts, order };
  const facts = factsFor(services, ready);
  // A batch is one call of each of its models; what its lines use, no minute counts.
  const models = caller.limits.length > 0 ? Object.keys(facts.prices) : [];
  const { address } = state;
  for (const model of models)
    await countCall(services, state, { caller, model, input: 0, cap: undefined, output: 0, address });
  const row = await beginTask(ctx, caller, {
    task_id: `batch_${randomHex(24)}`,
    request_id: state.requestId,
    kind: "batch",
    wire: "openai",
    model: state.model,
    facts,
    trail: file.trail,
  });
  try {
    await reserveParts(services, state, { ...ready, row, facts }).catch(unpaid);
    return await submit(services, state, { ...ready, row, facts });
  } catch (error) {
    await giveUpTask(ctx, row, state.trace.isSent);
    throw error;
  }
}

/** The first of the caller's groups that the file's channel serves, with all models of the file. Throws: LocalError. */
function servedMember(
  { ctx }: Services,
  caller: Caller,
  { channel, parts, fileId }: Pick<Ready, "channel" | "parts"> & { readonly fileId: string },
): Caller {
  const models = [...new Set(parts.map(({ model }) => model))];
  const refused = models.find((model) => caller.models?.has(model) === false);
  if (refused !== undefined) throw new LocalError(localErrors.modelNotAllowed(refused));
  const isServed = ({ group, pin }: Caller, model: string) =>
    pin === undefined
      ? ctx.candidates.find(group, model).some(({ id }) => id === channel.id)
      : pin === String(channel.id);
  const member = membersOf(caller).find((one) => models.every((model) => isServed(one, model)));
  if (member === undefined) throw new LocalError(localErrors.fileLost(fileId));
  return member;
}

function factsFor({ bill }: Services, { caller, channel, file, parts, order }: Ready): BatchFacts {
  const ratio = bill.options.get("BatchRatio");
  const prices: Record<string, BatchFacts["prices"][string]> = {};
  for (const { model } of parts) {
    const price = bill.prices().find(model, channel.mapping.get(model) ?? model, caller.group);
    if (price === undefined) throw new LocalError(localErrors.priceMissing(model));
    prices[model] ??= storedPrice(price, ratio);
  }
  return {
    file: file.id,
    inputFile: file.file_id,
    endpoint: order.endpoint,
    metadata: order.metadata,
    lines: parts.reduce((sum, { lines }) => sum + lines, 0),
    completed: 0,
    failed: 0,
    status: "",
    times: {},
    outputFile: "",
    errorFile: "",
    prices,
    group: caller.group,
    isGroupNamed: caller.isGroupNamed,
  };
}

interface Begun extends Ready {
  readonly row: TaskRow;
  readonly facts: BatchFacts;
}

/** Sets all of it aside, part by part; what cannot be is returned with the rest. Throws: LocalError. */
async function reserveParts(
  services: Services,
  state: RequestState,
  { caller, parts, row, facts }: Begun,
): Promise<void> {
  const { ctx, bill } = services;
  const rows = parts.map(({ part }) => ({
    task_id: row.id,
    part,
    request_id: `${state.requestId}-${part + 1}`,
  }));
  // First: a process that finds the batch knows what may be set aside for it.
  await insertBatchParts(ctx.db, rows);
  for (const [at, part] of parts.entries()) {
    const { model } = part;
    const requestId = rows[at]?.request_id ?? "";
    const amount = held(bill, partEstimate(part, { caller, facts, nowSec: ctx.clock.seconds() }), caller);
    const refusal = await reserveTask(services, state, { caller, model, amount, requestId });
    if (refusal !== undefined) throw new LocalError(refusal);
  }
}

/** A lack of quota, the payer's or the key's, has the status that says so (requirements C59); calls have the family's own. */
function unpaid(error: unknown): never {
  throw error instanceof LocalError && isLack(error.fault)
    ? new LocalError({ ...error.fault, status: 402 })
    : error;
}

/** Σ of its lines. Throws: LocalError where one line may cost more than one call of the caller may. */
function partEstimate(
  part: FilePart,
  { caller, facts, nowSec }: { readonly caller: Caller; readonly facts: BatchFacts; readonly nowSec: number },
): bigint {
  const stored = facts.prices[part.model];
  if (stored === undefined) throw new LocalError(localErrors.priceMissing(part.model));
  const price = priceOf(stored);
  const cap = costCapOf(caller, part.model, nowSec);
  let sum = 0n;
  for (const line of linesOf(part)) {
    const amount = lineEstimate(line, price);
    if (cap !== undefined && amount > cap.amount) throw new LocalError(limitErrors.tooDear(cap.row));
    sum += amount;
  }
  return sum;
}

/** Throws: LocalError. */
async function submit(services: Services, state: RequestState, begun: Begun): Promise<TaskRow> {
  const { ctx, upstream } = services;
  const { channel, file, order, row, facts } = begun;
  await changeOpenTask(ctx.db, row.id, { channel_id: channel.id, key_id: channel.keyId });
  // From here on until the answer is understood, it may be there.
  state.trace.isSent = true;
  const answer = await callTask(
    upstream,
    channel,
    batchRequest(channel, "POST", "/batches", {
      input_file_id: ctx.secrets.open(file.upstream_sealed, TASK_SEAL),
      endpoint: order.endpoint,
      completion_window: "24h",
      ...(order.metadata !== null && { metadata: order.metadata }),
    }),
    aboutTask(ctx, channel, row, readerOf(state.headers)),
  );
  if (answer.kind === "failed") {
    state.trace.isSent = answer.isUnsure;
    throw refused(services, state, begun, answer.fault);
  }
  const id = textAt(answer.body, "id");
  if (id === "") throw refused(services, state, begun, unreadableFault("no id of a batch", 200));
  const heard = heardBatch(answer.body);
  const now = ctx.clock.seconds();
  const change = {
    channel_id: channel.id,
    key_id: channel.keyId,
    facts: JSON.stringify({ ...facts, status: heard.status, times: heard.times } satisfies BatchFacts),
    upstream_sealed: ctx.secrets.seal(id, TASK_SEAL),
    state: "queued",
    next_at: Math.ceil(now + pollDelay(0)),
    deadline_at: now + BATCH_SEC,
  } as const;
  await changeOpenTask(ctx.db, row.id, change);
  for (const { part } of begun.parts) ctx.ledger.entrust(`${state.requestId}-${part + 1}`);
  return { ...row, ...change };
}

/** No other channel has the file: what this one says is the last word. */
function refused(
  services: Services,
  { requestId }: RequestState,
  { channel, row }: Begun,
  fault: RelayFault,
): LocalError {
  const { model } = row;
  countAgainst(services, channel, { model, fault, permit: services.health.calling(channel.id, model) });
  report(services, requestId, { channel, fault, willRetry: false });
  return new LocalError(fault);
}
