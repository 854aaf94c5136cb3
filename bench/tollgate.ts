// The real server under load: a temporary SQLite database, one channel to the upstream, one token with a limited quota.
// Nothing is switched off but the rate limits by address.
import type { ChildProcess } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import { freePort, manage, serverEnvironment, temporaryDir } from "#test/worlds/process.ts";
import { removeAtExit, startScript, stop } from "./processes.ts";
import { MODEL } from "./wire.ts";

const ROOT = join(import.meta.dirname, "..");
const READY_TIMEOUT_MS = 30_000;
const POLL_MS = 4;
/** Quota units of the token: plenty, and yet a limit that every reservation must be checked against. */
const TOKEN_QUOTA = 90_000_000;
const OPENAI_TYPE = 1;

export interface Tollgate {
  readonly pid: number;
  readonly port: number;
  /** From the start of the process to the first good answer of /readyz. Unit: ms. */
  readonly readyMs: number;
  /** Drains and ends. */
  stop(): Promise<void>;
}

export interface Home {
  readonly dataDir: string;
  /** Where `--cpu-prof` writes; undefined = no profile. */
  readonly profileDir: string | undefined;
}

/** A fresh data directory, removed when the benchmark ends. */
export function createHome(withProfile: boolean): Home {
  const { path } = temporaryDir();
  removeAtExit(path);
  const profileDir = withProfile ? join(path, "profiles") : undefined;
  if (profileDir !== undefined) mkdirSync(profileDir);
  return { dataDir: path, profileDir };
}

/** Starts the server on `home` and waits until it is ready; `env` beside ours. Throws: Error with its last words when it is not. */
export async function startTollgate(
  { dataDir, profileDir }: Home,
  env: Record<string, string> = {},
): Promise<Tollgate> {
  const port = await freePort();
  const logFile = join(dataDir, "output.log");
  const output = openSync(logFile, "a");
  const args =
    profileDir === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileDir}`, "--cpu-prof-interval=250"];
  const start = performance.now();
  const child = startScript("dist/server/main.js", {
    args,
    env: { ...environment(dataDir, port), ...env },
    output,
  });
  closeSync(output);
  try {
    await waitReady(port, child);
  } catch (error) {
    throw new Error(`Tollgate did not start:\n${readFileSync(logFile, "utf8").slice(-2000)}`, {
      cause: error,
    });
  }
  const readyMs = performance.now() - start;
  return { pid: child.pid ?? 0, port, readyMs, stop: () => stop(child) };
}

function environment(dataDir: string, port: number): Record<string, string> {
  return {
    ...serverEnvironment(dataDir, port),
    // More streams than the process would take by itself are what is measured.
    MAX_CONNECTIONS: "1000000",
    NODE_ENV: "production",
    LOG_LEVEL: process.env["LOG_LEVEL"] ?? "info",
    // As scripts/start.sh, which is `npm start`, starts the server.
    NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? join(ROOT, ".cache/compile"),
    MALLOC_ARENA_MAX: process.env["MALLOC_ARENA_MAX"] ?? "2",
  };
}

async function waitReady(port: number, child: ChildProcess): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  while (performance.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`exit code ${child.exitCode}`);
    if (await isReady(port)) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error(`not ready after ${READY_TIMEOUT_MS} ms`);
}

function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ host: "127.0.0.1", port, path: "/readyz", agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.on("error", () => resolve(false));
  });
}

/** Creates the channel and the token through the management API; returns the token's key. */
export async function furnish(port: number, upstreamPort: number): Promise<string> {
  const url = `http://127.0.0.1:${port}`;
  await manage(url, "POST", "/api/channel/", {
    type: OPENAI_TYPE,
    name: "bench",
    key: "sk-upstream-of-the-benchmark",
    base_url: `http://127.0.0.1:${upstreamPort}`,
    models: MODEL,
    group: "default",
  });
  const token = await manage(url, "POST", "/api/token/", {
    name: "bench",
    remain_quota: TOKEN_QUOTA,
    unlimited_quota: false,
    expired_time: -1,
  });
  if (typeof token !== "object" || token === null || !("key" in token) || typeof token.key !== "string") {
    throw new Error("the new token came without a key");
  }
  return token.key;
}
