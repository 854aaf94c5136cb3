// The real process: starting, refusing to start, draining, several workers.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer, get, type Server } from "node:http";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { buildServer, SERVER } from "#test/worlds/build.ts";
import { testDirectory } from "#test/worlds/directory.ts";
import { createPostgresDatabase } from "#test/worlds/postgres.ts";
import {
  freePort,
  manage,
  rootKey,
  type ServerProcess,
  serverEnvironment,
  startServer,
} from "#test/worlds/process.ts";

/** What npm adds to the environment of `npm start`. */
const UNDER_NPM = { npm_package_name: "tollgate", npm_lifecycle_event: "start" };

async function start(env: Record<string, string> = {}, dir = testDirectory()): Promise<ServerProcess> {
  const server = await startServer(dir, env);
  onTestFinished(() => server.kill("SIGKILL"));
  return server;
}

/** An upstream that answers after a while, in the form of a chat completion; and its first call. */
async function slowUpstream(delayMs: number) {
  const called = Promise.withResolvers<void>();
  const server: Server = createServer((req, res) => {
    req.resume();
    called.resolve();
    setTimeout(() => {
      res.setHeader("content-type", "application/json");
      const message = { role: "assistant", content: "late but here" };
      res.end(
        JSON.stringify({
          id: "x",
          object: "chat.completion",
          created: 1,
          model: "gpt-4o-mini",
          choices: [{ index: 0, message, finish_reason: "stop" }],
          usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 },
        }),
      );
    }, delayMs);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { base_url: `http://127.0.0.1:${address.port}`, called: called.promise };
}

function chat(url: string): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer sk-${rootKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "gpt-4o-mini", messages: [{ role: "user", content: "hi" }] }),
  });
}

/** Makes the process throw outside of every catch, as soon as it looks after such faults. */
const THROW_HOOK = `--import=data:text/javascript,${encodeURIComponent(
  `process.on("newListener", (name) => {
    if (name === "uncaughtException")
      setImmediate(() => { throw Object.assign(new Error("planted at Bearer planted-secret-0123"), { key: "planted-secret-4567" }); });
  })`,
)}`;

