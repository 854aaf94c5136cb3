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
/** A limit that no run comes near. */
const PLENTY = 1_000_000_000;
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

/** Starts the server on `home` and waits until it is ready; `env` beside ours, `checkout` = where its build is. Throws: Error with its last words when it is not. */
export async function startTollgate(
  { dataDir, profileDir }: Home,
  env: Record<string, string> = {},
  checkout = ROOT,
): Promise<Tollgate> {
  const port = await freePort();
  const logFile = join(dataDir, "output.log");
  const output = openSync(logFile, "a");
  const args =
    profileDir === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileDir}`, "--cpu-prof-interval=250"];
  const start = performance.now();
  const child = startScript(join(checkout, "dist/server/main.js"), {
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
  return (await furnishToken(port)).key;
}

/** Another token of root; the ledger check looks at those of this name. */
export async function furnishToken(port: number): Promise<{ readonly id: number; readonly key: string }> {
  const token = await manage(`http://127.0.0.1:${port}`, "POST", "/api/token/", {
    name: "bench",
    remain_quota: TOKEN_QUOTA,
    unlimited_quota: false,
    expired_time: -1,
  });
  return { ...idOf(token), key: keyOf(token) };
}

function keyOf(token: unknown): string {
  if (typeof token !== "object" || token === null || !("key" in token) || typeof token.key !== "string")
    throw new Error("the new token came without a key");
  return token.key;
}

/** The same of a token that a team pays for, whose calls pass a budget at every level and limits of all
 * kinds at the token; none is ever reached. */
export async function furnishTeam(port: number, upstreamPort: number): Promise<string> {
  await furnish(port, upstreamPort);
  const ask = (method: string, path: string, body: object) =>
    manage(`http://127.0.0.1:${port}`, method, path, body);
  const budget = { kind: "quota", amount: PLENTY, time_window: "day" };
  const rates = ["rpm", "tpm", "input_tpm", "output_tpm", "running", "cost", "calls"].map((kind) => ({
    ...{ kind, amount: PLENTY, time_window: "day" },
  }));
  const { id: team } = idOf(await ask("POST", "/api/team/", { name: "bench" }));
  await ask("POST", "/api/team/adjust", { id: team, amount: TOKEN_QUOTA, reason: "bench" });
  const { id: project } = idOf(await ask("POST", `/api/team/${team}/project`, { name: "bench" }));
  const made = await ask("POST", "/api/token/", {
    ...{ name: "bench team", remain_quota: TOKEN_QUOTA, team_id: team, project_id: project },
  });
  await ask("PUT", `/api/token/${idOf(made).id}/limit`, { limits: [budget, ...rates] });
  await ask("PUT", `/api/team/${team}/limit`, { limits: [budget] });
  await ask("PUT", `/api/team/${team}/project/limit`, { project_id: project, limits: [budget] });
  for (const whose of [
    { subject: "user", subject_id: 1 },
    { subject: "member", subject_name: "default" },
    { subject: "group", subject_name: "default" },
    { subject: "all", model_pattern: MODEL },
  ])
    await ask("POST", "/api/limit/", { ...budget, ...whose });
  return keyOf(made);
}

function idOf(made: unknown): { readonly id: number } {
  if (typeof made === "object" && made !== null && "id" in made && typeof made.id === "number")
    return { id: made.id };
  throw new Error("what was made came without an id");
}
