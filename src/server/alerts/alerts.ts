// Alerts to the targets that an operator set up. This file only takes them and keeps the time of the next try; what does the work is
// loaded with the first alert.
import type { Notice } from "#server/tools.ts";
import type { AlertParts, AlertTools } from "./parts.ts";
import type { Target } from "./targets.ts";
import type { Outcome } from "./verdict.ts";

export interface Alerts {
  /** Tells the targets that want it, in the background; returns at once, never throws. */
  raise(notice: Notice): void;
  /** Sends what is due now, here or in the process that does it already. */
  deliver(): Promise<void>;
  /** One message to a target that says what became of it. Throws: StoreError. */
  test(target: Target): Promise<Outcome>;
  /** Resolves when nothing is being written or sent; what waits for another time does not count. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

/** The newest of so many that are not written yet are kept. */
const MAX_PENDING = 1_000;
/** Longer waits are looked at again in between. Unit: ms. */
const LONGEST_TIMER_MS = 60_000;

export function createAlerts(given: AlertTools): Alerts {
  const stop = new AbortController();
  const tools: AlertParts = { ...given, stopping: stop.signal };
  let pending: Notice[] = [];
  let work: Promise<void> | undefined;
  let isWanted = false;
  let timer: NodeJS.Timeout | undefined;

  async function write(): Promise<void> {
    // What is raised in one go is written in one.
    await Promise.resolve();
    const notices = pending;
    pending = [];
    if (notices.length === 0) return;
    const { enter, tellUnstored } = await import("./queue.ts");
    try {
      await enter(tools, notices);
    } catch (error) {
      tools.events.backgroundFailed({ task: "alerts", error });
      await tellUnstored(tools, notices);
    }
  }

  async function turn(): Promise<void> {
    clearTimeout(timer);
    await write();
    const { deliverAll } = await import("./queue.ts");
    const waitMs = (await deliverAll(tools)) - tools.clock.now();
    if (stop.signal.aborted || waitMs === Number.POSITIVE_INFINITY) return;
    timer = setTimeout(run, Math.min(Math.max(waitMs, 0), LONGEST_TIMER_MS)).unref();
  }

  /** One turn at a time; what comes meanwhile has another. */
  function run(): Promise<void> {
    isWanted = true;
    work ??= (async () => {
      while (isWanted) {
        isWanted = false;
        await turn().catch((error: unknown) => tools.events.backgroundFailed({ task: "alerts", error }));
      }
      work = undefined;
    })();
    return work;
  }

  const idle = async () => {
    while (work !== undefined) await work;
  };

  return {
    raise(notice) {
      pending.push(notice);
      if (pending.length > MAX_PENDING) pending.shift();
      void run();
    },
    deliver: run,
    test: async (target) => (await import("./queue.ts")).sendTest(tools, target),
    idle,
    async close() {
      stop.abort();
      await idle();
      clearTimeout(timer);
    },
  };
}
