// Runs over many channels in the background: one at a time in the whole installation, ended by a shutdown. Does not know
// what is done with each channel.
import { setTimeout as sleep } from "node:timers/promises";
import type { Tools } from "#server/tools.ts";

export type RunParts = Pick<Tools, "coord" | "events" | "clock" | "config" | "stopping">;

export interface Run {
  readonly name: string;
  /** Called before anything else of a run that starts, e.g. to record the actor; throws = the run does not start. */
  readonly begin?: (() => Promise<void>) | undefined;
  work(): Promise<string>;
  /** Called with the outcome once the next run may begin. */
  readonly tell?: (outcome: string) => void;
}

/**
 * Starts the work unless a run of this name is under way on any node. Resolves as soon as that is known: true = started. What the
 * work throws is logged; the caller does not wait for it. Throws: what `begin` throws.
 */
export function startRun(ctx: RunParts, { name, begin, work, tell }: Run): Promise<boolean> {
  return new Promise((resolve, reject) => {
    let outcome: string | undefined;
    ctx.coord
      .lock(name, async () => {
        await begin?.();
        resolve(true);
        outcome = await carryOut(ctx, name, work);
      })
      .then(() => {
        // When the work has run, the promise is settled already, and this changes nothing.
        resolve(false);
        if (outcome !== undefined) tell?.(outcome);
      }, reject);
  });
}

/** undefined = it failed. */
async function carryOut(
  ctx: RunParts,
  name: string,
  work: () => Promise<string>,
): Promise<string | undefined> {
  const startedMs = ctx.clock.now();
  try {
    const outcome = await work();
    ctx.events.jobDone({ job: name, elapsedMs: ctx.clock.now() - startedMs, outcome });
    return outcome;
  } catch (error) {
    // A database that was closed during the run is no failure to report.
    if (!ctx.stopping.aborted) ctx.events.backgroundFailed({ task: name, error });
    return undefined;
  }
}

/** Does something for each item, one after another, with POLLING_INTERVAL between them; ends early at a shutdown. */
export async function oneByOne<T>(
  { config, stopping }: Pick<RunParts, "config" | "stopping">,
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  for (const [index, item] of items.entries()) {
    if (index > 0 && config.pollingIntervalMs > 0)
      await sleep(config.pollingIntervalMs, undefined, { signal: stopping }).catch(() => undefined);
    if (stopping.aborted) return;
    await work(item);
  }
}
