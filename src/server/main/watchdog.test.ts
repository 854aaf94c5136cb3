// A process on SQLite whose event loop stands still ends, and one that was merely stopped goes on (requirements D03).
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, type TestContext, test } from "vitest";
import { compileCache, startServer, temporaryDir } from "#test/worlds/process.ts";
import { IS_SOAK } from "#test/worlds/soak.ts";

const ROOT = join(import.meta.dirname, "../../..");

/** A process whose watchdog looks every 50 ms, so that ten looks are half a second. */
async function startVictim({ onTestFinished }: TestContext) {
  const dir = temporaryDir();
  onTestFinished(dir.remove);
  const child = spawn(process.execPath, ["test/worlds/watchdog-victim.ts", dir.path], {
    cwd: ROOT,
    env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const exit = once(child, "exit");
  let said = "";
  child.stderr.on("data", (text) => {
    said += text;
  });
  await once(child.stdout, "data");
  return { child, exit, said: () => said };
}

test("a loop that stands still ends the process with a sentence", async (context) => {
  const { child, exit, said } = await startVictim(context);
  child.kill("SIGUSR2");
  expect(await exit).toEqual([null, "SIGKILL"]);
  expect(said()).toContain("tollgate: the event loop has been stuck for 0.5 s, ending");
});

test("a process that was stopped for longer goes on", async (context) => {
  const { child, said } = await startVictim(context);
  child.kill("SIGSTOP");
  await sleep(1_500);
  child.kill("SIGCONT");
  await sleep(500);
  expect([child.exitCode, child.signalCode, said()]).toEqual([null, null, ""]);
});

/** Makes the process stand still at a signal. */
const HANG_HOOK = `--import=data:text/javascript,${encodeURIComponent('process.on("SIGUSR2", () => { for (;;); })')}`;

async function start({ onTestFinished }: TestContext) {
  const dir = temporaryDir();
  onTestFinished(dir.remove);
  const server = await startServer(dir.path, { NODE_OPTIONS: HANG_HOOK });
  onTestFinished(() => server.kill("SIGKILL"));
  // It has reported that it is alive.
  await sleep(2_500);
  return server;
}

// Skipped in `npm test`, which sees the same of a worker (workers.test.ts): these wait half a minute.
describe.runIf(IS_SOAK)("the server itself (npm run soak)", () => {
  test.concurrent("is ended after ten seconds", async (context) => {
    const server = await start(context);
    const startMs = performance.now();
    process.kill(server.pid, "SIGUSR2");
    expect(await server.exited).toBe(null);
    const elapsedMs = performance.now() - startMs;
    expect(server.output()).toContain("tollgate: the event loop has been stuck for 10 s, ending");
    expect(elapsedMs).toBeGreaterThan(8_000);
    expect(elapsedMs).toBeLessThan(30_000);
  }, 60_000);

  test.concurrent("goes on when it was merely stopped", async (context) => {
    const server = await start(context);
    process.kill(server.pid, "SIGSTOP");
    await sleep(12_000);
    process.kill(server.pid, "SIGCONT");
    await sleep(2_000);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    expect(server.output()).not.toContain("stuck");
  }, 60_000);
});
