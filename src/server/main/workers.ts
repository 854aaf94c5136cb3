// WORKERS > 1: the first process only keeps that many workers alive behind one port. It opens no database itself.
import cluster, { type Worker } from "node:cluster";
import { once } from "node:events";

export interface WorkerPlan {
  readonly count: number;
  say(text: string): void;
}

/** A worker whose process ends sooner counts as failing at its start. */
const SETTLED_MS = 10_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;

/** How often a worker reports that its loop turns, and how long it may be silent (requirements D03: a stuck one is replaced in 10 s). */
const HEARTBEAT_MS = 1_000;
const STUCK_MS = 8_000;
const ALIVE = "alive";

/** Tells the first process, as long as this worker's loop turns, that it does. */
export function startHeartbeat(): void {
  if (!cluster.isWorker) return;
  const beat = () => process.send?.(ALIVE);
  beat();
  setInterval(beat, HEARTBEAT_MS).unref();
}

/** Kills workers that have reported before and are stuck; `keepWorkers` replaces every worker that died. */
function watchWorkers(say: WorkerPlan["say"]): void {
  const heardMs = new Map<number, number>();
  cluster.on("message", (worker, message) => {
    if (message === ALIVE) heardMs.set(worker.id, performance.now());
  });
  cluster.on("exit", (worker) => heardMs.delete(worker.id));
  setInterval(() => {
    for (const worker of Object.values(cluster.workers ?? {})) {
      const sinceMs = worker && heardMs.get(worker.id);
      if (worker === undefined || sinceMs === undefined) continue;
      if (performance.now() - sinceMs < STUCK_MS) continue;
      say(`tollgate: worker ${worker.process.pid} has been stuck for ${STUCK_MS / 1000} s and is ended`);
      heardMs.delete(worker.id);
      worker.process.kill("SIGKILL");
    }
  }, HEARTBEAT_MS).unref();
}

/** Whether this process is one of several and not the first of them. */
export function isWorker(): boolean {
  return cluster.isWorker;
}

/** Whether this worker may speak to the operator who started the program; the others would only repeat it. */
export function isSpokesman(): boolean {
  return !cluster.isWorker || cluster.worker?.id === 1;
}

/**
 * Starts workers and replaces those that die, slower each time they die early, and all of them one after the other on SIGHUP. The
 * first one starts alone: it migrates and makes the first user, and when it cannot start the program ends with its code.
 */
export function keepWorkers({ count, say }: WorkerPlan): void {
  let isEnding = false;
  let isRunning = false;
  let isReplacing = false;
  let pauseMs = FIRST_PAUSE_MS;
  const born = new Map<number, number>();
  /** Workers whose successors are started already. */
  const retired = new Set<number>();

  function start(): void {
    const worker = cluster.fork();
    born.set(worker.id, performance.now());
  }

  function onExit(worker: Worker, code: number | null, signal: string | null): void {
    const livedMs = performance.now() - (born.get(worker.id) ?? 0);
    born.delete(worker.id);
    if (isEnding || !isRunning) {
      // A worker that was still starting had no calls to drain, and ends by the signal itself.
      const isStopped = isEnding && (signal === "SIGTERM" || signal === "SIGINT");
      process.exitCode ||= isStopped ? 0 : (code ?? 1);
      return;
    }
    if (retired.delete(worker.id)) return;
    pauseMs = livedMs < SETTLED_MS ? Math.min(pauseMs * 2, LONGEST_PAUSE_MS) : FIRST_PAUSE_MS;
    say(
      `tollgate: worker ${worker.process.pid} ended (${code ?? "killed"}); another starts in ${pauseMs} ms`,
    );
    setTimeout(() => {
      if (!isEnding) start();
    }, pauseMs);
  }

  /** Each worker ends its calls when its successor listens; when none can start the old ones go on (requirements G03). */
  async function replaceAll(): Promise<void> {
    if (isReplacing || !isRunning) return;
    isReplacing = true;
    for (const worker of Object.values(cluster.workers ?? {})) {
      if (isEnding || worker === undefined || worker.isDead()) continue;
      say(`tollgate: worker ${worker.process.pid} is being replaced`);
      retired.add(worker.id);
      const successor = once(cluster, "listening");
      start();
      await successor;
      if (worker.isDead()) continue;
      const gone = once(worker, "exit");
      worker.process.kill("SIGTERM");
      await gone;
    }
    isReplacing = false;
  }

  cluster.on("exit", onExit);
  watchWorkers(say);
  cluster.once("listening", () => {
    isRunning = true;
    for (let index = 1; index < count; index += 1) start();
  });
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      isEnding = true;
      // A terminal's Ctrl-C reaches the workers by itself; twice would mean "at once" to them.
      if (signal === "SIGINT" && process.stdin.isTTY) return;
      for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill(signal);
    });
  }
  // A terminal that closes sends it too, and means the end.
  if (!process.stdin.isTTY) process.on("SIGHUP", () => void replaceAll());
  start();
}
