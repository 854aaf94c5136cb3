// Calls of a time, spread evenly over it where there are too many to read all. In blocks of neighbours, which are read as fast as one; SQLite has one
// reader, and other questions get in between.
import { LogType } from "#contract/log.ts";
import type { Db } from "./db.ts";
import { idRange } from "./log-spans.ts";

export interface SampledCall {
  readonly model: string;
  readonly quota: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  /** As contract/token-kinds.ts writes them. */
  readonly kinds: string;
}

const BLOCK = 1_000;

/** Tells calls booked since `start`, in seconds, at most so many rows of the log. */
export async function readSample(
  db: Db,
  { start, most }: { readonly start: number; readonly most: number },
  hear: (call: SampledCall) => void,
): Promise<void> {
  const range = await idRange(db, start, 0);
  if (range === undefined) return;
  const { first, last } = range;
  const blocks = Math.max(1, Math.ceil(Math.min(most, last - first + 1) / BLOCK));
  // All of them side by side, or as many with gaps in between.
  const step = Math.max(BLOCK, Math.floor((last - first + 1) / blocks));
  for (let block = 0; block < blocks; block += 1) {
    const from = first + block * step;
    const rows = await db
      .selectFrom("logs")
      .select([
        "model_name as model",
        "quota",
        "prompt_tokens as promptTokens",
        "completion_tokens as completionTokens",
        "cached_tokens as cachedTokens",
        "token_kinds as kinds",
      ])
      .where("id", ">=", from)
      .where("id", "<", from + BLOCK)
      .where("type", "=", LogType.consume)
      .where("created_at", ">=", start)
      .execute();
    for (const row of rows) hear(row);
  }
}
