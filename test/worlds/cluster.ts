// What tests of several processes share: nodes on one PostgreSQL, an upstream that never ends a stream, calls, and the ledger
// as the database has it.
import { createServer, type Server } from "node:http";
import pg from "pg";
import { expect } from "vitest";
import { checkLedger } from "#server/money/ledger-check.ts";
import { openStore } from "#server/store/db.ts";
import { createPostgresDatabase, type PostgresDatabase } from "./postgres.ts";
import { type ServerProcess, startServer, temporaryDir } from "./process.ts";

export const MASTER_KEY = "one master key for every node of the test";

const cleanups: (() => unknown)[] = [];

/** Takes down what was made since the mark, last made first. */
export async function cleanUp(mark = 0): Promise<void> {
  for (const clean of cleanups.splice(mark).reverse()) await clean();
}

/** Where `cleanUp` is to stop: what is there now stays. */
export function cleanupMark(): number {
  return cleanups.length;
}

export async function createDatabase(): Promise<PostgresDatabase> {
  const database = await createPostgresDatabase();
  cleanups.push(database.drop);
  return database;
}

export async function boot(
  database: PostgresDatabase,
  env: Record<string, string> = {},
): Promise<ServerProcess> {
  const dir = temporaryDir();
  cleanups.push(dir.remove);
  const node = await startServer(dir.path, { DATABASE_URL: database.url, MASTER_KEY, ...env });
  cleanups.push(() => node.kill("SIGKILL"));
  return node;
}

/** Answers chats at once; streams one word each 50 ms for ever. */
export async function createUpstream(): Promise<string> {
  const server: Server = createServer((req, res) => {
    let body = "";
    req.on("data", (data) => {
      body += String(data);
    });
    req.on("end", () => {
      const base = { id: "c", object: "chat.completion", created: 1, model: "gpt-4o-mini" };
      if (JSON.parse(body).stream !== true) {
        res.setHeader("content-type", "application/json");
        const message = { role: "assistant", content: "hello" };
        const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
        res.end(JSON.stringify({ ...base, choices: [{ index: 0, message, finish_reason: "stop" }], usage }));
        return;
      }
      res.writeHead(200, { "content-type": "text/event-stream" });
      const choices = [{ index: 0, delta: { content: " word" }, finish_reason: null }];
      const timer = setInterval(() => res.write(`data: ${JSON.stringify({ ...base, choices })}\n\n`), 50);
      res.on("close", () => clearInterval(timer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return `http://127.0.0.1:${address.port}`;
}

export const channelDraft = (base_url: string) => ({
  type: 1,
  name: "shared",
  key: "k",
  base_url,
  models: "gpt-4o-mini",
  group: "default",
});

export function chat(
  url: string,
  key: string,
  more: Record<string, unknown> = {},
  signal: AbortSignal | null = null,
): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    signal,
    headers: { authorization: `Bearer sk-${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "gpt-4o-mini", messages: [{ role: "user", content: "hi" }], ...more }),
  });
}

export async function status(url: string, key: string): Promise<number> {
  const response = await chat(url, key);
  await response.text();
  return response.status;
}

export async function query<Row>(database: PostgresDatabase, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    // Each statement below names its columns.
    return (await client.query(sql)).rows as Row[];
  } finally {
    await client.end();
  }
}

export async function expectExactLedger(database: Pick<PostgresDatabase, "url">): Promise<void> {
  const store = await openStore({ dataDir: "", databaseUrl: database.url });
  try {
    expect(await checkLedger(store.db)).toEqual([]);
  } finally {
    await store.close();
  }
}
