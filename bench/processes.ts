// The processes of a benchmark: starts them, reads what the system says of them, and leaves none behind.
import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { FromLoad, Job, JobResult, ToLoad } from "./wire.ts";

const ROOT = join(import.meta.dirname, "..");
const STOP_TIMEOUT_MS = 20_000;
const MS = 1_000_000;
/** USER_HZ of Linux, the unit of /proc/<pid>/stat on every architecture Node runs on. */
const TICK_MS = 10;

const living = new Set<ChildProcess>();
const leftovers = new Set<string>();

/** A file or folder that is removed when this process ends, however it ends. */
export function removeAtExit(path: string): void {
  leftovers.add(path);
}

/** Kills the processes that run and removes what was made; runs once more at exit, when there is nothing left to do. */
export function cleanUp(): void {
  for (const child of living) child.kill("SIGKILL");
  living.clear();
  for (const path of leftovers) rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  leftovers.clear();
}

process.on("exit", cleanUp);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(1));

interface StartOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** File descriptor that stdout and stderr go to; without it, an IPC channel is opened and stderr is ours. */
  readonly output?: number;
}

/** Starts a script of this checkout with the Node that runs us. */
export function startScript(
  script: string,
  { args = [], env = {}, output }: StartOptions = {},
): ChildProcess {
  const child = spawn(process.execPath, [...args, script], {
    cwd: ROOT,
    env: { PATH: process.env["PATH"], ...env },
    stdio: output === undefined ? ["ignore", "ignore", "inherit", "ipc"] : ["ignore", output, output],
  });
  living.add(child);
  child.once("exit", () => living.delete(child));
  return child;
}

/** Sends the signal and waits until the process is gone; kills it when that takes too long. */
export function stop(child: ChildProcess, signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
    child.once("exit", () => {
      clearTimeout(timer);
      resolve();
    });
    child.kill(signal);
  });
}

function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onExit = () => reject(new Error(`${child.spawnargs.at(-1)} ended`));
    child.once("exit", onExit);
    child.once("message", (message) => {
      child.off("exit", onExit);
      resolve(message);
    });
  });
}

/** A server of the benchmark. */
export interface Service {
  readonly pid: number;
  readonly port: number;
}

/** Starts the upstream or the floor and waits for the port that it chose. */
export async function startService(script: string, env: Record<string, string> = {}): Promise<Service> {
  const child = startScript(script, { env });
  const message = await nextMessage(child);
  if (typeof message !== "object" || message === null || !("port" in message)) throw new Error("no port");
  return { pid: child.pid ?? 0, port: Number(message.port) };
}

/** The load process. */
export interface Load {
  /** Runs a job; `onReady` is called between the warm-up and the measurement. Throws: Error when an answer was wrong. */
  run(job: Job, onReady?: () => void): Promise<JobResult>;
}

export function startLoad(): Load {
  const child = startScript("bench/load.ts");
  const ask = (message: ToLoad): Promise<FromLoad> => {
    child.send(message);
    // Our own script sends nothing else.
    return nextMessage(child) as Promise<FromLoad>;
  };
  return {
    async run(job, onReady) {
      const ready = await ask({ kind: "prepare", job });
      if (ready.kind === "failed") throw new Error(ready.message);
      onReady?.();
      const done = await ask({ kind: "go" });
      if (done.kind !== "result") throw new Error(done.kind === "failed" ? done.message : "no result");
      return done.result;
    },
  };
}

/** CPU time that a process and all its threads have used. Unit: ms, user and system. */
export function cpuMs(pid: number): number {
  try {
    // Nanoseconds, where the kernel counts them; its threads do not come and go while they are measured.
    const threads = readdirSync(`/proc/${pid}/task`);
    const ns = threads.map(
      (thread) => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0],
    );
    return ns.reduce((sum, text) => sum + Number(text), 0) / MS;
  } catch {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  }
}

/** Resident memory. Unit: MB (10^6 bytes). */
export function rssMb(pid: number): number {
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return (Number(kilobytes) * 1024) / 1e6;
}

/** Watches the memory of a process; `stop` gives the largest value seen. Unit: MB. */
export function watchRss(pid: number): { stop(): number } {
  let most = rssMb(pid);
  const timer = setInterval(() => {
    most = Math.max(most, rssMb(pid));
  }, 200);
  return {
    stop() {
      clearInterval(timer);
      return Math.max(most, rssMb(pid));
    },
  };
}

/** Open files of a process, sockets among them. */
export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** The most files a process of ours may open. */
export function fileLimit(): number {
  const limit = /Max open files\s+(\d+)/.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
  return Number(limit ?? 1024);
}

function machineTimes(): { busy: number; all: number } {
  const [total = ""] = readFileSync("/proc/stat", "utf8").split("\n");
  const times = total.trim().split(/\s+/).slice(1).map(Number);
  const all = times.reduce((sum, time) => sum + time, 0);
  // Idle and waiting for the disk.
  return { busy: all - (times[3] ?? 0) - (times[4] ?? 0), all };
}

/** Share of the machine's CPU time that other work uses, seen for a moment before the load: from 0 to 1. */
export async function othersShare(watchMs: number): Promise<number> {
  const before = machineTimes();
  await new Promise((resolve) => setTimeout(resolve, watchMs));
  const after = machineTimes();
  return (after.busy - before.busy) / Math.max(1, after.all - before.all);
}
