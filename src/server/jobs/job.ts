// What a periodic job is. Types only.
import type { Context } from "#server/context.ts";

export interface Job {
  readonly name: string;
  /** Time between two runs; 0 = never. */
  periodMs(config: Context["config"]): number;
  /** Time from the start to the first run; a whole period when absent. */
  readonly firstMs?: number;
  /** Does the work of one run. Returns what it did, for the diagnostic log. */
  run(ctx: Context): Promise<string>;
}
