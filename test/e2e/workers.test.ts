// Several workers behind one port: one that ends or stands still is replaced, and the port goes on answering (requirements D03, G05).
import { readFileSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import {
  boot,
  channelDraft,
  cleanUp,
  createDatabase,
  createUpstream,
  query,
  status,
} from "#test/worlds/cluster.ts";
import { manage, rootKey } from "#test/worlds/process.ts";

afterEach(() => cleanUp());

test.runIf(process.platform === "linux")(
  "a worker whose loop stands still is replaced within ten seconds, and the other one serves meanwhile",
  async () => {
    const database = await createDatabase();
    const server = await boot(database, { WORKERS: "2" });
    const workers = () =>
      readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, "utf8").trim().split(" ").map(Number);
    await expect.poll(() => workers().length).toBe(2);
    await expect.poll(() => query(database, "SELECT node FROM nodes")).toHaveLength(2);
    // Both have reported that they run.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    const [stuck = 0] = workers();
    process.kill(stuck, "SIGSTOP");
    const stoppedMs = performance.now();
    let served = 0;
    while (performance.now() - stoppedMs < 5_000) {
      const signal = AbortSignal.timeout(500);
      const answer = fetch(`${server.url}/healthz`, { signal, headers: { connection: "close" } });
      if (await answer.then((response) => response.ok).catch(() => false)) served += 1;
    }
    expect(served).toBeGreaterThan(3);
    await expect.poll(() => workers().includes(stuck), { timeout: 10_000 }).toBe(false);
    expect(performance.now() - stoppedMs).toBeLessThan(10_000);
    await expect.poll(() => workers().length).toBe(2);
    expect(server.output()).toContain(`worker ${stuck} has been stuck`);
  },
  120_000,
);

test.runIf(process.platform === "linux")(
  "a worker that is killed is replaced, and the port goes on answering",
  async () => {
    const database = await createDatabase();
    const server = await boot(database, { WORKERS: "2" });
    await manage(server.url, "POST", "/api/channel/", channelDraft(await createUpstream()));
    const workers = () =>
      readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, "utf8").trim().split(" ").map(Number);
    await expect.poll(() => workers().length).toBe(2);
    const known = new Set<string>();
    const look = async () => {
      const response = await fetch(`${server.url}/metrics`, { headers: { connection: "close" } });
      known.add(/node="(\w+)"/.exec(await response.text())?.[1] ?? "");
      return known.size;
    };
    await expect.poll(look).toBe(2);
    const [victim = 0] = workers();
    process.kill(victim, "SIGKILL");
    const startMs = performance.now();
    // The dead one is seen to be gone before another one is counted.
    await expect.poll(() => workers().includes(victim)).toBe(false);
    await expect.poll(workers).toHaveLength(2);
    expect(server.output()).toContain("another starts in");
    // A second until it starts, and what a loaded machine takes for the start.
    expect(performance.now() - startMs).toBeLessThan(15_000);
    for (let turn = 0; turn < 10; turn += 1) expect(await status(server.url, rootKey)).toBe(200);
    await server.kill("SIGTERM");
    expect(await server.exited).toBe(0);
  },
  120_000,
);