describe("starting", () => {
  test("an unexpected fault of the start is told without secrets", async () => {
    const failure: unknown = await startServer(testDirectory(), { NODE_OPTIONS: THROW_HOOK }).catch(
      (error) => error,
    );
    expect(String(failure)).toMatch(
      /server exited with 1:\s+tollgate: Error: planted at Bearer \[redacted\]/,
    );
    expect(String(failure)).not.toContain("planted-secret");
  });

  test("says where it listens, how to log in and where the data is, and keeps the key file private", async () => {
    const server = await start();
    expect(server.output()).toContain(`listening on ${server.url}`);
    expect(server.output()).toContain("First login: root / 123456");
    expect(server.output()).toContain(`SQLite in ${server.dataDir}`);
    const { statSync } = await import("node:fs");
    expect(statSync(join(server.dataDir, "master.key")).mode & 0o777).toBe(0o600);
  });

  test("a second start says nothing of passwords and serves the same data", async () => {
    const dir = testDirectory();
    const first = await start({}, dir);
    await manage(first.url, "POST", "/api/token/", { name: "kept" });
    await first.kill();
    const second = await startServer(dir);
    onTestFinished(() => second.kill("SIGKILL"));
    expect(second.output()).not.toContain("First login");
    expect(await manage(second.url, "GET", "/api/token/")).toMatchObject([
      { name: "kept" },
      { name: "Initial Root Token" },
    ]);
  });

  test("a lost master key ends the start with a sentence, without a stack", async () => {
    const dir = testDirectory();
    const first = await start({}, dir);
    await first.kill();
    rmSync(join(dir, "master.key"));
    await expect(startServer(dir)).rejects.toThrow(
      /server exited with 1:\s+tollgate: this database was made with a master key, but .*master\.key is missing.*\s*$/,
    );
  });

  test("a port in use, a second instance and a wrong variable are told in a sentence", async () => {
    const server = await start();
    const port = new URL(server.url).port;
    await expect(startServer(testDirectory(), { PORT: port })).rejects.toThrow(
      /tollgate: the port is already in use/,
    );
    await expect(startServer(server.dataDir)).rejects.toThrow(
      /another instance is running on this data directory/,
    );
    await expect(startServer(testDirectory(), { SQL_DSN: "root:pw@tcp(db)/x" })).rejects.toThrow(
      /MySQL is not supported/,
    );
  });

  test("HOST beyond loopback gets a random password, printed once", async () => {
    const server = await start({ HOST: "0.0.0.0" });
    const password = /First login: root \/ (\S{20}) \(random/.exec(server.output())?.[1];
    expect(password).toBeDefined();
    const login = (text: string | undefined) =>
      fetch(`${server.url}/api/user/login`, {
        method: "POST",
        body: JSON.stringify({ username: "root", password: text }),
      });
    expect(await (await login("123456")).json()).toMatchObject({ success: false });
    expect(await (await login(password)).json()).toMatchObject({ success: true });
  });
});

describe("draining", () => {
  async function withSlowChannel(delayMs: number, env: Record<string, string> = {}) {
    const { base_url, called } = await slowUpstream(delayMs);
    const server = await start({ EGRESS_ALLOW: "127.0.0.0/8", ...env });
    await manage(server.url, "POST", "/api/channel/", {
      type: 1,
      name: "slow",
      key: "k",
      base_url,
      models: "gpt-4o-mini",
      group: "default",
    });
    const answer = chat(server.url);
    await called;
    return { server, answer };
  }

  test("a running call ends in its time, new ones are refused, the process ends with it", async () => {
    const { server, answer } = await withSlowChannel(3_000);
    const gone = server.kill("SIGTERM");
    await new Promise((resolve) => setTimeout(resolve, 300));
    // On a connection of its own: a client that has an open one is answered for half a second more.
    const [refused] = await once(get(`${server.url}/healthz`, { agent: false }), "error");
    expect(refused).toMatchObject({ code: "ECONNREFUSED" });
    const response = await answer;
    expect(response.status).toBe(200);
    expect(await response.text()).toContain("late but here");
    await gone;
  });

  test("a second signal ends it at once", async () => {
    const { server, answer } = await withSlowChannel(10_000);
    answer.catch(() => undefined);
    const startMs = performance.now();
    void server.kill("SIGTERM");
    // Two signals at the same moment are one to the process.
    await new Promise((resolve) => setTimeout(resolve, 100));
    await server.kill("SIGTERM");
    expect(performance.now() - startMs).toBeLessThan(9_000);
    expect((await answer).status).toBe(503);
  });

  test("under npm a Ctrl-C, which comes from the terminal and from npm, is one signal", async () => {
    const { server, answer } = await withSlowChannel(3_000, UNDER_NPM);
    const gone = server.kill("SIGINT");
    await new Promise((resolve) => setTimeout(resolve, 100));
    process.kill(server.pid, "SIGINT");
    expect(await (await answer).text()).toContain("late but here");
    await gone;
  });

  test("the time for draining is bounded", async () => {
    const { server, answer } = await withSlowChannel(10_000, { DRAIN_TIMEOUT: "0" });
    answer.catch(() => undefined);
    const startMs = performance.now();
    await server.kill("SIGTERM");
    expect(performance.now() - startMs).toBeLessThan(9_000);
  });
});

test("a server that npm started ends in order when npm is killed", async () => {
  buildServer();
  const port = await freePort();
  const asNpm = `require("node:child_process").spawn(process.execPath, [process.argv[1]], { stdio: "inherit" })`;
  const npm = spawn(process.execPath, ["-e", asNpm, SERVER], {
    cwd: testDirectory(),
    env: { ...serverEnvironment(testDirectory(), port), ...UNDER_NPM },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  onTestFinished(() => {
    // All of the group, or none of it is left.
    spawnSync("kill", ["-KILL", "--", `-${npm.pid}`]);
  });
  const output: string[] = [];
  for (const stream of [npm.stdout, npm.stderr]) stream.on("data", (data) => output.push(String(data)));
  // Its own copies of the pipes end with the server, not before.
  const gone = Promise.all([once(npm.stdout, "end"), once(npm.stderr, "end")]);
  await expect.poll(() => output.join(""), { timeout: 60_000 }).toContain("listening on");
  npm.kill("SIGKILL");
  await gone;
  expect(output.join("")).toContain('"signal":"SIGTERM"');
});

test("several workers share a port, replace each other and end together", async () => {
  const database = await createPostgresDatabase();
  onTestFinished(database.drop);
  const server = await start({ WORKERS: "2", DATABASE_URL: database.url });
  const nodes = new Set<string>();
  const look = async () => {
    // Without keep-alive each call may reach another worker.
    const response = await fetch(`${server.url}/metrics`, { headers: { connection: "close" } });
    const node = /node="(\w+)"/.exec(await response.text())?.[1];
    if (node) nodes.add(node);
    return nodes.size;
  };
  await expect.poll(look, { timeout: 30_000 }).toBe(2);
  expect(server.output().match(/listening on/g)).toHaveLength(1);
  await server.kill("SIGTERM");
  await expect(fetch(`${server.url}/healthz`)).rejects.toThrow();
});
