// Reads the results of a batch, line by line, and adds up what they cost: each line of the client's file once, whatever stands twice, in
// whatever order, in a file that may be read again (requirements C58). Keeps sums and one line.
import type { LiveChannel } from "#server/channels/live-channel.ts";
import type { Secrets } from "#server/secrets.ts";
import type { CountedPart } from "#server/store/batch-files.ts";
import { LineSplitter } from "#server/upstream/batch/line-splitter.ts";
import { BrokenFile, openFile } from "#server/upstream/batch/transfer.ts";
import { batchRequest, fileTail, type HeardBatch, heardLine } from "#server/upstream/batch/wire.ts";
import type { About } from "#server/upstream/call/outgoing.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import type { TaskCallTools } from "#server/upstream/video/call.ts";
import { type BatchFacts, type LineFacts, linesOf, PartCounter, type PartSum, priceOf } from "./facts.ts";

/** An answer with pictures in it is long. */
const MOST_LINE = 64 * 1024 * 1024;
const HASH_LENGTH = 16;

/** What stands for a custom_id in our rows: clients may write into it what they like. */
export function customIdHash(secrets: Pick<Secrets, "hash">, customId: string): string {
  return secrets.hash(customId).slice(0, HASH_LENGTH);
}

/** What the results come to. */
export interface BatchSum {
  readonly kind: "sum";
  /** By the number of the part; one without a sum costs nothing. */
  readonly parts: ReadonlyMap<number, PartSum | undefined>;
  readonly charge: bigint;
  readonly answered: number;
  readonly failed: number;
  /** Of the output and of the error file. */
  readonly bytes: readonly [output: number, error: number];
}

interface Known {
  readonly counter: PartCounter;
  readonly line: LineFacts;
}

interface Job {
  readonly tools: TaskCallTools & { readonly secrets: Pick<Secrets, "hash"> };
  readonly channel: LiveChannel;
  readonly about: About;
  readonly facts: BatchFacts;
  readonly parts: readonly CountedPart[];
}

/** Adds up both files. A fault = one of them cannot be read now. */
export async function sumResults(
  job: Job,
  { outputFile, errorFile }: Pick<HeardBatch, "outputFile" | "errorFile">,
): Promise<BatchSum | RelayFault> {
  const counters = new Map<number, PartCounter>();
  const lines = new Map<string, Known>();
  for (const part of job.parts) {
    const stored = job.facts.prices[part.model];
    if (stored === undefined) throw new Error(`no price of ${part.model} was noted`);
    const counter = new PartCounter(part.model, priceOf(stored));
    counters.set(part.part, counter);
    for (const line of linesOf(part)) lines.set(line[0], { counter, line });
  }
  const counts = { answered: 0, failed: 0 };
  const bytes: number[] = [];
  for (const id of [outputFile, errorFile]) {
    const read = id === "" ? 0 : await readFile(job, id, lines, counts);
    if (typeof read !== "number") return read;
    bytes.push(read);
  }
  const [output = 0, error = 0] = bytes;
  const parts = new Map([...counters].map(([part, counter]) => [part, counter.sum()] as const));
  const charge = [...counters.values()].reduce((sum, counter) => sum + counter.charge, 0n);
  return { kind: "sum", parts, charge, ...counts, bytes: [output, error] };
}

/** Returns how many bytes it had. What was heard of a line is taken out of `lines`: it counts once. */
async function readFile(
  { tools, channel, about }: Job,
  id: string,
  lines: Map<string, Known>,
  counts: { answered: number; failed: number },
): Promise<number | RelayFault> {
  const { path } = batchRequest(channel, "GET", `${fileTail(id)}/content`);
  const file = await openFile(tools, channel, path, about);
  if (file.kind === "fault") return file;
  const splitter = new LineSplitter(MOST_LINE);
  let size = 0;
  const hear = (text: string) => {
    const heard = heardLine(text);
    const hash = heard && customIdHash(tools.secrets, heard.customId);
    const known = hash === undefined ? undefined : lines.get(hash);
    if (heard === undefined || hash === undefined || known === undefined) return;
    lines.delete(hash);
    if (heard.isAnswered) {
      known.counter.add(known.line, heard.usage);
      counts.answered += 1;
    } else counts.failed += 1;
  };
  try {
    for await (const chunk of file.bytes as AsyncIterable<Buffer>) {
      size += chunk.length;
      for (const { bytes } of splitter.push(chunk)) hear(bytes.toString());
    }
    for (const { bytes } of splitter.end()) hear(bytes.toString());
    return size;
  } catch (error) {
    if (error instanceof BrokenFile) return error.fault;
    throw error;
  }
}
