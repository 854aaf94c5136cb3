// A process on SQLite whose event loop stands still ends, and one that was merely stopped goes on (reliability D03).
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { testDirectory } from "#test/directory.ts";
import { startServer } from "#test/process.ts";

/** Makes the process stand still at a signal. */
const HANG_HOOK = `--import=data:text/javascript,${encodeURIComponent('process.on("SIGUSR2", () => { for (;;); })')}`;

async function start() {
  const server = await startServer(testDirectory(), { NODE_OPTIONS: HANG_HOOK });
  onTestFinished(() => server.kill("SIGKILL"));
  // It has said that it lives.
  await sleep(2_500);
  return server;
}

test("a loop that stands still ends the process with a sentence", async () => {
  const server = await start();
  const startMs = performance.now();
  process.kill(server.pid, "SIGUSR2");
  expect(await server.exited).toBe(null);
  const elapsedMs = performance.now() - startMs;
  expect(server.output()).toContain("tollgate: the event loop has been stuck for 10 s, ending");
  expect(elapsedMs).toBeGreaterThan(8_000);
  expect(elapsedMs).toBeLessThan(30_000);
}, 60_000);

test("a process that was stopped for longer goes on", async () => {
  const server = await start();
  process.kill(server.pid, "SIGSTOP");
  await sleep(12_000);
  process.kill(server.pid, "SIGCONT");
  await sleep(2_000);
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  expect(server.output()).not.toContain("stuck");
}, 60_000);
