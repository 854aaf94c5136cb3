// The real server as operators start it, as a child process: for tests that need a real start, a real kill or a real browser.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildServer, SERVER } from "./build.ts";

export const rootKey = "TestRootTokenKey00000000000000000000000000000000";
export const rootAccess = "0123456789abcdef0123456789abcdef";
/** Where Node keeps compiled code from start to start, as for a server that `npm start` started. */
export const compileCache = join(import.meta.dirname, "../../.cache/compile");

export interface ServerProcess {
  readonly url: string;
  readonly dataDir: string;
  /** Everything the process has printed so far. */
  output(): string;
  /** Sends the signal and resolves when the process is gone. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Resolves with the exit code when the process is gone; null = ended by a signal. */
  readonly exited: Promise<number | null>;
  readonly pid: number;
}

/** A temporary data directory that is removed by the returned function. */
export function temporaryDir(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** A TCP port that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() =>
        address && typeof address === "object" ? resolve(address.port) : reject(new Error("no port")),
      );
    });
  });
}

/** A server for tests and benchmarks: on loopback, upstreams there too, known root keys, no limits by address. */
export function serverEnvironment(dataDir: string, port: number): Record<string, string> {
  return {
    HOST: "127.0.0.1",
    PORT: String(port),
    DATA_DIR: dataDir,
    EGRESS_ALLOW: "127.0.0.0/8",
    INITIAL_ROOT_TOKEN: rootKey,
    INITIAL_ROOT_ACCESS_TOKEN: rootAccess,
    GLOBAL_API_RATE_LIMIT: "0",
    GLOBAL_WEB_RATE_LIMIT: "0",
    CRITICAL_RATE_LIMIT: "0",
  };
}

/**
 * Starts the server on a free loopback port and waits until it is ready (at most a minute).
 * Root's relay key is `rootKey` and root's access token `rootAccess`, unless `env` says otherwise.
 */
export async function startServer(dataDir: string, env: Record<string, string> = {}): Promise<ServerProcess> {
  buildServer();
  const port = Number(env["PORT"] ?? (await freePort()));
  const child = spawn(process.execPath, [SERVER], {
    cwd: join(import.meta.dirname, "../.."),
    env: {
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: compileCache,
      ...serverEnvironment(dataDir, port),
      LOG_LEVEL: "warn",
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const chunks: string[] = [];
  child.stdout.on("data", (data) => chunks.push(String(data)));
  child.stderr.on("data", (data) => chunks.push(String(data)));
  const url = `http://127.0.0.1:${port}`;
  await waitReady(url, child, () => chunks.join(""));
  return {
    url,
    dataDir,
    output: () => chunks.join(""),
    exited,
    pid: child.pid ?? 0,
    kill: (signal = "SIGTERM") =>
      new Promise((resolve) => {
        if (child.exitCode !== null || child.signalCode !== null) return resolve();
        child.once("exit", () => resolve());
        child.kill(signal);
      }),
  };
}

async function waitReady(url: string, child: ChildProcess, output: () => string): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`server exited with ${child.exitCode}:\n${output()}`);
    try {
      // The answer must come from this process: another one may have taken the port.
      if ((await fetch(`${url}/readyz`)).ok && output().includes("listening on")) return;
    } catch {
      // Not listening yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  child.kill("SIGKILL");
  throw new Error(`server not ready:\n${output()}`);
}

/** Calls the management API as root; throws when `success` is false. */
export async function manage(url: string, method: string, path: string, body?: unknown): Promise<unknown> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: rootAccess, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer: unknown = await response.json();
  if (typeof answer !== "object" || answer === null || !("success" in answer) || answer.success !== true) {
    throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
  }
  return "data" in answer ? answer.data : undefined;
}
