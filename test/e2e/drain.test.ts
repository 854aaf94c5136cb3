// Stopping: what runs ends in its time, then with an error that the client can read, and everything is booked (reliability G).
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, createServer, get, type IncomingMessage, type Server } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { createFakeRealtime } from "#test/emulators/fake-realtime.ts";
import { openClient } from "#test/emulators/realtime-client.ts";
import { query } from "#test/worlds/cluster.ts";
import { testDirectory } from "#test/worlds/directory.ts";
import { createPostgresDatabase } from "#test/worlds/postgres.ts";
import { freePort, manage, rootKey, type ServerProcess, startServer } from "#test/worlds/process.ts";

const EVENT_MS = 50;
/** Far less than the 60 s of a long stream and the 120 s of the drain, and enough for a machine that is busy with other tests. */
const AT_ONCE_MS = 20_000;

/** How many calls have come to the upstreams of a test. */
let called = 0;

/** An upstream whose streams have one token every 50 ms for `durationMs`; other calls are answered after that time. */
async function upstream(durationMs: number): Promise<string> {
  called = 0;
  const server: Server = createServer((req, res) => {
    called += 1;
    let body = "";
    req.on("data", (data) => {
      body += String(data);
    });
    req.on("end", () => {
      if (JSON.parse(body).stream === true) stream(res, durationMs);
      else setTimeout(() => res.end("{}"), durationMs);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return `http://127.0.0.1:${address.port}`;
}

function stream(res: import("node:http").ServerResponse, durationMs: number): void {
  res.writeHead(200, { "content-type": "text/event-stream" });
  let left = Math.ceil(durationMs / EVENT_MS);
  const total = left;
  const write = (more: object) =>
    res.write(
      `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", model: "m", ...more })}\n\n`,
    );
  const timer = setInterval(() => {
    left -= 1;
    if (left >= 0) {
      write({ choices: [{ index: 0, delta: { content: " word" }, finish_reason: null }] });
      return;
    }
    clearInterval(timer);
    const usage = { prompt_tokens: 8, completion_tokens: total, total_tokens: 8 + total };
    write({ choices: [], usage });
    res.end("data: [DONE]\n\n");
  }, EVENT_MS);
  res.on("close", () => clearInterval(timer));
}

async function start(durationMs: number, env: Record<string, string> = {}): Promise<ServerProcess> {
  const server = await startServer(testDirectory(), env);
  onTestFinished(() => server.kill("SIGKILL"));
  await addChannel(server, await upstream(durationMs));
  return server;
}

async function addChannel(server: ServerProcess, base_url: string): Promise<void> {
  const draft = { type: 1, name: "slow", key: "k", base_url, models: "gpt-4o-mini", group: "default" };
  await manage(server.url, "POST", "/api/channel/", draft);
}

function chat(url: string, isStream: boolean): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer sk-${rootKey}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: "gpt-4o-mini",
      stream: isStream,
      messages: [{ role: "user", content: "hi" }],
    }),
  });
}

/** Opens streams, waits for their first bytes, and returns what their clients will have read at the end. */
async function openStreams(url: string, count: number): Promise<Promise<string>[]> {
  const responses = await Promise.all(Array.from({ length: count }, () => chat(url, true)));
  return responses.map((response) => response.text());
}

interface Books {
  readonly open: number;
  readonly entries: number;
  readonly consumed: number;
  readonly differing: number;
}

/** The ledger as the file has it, read without the server. */
function readBooks(dataDir: string): Books {
  const db = new DatabaseSync(join(dataDir, "tollgate.db"), { readOnly: true });
  const row = db
    .prepare(
      `SELECT (SELECT count(*) FROM reservations) AS open,
        (SELECT count(*) FROM ledger WHERE kind = 'consume') AS entries,
        (SELECT coalesce(-sum(amount), 0) FROM ledger WHERE kind = 'consume') AS consumed,
        (SELECT sum(quota) FROM users) - (SELECT sum(amount) FROM ledger) AS differing`,
    )
    .get();
  db.close();
  // The statement names exactly these columns, all of them integers.
  return row as unknown as Books;
}

