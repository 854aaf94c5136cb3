// OpenAI's interface for files and batches as an upstream has it: where it is, what its answers mean, and what a line of its results says.
// Source: vendors/batch-openai and the like. An answer that is not understood ends nothing (requirements C54). Pure.
import { usageFromResponses } from "#server/upstream/hub/responses.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import { readUsage, type TokenUsage } from "#server/upstream/usage.ts";
import { numberAt, textAt, type VideoRequest } from "#server/upstream/video/wire.ts";

/** A request about files or batches; `tail` begins with a slash. */
export function batchRequest(
  { provider }: { readonly provider: { readonly batch?: string } },
  method: VideoRequest["method"],
  tail: string,
  body?: JsonRecord,
): VideoRequest {
  return { method, path: (provider.batch ?? "") + tail, ...(body !== undefined && { body }) };
}

export const fileTail = (id: string) => `/files/${encodeURIComponent(id)}`;
export const batchTail = (id: string) => `/batches/${encodeURIComponent(id)}`;

/** The words for a batch that has not ended; one of them is of a vendor with queues (vendors/batch-siliconflow). */
const RUNNING: ReadonlyMap<string, "queued" | "in_progress"> = new Map([
  ["validating", "queued"],
  ["in_queue", "queued"],
  ["in_progress", "in_progress"],
  ["finalizing", "in_progress"],
  ["cancelling", "in_progress"],
]);
const ENDS: ReadonlySet<string> = new Set(["completed", "failed", "expired", "cancelled"]);

export const BATCH_TIMES = [
  "in_progress_at",
  "expires_at",
  "finalizing_at",
  "completed_at",
  "failed_at",
  "expired_at",
  "cancelling_at",
  "cancelled_at",
] as const;
export type BatchTimes = Partial<Record<(typeof BATCH_TIMES)[number], number>>;

/** What an upstream says of a batch. */
export interface HeardBatch {
  /** `unknown` = nothing that counts. */
  readonly state: "queued" | "in_progress" | "ended" | "unknown";
  /** The upstream's word. */
  readonly status: string;
  /** undefined = it does not say. */
  readonly counts: { readonly completed: number; readonly failed: number } | undefined;
  readonly times: BatchTimes;
  /** Of the upstream; "" = there is none. */
  readonly outputFile: string;
  readonly errorFile: string;
  /** Why the batch as a whole was refused; "" = it was not. */
  readonly code: string;
  readonly message: string;
}

export function heardBatch(body: JsonRecord): HeardBatch {
  const status = textAt(body, "status");
  const counts = asObject(body["request_counts"]);
  const completed = numberAt(counts, "completed");
  const times = BATCH_TIMES.flatMap((name) => {
    const at = numberAt(body, name);
    return at === undefined || at <= 0 ? [] : [[name, Math.trunc(at)] as const];
  });
  return {
    state: ENDS.has(status) ? "ended" : (RUNNING.get(status) ?? "unknown"),
    status,
    counts: completed === undefined ? undefined : { completed, failed: numberAt(counts, "failed") ?? 0 },
    times: Object.fromEntries(times),
    outputFile: textAt(body, "output_file_id"),
    errorFile: textAt(body, "error_file_id"),
    code: textAt(body, "errors", "data", 0, "code"),
    message: textAt(body, "errors", "data", 0, "message"),
  };
}

/** More than any model takes. */
const MOST = { promptTokens: 20_000_000, completionTokens: 2_000_000 };

/** What a line of results says; `usage` undefined = it was answered, and its usage is not told. */
export interface HeardLine {
  readonly customId: string;
  readonly isAnswered: boolean;
  readonly usage: TokenUsage | undefined;
}

/** Reads a line of an output or error file; undefined = it is none. */
export function heardLine(text: string): HeardLine | undefined {
  const line = parsed(text);
  const customId = line?.["custom_id"];
  if (line === undefined || typeof customId !== "string") return undefined;
  const response = asObject(line["response"]);
  const status = numberAt(response, "status_code") ?? 0;
  const isAnswered = status >= 200 && status < 300 && (line["error"] ?? null) === null;
  return { customId, isAnswered, usage: isAnswered ? usageIn(asObject(response?.["body"])) : undefined };
}

function usageIn(body: JsonRecord | undefined): TokenUsage | undefined {
  const given = asObject(body?.["usage"]);
  const usage = given !== undefined && body?.["object"] === "response" ? usageFromResponses(given) : given;
  return usage === undefined ? undefined : readUsage(usage, MOST)?.usage;
}

function parsed(text: string): JsonRecord | undefined {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return undefined;
  }
}
