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

/**
 * Does something for each item, so many at once, whatever becomes of the others; ends early at a shutdown. Throws: what the first of them that
 * failed threw, when all have ended.
 */
export async function abreast<T>(
  { stopping }: Pick<RunParts, "stopping">,
  items: Iterable<T>,
  most: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = items[Symbol.iterator]();
  const failures: unknown[] = [];
  const lane = async () => {
    for (let next = left.next(); next.done !== true; next = left.next()) {
      if (stopping.aborted) return;
      await work(next.value).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: most }, lane));
  if (failures.length > 0) throw failures[0];
}

/** So many keys are asked at once: ten thousand, one after another, would take hours. */
const LANES = 8;

/** As `oneByOne` in each of eight lanes at once. */
export async function inLanes<T>(
  ctx: Pick<RunParts, "config" | "stopping">,
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const lanes = Array.from({ length: LANES }, (_, lane) => items.filter((_item, at) => at % LANES === lane));
  await Promise.all(lanes.map((lane) => oneByOne(ctx, lane, work)));
}
