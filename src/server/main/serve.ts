// The process: configuration → context → listening → draining on a signal. Speaks to the operator on stderr, logs on stdout.
import type { Server } from "node:http";
import { setFlagsFromString } from "node:v8";
import { type App, createApp, createHttpServer } from "#server/app.ts";
import { readConfig } from "#server/config.ts";
import { type Context, createContext } from "#server/context.ts";
import { startJobs } from "#server/jobs/jobs.ts";
import { redactText } from "#server/log/texts.ts";
import { trimMemory } from "#server/store/trim.ts";
import { banner, explainFailure, firstLogin } from "./banner.ts";
import { closeGently } from "./close.ts";
import { startWatchdog } from "./watchdog.ts";
import { isSpokesman, isWorker, keepWorkers, startHeartbeat } from "./workers.ts";

/** How long taking down may take; then the process ends anyway. */
const LAST_MOMENT_MS = 5_000;
/** What calls that are cut off get for being settled, longer than the relay counts for it, and their clients for the last event. */
const SETTLING_MS = 4_000;
const LAST_WORDS_MS = 100;
/**
 * A supervisor may signal every process (systemd does), and the first one hands it to its workers; a terminal's Ctrl-C reaches the
 * server and npm, which hands it to the server: for the receiver that is one signal.
 */
const SAME_SIGNAL_MS = 2_000;
/** How often it is checked whether npm is still alive. */
const NPM_CHECK_MS = 1_000;

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Takes the context down, but ends in any case. */
async function leave(ctx: Context, code: number): Promise<never> {
  setTimeout(() => process.exit(code || 1), LAST_MOMENT_MS).unref();
  await ctx.dispose();
  process.exit(code);
}

/** Listens. Throws: when the port is taken or the address is not ours. */
function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** Ends running calls and waits until they are booked and their clients told, but not long. */
async function cutShort(app: App): Promise<void> {
  const patience = new Promise<void>((resolve) => setTimeout(resolve, SETTLING_MS).unref());
  await Promise.race([app.cut(), patience]);
}

/**
 * First signal: no longer ready, nothing new, running requests end in their time; then those that still run get an error and
 * are settled. Second: the same at once (requirements G01).
 */
function drainOnSignal(ctx: Context, app: App, server: Server): void {
  let drainingSinceMs: number | undefined;
  const cut = async () => {
    await cutShort(app);
    // What is written last must get out before the connections go.
    setTimeout(() => server.closeAllConnections(), LAST_WORDS_MS);
  };
  const mayComeTwice = isWorker() || ctx.config.isUnderNpm;
  const onSignal = (signal: string) => {
    const nowMs = performance.now();
    if (drainingSinceMs !== undefined) {
      if (!mayComeTwice || nowMs - drainingSinceMs > SAME_SIGNAL_MS) void cut();
      return;
    }
    drainingSinceMs = nowMs;
    ctx.logger.info({ signal, timeoutMs: ctx.config.drainTimeoutMs }, "draining");
    app.drain();
    void closeGently(server)
      // The call of a client that has hung up may not be booked yet.
      .then(() => cutShort(app))
      .then(() => leave(ctx, 0));
    setTimeout(() => void cut(), ctx.config.drainTimeoutMs).unref();
  };
  for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, onSignal);
}

const FAULTS = ["uncaughtException", "unhandledRejection"] as const;

/** An unexpected fault ends the process; calls are settled as far as that is possible (requirements G05). */
function dieOnFault(ctx: Context, app: App): void {
  const end = async () => {
    await cutShort(app);
    await leave(ctx, 1);
  };
  const die = (error: unknown) => {
    ctx.logger.fatal({ err: error }, "unexpected fault, ending");
    void end();
  };
  for (const fault of FAULTS) process.off(fault, failStart).on(fault, die);
}

/** From here on code that runs often is optimized: main.ts had switched that off for the start. */
function optimizeCode(): void {
  for (const compiler of ["opt", "maglev", "sparkplug"]) setFlagsFromString(`--${compiler}`);
}

function failStart(error: unknown): never {
  say(`tollgate: ${explainFailure(error)}`);
  process.exit(1);
}

/** Starts the server and returns when it listens. Ends the process with a sentence when it cannot. */
export async function serve(): Promise<void> {
  // Until `dieOnFault` takes over: Node by itself would print everything that hangs on an error.
  for (const fault of FAULTS) process.on(fault, failStart);
  try {
    await start();
  } catch (error) {
    failStart(error);
  }
}

/** Stops this process in order when npm is killed: npm cannot pass that on, and an orphan would keep the port. */
function endWithNpm(): void {
  const npm = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === npm) return;
    clearInterval(watch);
    process.kill(process.pid, "SIGTERM");
  }, NPM_CHECK_MS).unref();
}

async function start(): Promise<void> {
  const config = readConfig();
  if (config.isUnderNpm && !isWorker()) endWithNpm();
  if (config.workers > 1 && !isWorker()) {
    keepWorkers({ count: config.workers, say });
    return;
  }
  const onFatal = (error: Error) => {
    say(`tollgate: ${redactText(error.message)}`);
    process.exit(1);
  };
  const ctx = await createContext(config, { onFatal, onFirstStart: (first) => say(firstLogin(first)) });
  const app = createApp(ctx);
  dieOnFault(ctx, app);
  const server = createHttpServer(app);
  trimMemory();
  await listen(server, config.port, config.host);
  optimizeCode();
  drainOnSignal(ctx, app, server);
  startJobs(ctx);
  startHeartbeat();
  await startWatchdog(ctx.store);
  if (isSpokesman()) say(banner(ctx, server.address(), await ctx.firstRun.key()));
  await ctx.defaultPassword.check();
}
