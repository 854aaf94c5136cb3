// A process on SQLite whose event loop stands still ends, and one that was merely stopped goes on (requirements D03).
import { setTimeout as sleep } from "node:timers/promises";
import { expect, type TestContext, test } from "vitest";
import { startServer, temporaryDir } from "#test/worlds/process.ts";

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

test.concurrent("a loop that stands still ends the process with a sentence", async (context) => {
  const server = await start(context);
  const startMs = performance.now();
  process.kill(server.pid, "SIGUSR2");
  expect(await server.exited).toBe(null);
  const elapsedMs = performance.now() - startMs;
  expect(server.output()).toContain("tollgate: the event loop has been stuck for 10 s, ending");
  expect(elapsedMs).toBeGreaterThan(8_000);
  expect(elapsedMs).toBeLessThan(30_000);
}, 60_000);

test.concurrent("a process that was stopped for longer goes on", async (context) => {
  const server = await start(context);
  process.kill(server.pid, "SIGSTOP");
  await sleep(12_000);
  process.kill(server.pid, "SIGCONT");
  await sleep(2_000);
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  expect(server.output()).not.toContain("stuck");
}, 60_000);