test("streams that end in time end whole, and the process ends with 0 right after", async () => {
  const server = await start(1500);
  const texts = await openStreams(server.url, 40);
  const startMs = performance.now();
  void server.kill("SIGTERM");
  await new Promise((resolve) => setTimeout(resolve, 200));
  // Over a connection that is still open, or a new one.
  const ready = await fetch(`${server.url}/readyz`).then(
    ({ status }) => status,
    () => "refused",
  );
  expect([503, "refused"]).toContain(ready);
  const read = await Promise.all(texts);
  expect(read.filter((text) => !text.includes("data: [DONE]"))).toEqual([]);
  expect(await server.exited).toBe(0);
  expect(performance.now() - startMs).toBeLessThan(AT_ONCE_MS);
  expect(readBooks(server.dataDir)).toMatchObject({ open: 0, entries: 40, differing: 0 });
});

test("streams that take too long end with an error event, settled before it, and the process ends with 0", async () => {
  const server = await start(60_000, { DRAIN_TIMEOUT: "1" });
  const texts = await openStreams(server.url, 40);
  const startMs = performance.now();
  void server.kill("SIGTERM");
  const read = await Promise.all(texts);
  for (const text of read) {
    expect(text).toMatch(
      /" word"[\s\S]*data: \{"error":\{"message":"服务正在重启[^\n]*"code":"server_stopping"[^\n]*\n\n$/,
    );
    expect(text).not.toContain("[DONE]");
  }
  expect(await server.exited).toBe(0);
  expect(performance.now() - startMs).toBeLessThan(AT_ONCE_MS);
  const books = readBooks(server.dataDir);
  expect(books).toMatchObject({ open: 0, entries: 40, differing: 0 });
  // Some 20 words each at 0.3 quota, and 8 prompt tokens: what had come was charged, and no more.
  expect(books.consumed).toBeGreaterThan(40);
  expect(books.consumed).toBeLessThan(40 * 30);
});

test("a call without output gets 503 at the end of the time, and nothing is charged", async () => {
  const server = await start(60_000, { DRAIN_TIMEOUT: "1" });
  const answer = chat(server.url, false);
  await expect.poll(() => called).toBe(1);
  void server.kill("SIGTERM");
  const response = await answer;
  expect(response.status).toBe(503);
  expect(response.headers.get("connection")).toBe("close");
  expect(await response.json()).toMatchObject({ error: { code: "server_stopping" } });
  expect(await server.exited).toBe(0);
  expect(readBooks(server.dataDir)).toMatchObject({ open: 0, entries: 0, consumed: 0, differing: 0 });
});

test("a second signal does the same at once", async () => {
  const server = await start(60_000);
  const texts = await openStreams(server.url, 5);
  const startMs = performance.now();
  void server.kill("SIGTERM");
  await new Promise((resolve) => setTimeout(resolve, 100));
  void server.kill("SIGTERM");
  const read = await Promise.all(texts);
  expect(read.filter((text) => !text.includes("server_stopping"))).toEqual([]);
  expect(await server.exited).toBe(0);
  expect(performance.now() - startMs).toBeLessThan(AT_ONCE_MS);
  expect(readBooks(server.dataDir)).toMatchObject({ open: 0, entries: 5, differing: 0 });
});

test("realtime conversations end with an error event and 1001, what was said is booked", async () => {
  const provider = await createFakeRealtime();
  onTestFinished(() => provider.close());
  provider.script((talk) => {
    talk.say({ type: "session.created", session: {} });
    talk.say({ type: "response.output_text.delta", response_id: "r", delta: "word ".repeat(100) });
  });
  const server = await start(60_000, { DRAIN_TIMEOUT: "1" });
  const draft = { type: 1, name: "rt", key: "k2", base_url: provider.url, models: "gpt-realtime" };
  await manage(server.url, "POST", "/api/channel/", { ...draft, group: "default" });
  const url = `${server.url.replace("http", "ws")}/v1/realtime?model=gpt-realtime`;
  const client = openClient(url, [], { authorization: `Bearer sk-${rootKey}` });
  await client.until("response.output_text.delta");
  void server.kill("SIGTERM");
  expect(await client.closed).toEqual([1001, "server_stopping"]);
  expect(client.events.at(-1)).toMatchObject({ type: "error", error: { code: "server_stopping" } });
  expect(await server.exited).toBe(0);
  const books = readBooks(server.dataDir);
  expect(books).toMatchObject({ open: 0, entries: 1, differing: 0 });
  expect(books.consumed).toBeGreaterThan(0);
});

test("idle connections close before what runs ends; answers given while draining say that theirs will", async () => {
  const server = await start(3_000);
  const agent = new Agent({ keepAlive: true, maxSockets: 2 });
  onTestFinished(() => agent.destroy());
  const first: IncomingMessage = await new Promise((resolve) =>
    get(`${server.url}/healthz`, { agent }, resolve),
  );
  const socketClosed = once(first.socket, "close");
  first.resume();
  await once(first, "end");
  const running = chat(server.url, false);
  await expect.poll(() => called).toBe(1);
  void server.kill("SIGTERM");
  // The call runs on for seconds: which of the two ends first depends on no clock.
  expect(await Promise.race([socketClosed.then(() => "idle"), running.then(() => "call")])).toBe("idle");
  expect((await running).headers.get("connection")).toBe("close");
  expect(await server.exited).toBe(0);
});

test("a client that still uses an open connection right after the signal is answered, and told that it closes", async () => {
  const server = await start(300);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const ask = async () => {
    const response: IncomingMessage = await new Promise((resolve, reject) =>
      get(`${server.url}/healthz`, { agent }, resolve).on("error", reject),
    );
    const { socket, statusCode, headers } = response;
    response.resume();
    await once(response, "end");
    return { socket, statusCode, connection: headers.connection };
  };
  const first = await ask();
  void server.kill("SIGTERM");
  // Long enough for the signal to have come, even on a busy machine.
  await new Promise((resolve) => setTimeout(resolve, 250));
  expect(await ask()).toEqual({ socket: first.socket, statusCode: 200, connection: "close" });
  expect(await server.exited).toBe(0);
});

test("a connection on which no request ever comes does not delay the end", async () => {
  const server = await start(300);
  const silent = connect(Number(new URL(server.url).port), "127.0.0.1");
  onTestFinished(() => void silent.destroy());
  silent.on("error", () => undefined);
  await once(silent, "connect");
  const startMs = performance.now();
  void server.kill("SIGTERM");
  expect(await server.exited).toBe(0);
  expect(performance.now() - startMs).toBeLessThan(AT_ONCE_MS);
});

/** Makes the process throw outside of every handler, when it is told to. */
const THROW_HOOK = `--import=data:text/javascript,${encodeURIComponent(
  'process.on("SIGUSR2", () => setTimeout(() => { throw new Error("planted at Bearer planted-secret-0123") }))',
)}`;

test("an unexpected fault ends the process with 1, clients told and the ledger exact", async () => {
  const server = await start(60_000, { NODE_OPTIONS: THROW_HOOK });
  const texts = await openStreams(server.url, 10);
  process.kill(server.pid, "SIGUSR2");
  const read = await Promise.all(texts);
  expect(read.filter((text) => !text.includes("server_stopping"))).toEqual([]);
  expect(await server.exited).toBe(1);
  expect(server.output()).toContain("unexpected fault, ending");
  expect(server.output()).toContain("planted at Bearer [redacted]");
  expect(server.output()).not.toContain("planted-secret");
  expect(readBooks(server.dataDir)).toMatchObject({ open: 0, entries: 10, differing: 0 });
});

/**
 * One stream: whole; refused because no node listens at this moment; reset before a byte of an answer, because it came in the
 * moment in which its connection closed; or what went wrong.
 */
async function tryOnce(url: string): Promise<string> {
  const response = await chat(url, true).catch((error: unknown) => error);
  if (response instanceof Response) {
    const text = await response.text().catch(String);
    return text.includes("data: [DONE]") ? "whole" : `${response.status} ${text.slice(-200)}`;
  }
  const cause = response instanceof Error ? (response.cause ?? response) : response;
  const code = cause instanceof Error && "code" in cause ? cause.code : "";
  if (code === "ECONNREFUSED") return "refused";
  return code === "ECONNRESET" || code === "UND_ERR_SOCKET" ? "reset" : String(cause);
}

test("rolling restarts of two nodes lose no call and cut no stream for a client that tries the next address", async () => {
  const database = await createPostgresDatabase();
  onTestFinished(database.drop);
  const env = { DATABASE_URL: database.url, MASTER_KEY: "a master key of both nodes, 32 characters" };
  const dirs = [testDirectory(), testDirectory()];
  const ports = [await freePort(), await freePort()];
  const boot = async (index: number) => {
    const node = await startServer(dirs[index] ?? "", { ...env, PORT: String(ports[index]) });
    onTestFinished(() => node.kill("SIGKILL"));
    return node;
  };
  const nodes = [await boot(0), await boot(1)];
  await addChannel(nodes[0] ?? expect.fail(), await upstream(300));
  for (const port of ports) {
    await expect.poll(() => tryOnce(`http://127.0.0.1:${port}`), { timeout: 10_000 }).toBe("whole");
  }
  const seen = { whole: ports.length, reset: 0, bad: [] as string[] };
  let isOver = false;
  const client = async (start: number) => {
    for (let turn = start; !isOver; turn += 1) {
      const outcome = await tryOnce(`http://127.0.0.1:${ports[turn % 2]}`);
      if (outcome === "whole") seen.whole += 1;
      else if (outcome === "reset") seen.reset += 1;
      else if (outcome === "refused") await new Promise((resolve) => setTimeout(resolve, 20));
      else seen.bad.push(outcome);
    }
  };
  const clients = Array.from({ length: 8 }, (_, index) => client(index));
  for (let restart = 0; restart < 4; restart += 1) {
    const index = restart % 2;
    await new Promise((resolve) => setTimeout(resolve, 500));
    const old = nodes[index];
    await old?.kill("SIGTERM");
    expect(await old?.exited).toBe(0);
    nodes[index] = await boot(index);
  }
  isOver = true;
  await Promise.all(clients);
  expect(seen.bad).toEqual([]);
  expect(seen.whole).toBeGreaterThan(50);
  // What was reset had not begun: it was not charged, and hardly any client has to try again.
  const charged = await query(database, "SELECT count(*) AS entries FROM ledger WHERE kind = 'consume'");
  expect(charged).toEqual([{ entries: String(seen.whole) }]);
  expect(seen.reset).toBeLessThan(seen.whole / 20);
});

test.runIf(process.platform === "linux")(
  "SIGHUP replaces the workers one after the other, and no call fails meanwhile",
  async () => {
    const database = await createPostgresDatabase();
    onTestFinished(database.drop);
    const env = { DATABASE_URL: database.url, MASTER_KEY: "a master key of all workers, 32 characters" };
    const server = await start(700, { ...env, WORKERS: "2" });
    const workers = () =>
      readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, "utf8").trim().split(" ");
    await expect.poll(() => query(database, "SELECT node FROM nodes"), { timeout: 10_000 }).toHaveLength(2);
    const before = workers();
    const seen = { whole: 0, reset: 0, bad: [] as string[] };
    let isOver = false;
    const client = async () => {
      while (!isOver) {
        const outcome = await tryOnce(server.url);
        if (outcome === "whole") seen.whole += 1;
        else if (outcome === "reset") seen.reset += 1;
        else seen.bad.push(outcome);
      }
    };
    const clients = Array.from({ length: 8 }, client);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    process.kill(server.pid, "SIGHUP");
    // Twice says nothing more.
    process.kill(server.pid, "SIGHUP");
    const isReplaced = () => workers().length === 2 && workers().every((worker) => !before.includes(worker));
    await expect.poll(isReplaced, { timeout: 30_000, interval: 20 }).toBe(true);
    isOver = true;
    await Promise.all(clients);
    expect(seen.bad).toEqual([]);
    expect(seen.whole).toBeGreaterThan(20);
    expect(seen.reset).toBeLessThan(seen.whole / 20);
    const charged = await query(database, "SELECT count(*) AS entries FROM ledger WHERE kind = 'consume'");
    expect(charged).toEqual([{ entries: String(seen.whole) }]);
    await server.kill("SIGTERM");
    expect(await server.exited).toBe(0);
  },
  60_000,
);

test.runIf(process.platform === "linux")(
  "a supervisor that signals the workers beside their first process cuts no call off",
  async () => {
    const database = await createPostgresDatabase();
    onTestFinished(database.drop);
    const env = { DATABASE_URL: database.url, MASTER_KEY: "a master key of all workers, 32 characters" };
    const server = await start(3_000, { ...env, WORKERS: "2" });
    await expect.poll(() => query(database, "SELECT node FROM nodes"), { timeout: 10_000 }).toHaveLength(2);
    const children = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, "utf8");
    const calls = Array.from({ length: 4 }, () => tryOnce(server.url));
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    for (const pid of [...children.trim().split(" ").map(Number), server.pid]) process.kill(pid, "SIGTERM");
    expect(await Promise.all(calls)).toEqual(["whole", "whole", "whole", "whole"]);
    expect(await server.exited).toBe(0);
  },
  60_000,
);
