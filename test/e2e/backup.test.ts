// Copies of a database in use, going back to one, exchanging the master key, and no secret in clear in any file (requirements
// U07, K01–K03).
import { spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { checkLedger } from "#server/money/ledger-check.ts";
import { openStore } from "#server/store/db.ts";
import { buildServer, SERVER } from "#test/worlds/build.ts";
import { testDirectory } from "#test/worlds/directory.ts";
import { createPostgresDatabase } from "#test/worlds/postgres.ts";
import { manage, rootAccess, rootKey, type ServerProcess, startServer } from "#test/worlds/process.ts";
import { rounds } from "#test/worlds/soak.ts";

async function boot(dataDir: string, env: Record<string, string> = {}): Promise<ServerProcess> {
  const server = await startServer(dataDir, env);
  onTestFinished(() => server.kill("SIGKILL"));
  return server;
}

interface Ran {
  readonly code: number | null;
  readonly text: string;
}

/** Runs a command of the program to its end. */
function tollgate(args: readonly string[], env: Record<string, string>): Promise<Ran> {
  buildServer();
  const child = spawn(process.execPath, [SERVER, ...args], {
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (data) => {
      text += String(data);
    });
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, text })));
}

async function createUpstream(): Promise<string> {
  const server: Server = createServer((req, res) => {
    req.resume();
    req.on("end", () => {
      res.setHeader("content-type", "application/json");
      const message = { role: "assistant", content: "hello" };
      const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
      const base = { id: "c", object: "chat.completion", created: 1, model: "gpt-4o-mini" };
      res.end(JSON.stringify({ ...base, choices: [{ index: 0, message, finish_reason: "stop" }], usage }));
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

async function chat(url: string, key = rootKey): Promise<number> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer sk-${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "gpt-4o-mini", messages: [{ role: "user", content: "hi" }] }),
  });
  await response.text();
  return response.status;
}

const CANARIES = { channel: "sk-channel-canary-7f3a9", option: "option-canary-2b8e1", code: "" };

/** A server with a channel, a secret option, a token and a redemption code. Returns the secrets in it. */
async function fill(server: ServerProcess): Promise<string[]> {
  const base_url = await createUpstream();
  const draft = {
    type: 1,
    name: "c",
    key: CANARIES.channel,
    base_url,
    models: "gpt-4o-mini",
    group: "default",
  };
  await manage(server.url, "POST", "/api/channel/", draft);
  await manage(server.url, "PUT", "/api/option/", { key: "SMTPToken", value: CANARIES.option });
  const token = (await manage(server.url, "POST", "/api/token/", { name: "canary" })) as { key: string };
  const codes = (await manage(server.url, "POST", "/api/redemption/", {
    name: "c",
    quota: 5,
    count: 2,
  })) as string[];
  return [CANARIES.channel, CANARIES.option, token.key, rootKey, rootAccess, ...codes];
}

/** Which of the texts stand in clear in any file of a directory. */
function found(dir: string, texts: readonly string[]): string[] {
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.flatMap((entry) => {
    const bytes = readFileSync(join(entry.parentPath, entry.name)).toString("latin1");
    return texts.filter((text) => bytes.includes(text)).map((text) => `${entry.name}: ${text}`);
  });
}

async function checkCopy(file: string): Promise<unknown[]> {
  const dataDir = testDirectory();
  cpSync(file, join(dataDir, "tollgate.db"));
  const store = await openStore({ dataDir });
  try {
    return await checkLedger(store.db);
  } finally {
    await store.close();
  }
}

/** Calls of a key at a pace, until it is stopped; `begun` and `answered` count calls. */
function startLoad(url: string, perSecond: number) {
  const load = { begun: 0, answered: 0, isOver: false };
  const startMs = performance.now();
  const callers = Array.from({ length: 16 }, async () => {
    while (!load.isOver) {
      const dueMs = startMs + (load.begun * 1_000) / perSecond;
      load.begun += 1;
      const waitMs = dueMs - performance.now();
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
      expect(await chat(url)).toBe(200);
      load.answered += 1;
    }
  });
  return {
    load,
    async stop(): Promise<number> {
      const elapsedSec = (performance.now() - startMs) / 1_000;
      load.isOver = true;
      await Promise.all(callers);
      return load.answered / elapsedSec;
    },
  };
}

/** Calls that a copy knows to be booked; the copy must be whole. */
function callsIn(file: string): number {
  const copy = new DatabaseSync(file, { readOnly: true });
  try {
    expect(copy.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    return Number(copy.prepare("SELECT count(*) AS n FROM ledger WHERE kind = 'consume'").get()?.["n"]);
  } finally {
    copy.close();
  }
}

const backupRounds = rounds(3, 100);

test(`${backupRounds} copies made while up to 500 calls a second are served: each opens, is whole, exact, and has all that was answered before`, {
  timeout: 60_000 + backupRounds * 5_000,
}, async () => {
  const server = await boot(testDirectory());
  const secrets = await fill(server);
  const quota = 10 ** 12;
  await manage(server.url, "POST", "/api/topup", { user_id: 1, quota, remark: "load" });
  const { load, stop } = startLoad(server.url, 500);
  const copies = join(testDirectory(), "copies");
  for (let turn = 0; turn < backupRounds; turn += 1) {
    const file = join(copies, `${turn}.db`);
    const answeredBefore = load.answered;
    const { code, text } = await tollgate(["backup", file], { DATA_DIR: server.dataDir });
    expect(text).toContain("integrity: ok");
    expect(text).toContain("books: exact");
    expect(code).toBe(0);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const calls = callsIn(file);
    expect(calls).toBeGreaterThanOrEqual(answeredBefore);
    expect(calls).toBeLessThanOrEqual(load.begun);
    expect(await checkCopy(file)).toEqual([]);
  }
  const perSecond = await stop();
  process.stdout.write(`${backupRounds} copies while ${perSecond.toFixed(0)} calls a second were served\n`);
  expect(readdirSync(copies)).toHaveLength(backupRounds);
  // Neither the database, its log, the copies, nor what the process printed.
  expect(found(server.dataDir, secrets)).toEqual([]);
  expect(found(copies, secrets)).toEqual([]);
  expect(secrets.filter((secret) => server.output().includes(secret))).toEqual([]);
});

test("a copy restored with its master key serves as before; without it the start is refused", async () => {
  const first = await boot(testDirectory());
  await fill(first);
  expect(await chat(first.url)).toBe(200);
  const file = join(testDirectory(), "copy.db");
  expect((await tollgate(["backup", file], { DATA_DIR: first.dataDir })).code).toBe(0);
  await first.kill("SIGTERM");

  const without = testDirectory();
  cpSync(file, join(without, "tollgate.db"));
  const before = readFileSync(join(without, "tollgate.db"));
  await expect(startServer(without)).rejects.toThrow(/master\.key is missing/);
  writeFileSync(join(without, "master.key"), "a wrong master key of more than 32 characters\n");
  await expect(startServer(without)).rejects.toThrow(/is not the master key/);
  const same = new DatabaseSync(join(without, "tollgate.db"), { readOnly: true });
  const original = new DatabaseSync(file, { readOnly: true });
  const dump = (db: DatabaseSync) => JSON.stringify(db.prepare("SELECT * FROM options ORDER BY key").all());
  expect(dump(same)).toBe(dump(original));
  same.close();
  original.close();
  expect(before.length).toBeGreaterThan(0);

  const restored = testDirectory();
  cpSync(file, join(restored, "tollgate.db"));
  cpSync(join(first.dataDir, "master.key"), join(restored, "master.key"));
  const second = await boot(restored);
  expect(await chat(second.url)).toBe(200);
});

test("a backup never overwrites, and says what it cannot do", async () => {
  const dataDir = testDirectory();
  const file = join(dataDir, "x.db");
  expect(await tollgate(["backup", file], { DATA_DIR: dataDir })).toMatchObject({
    code: 1,
    text: expect.stringContaining("there is no database at"),
  });
  const server = await boot(dataDir);
  writeFileSync(file, "mine");
  expect(await tollgate(["backup", file], { DATA_DIR: dataDir })).toMatchObject({
    code: 1,
    text: expect.stringContaining("exists already"),
  });
  expect(readFileSync(file, "utf8")).toBe("mine");
  // What a killed backup left goes with the next; one that may be at work, and other programs' files, stay.
  const backups = join(dataDir, "backups");
  const [left, running, others] = ["20260101-000000", "20260101-000001", "mine"].map((name) =>
    join(backups, `tollgate-${name}.db.partial`),
  ) as [string, string, string];
  mkdirSync(backups);
  for (const partial of [left, running, others]) writeFileSync(partial, "half");
  for (const partial of [left, others]) utimesSync(partial, 1, 1);
  const unnamed = await tollgate(["backup"], { DATA_DIR: dataDir });
  expect(unnamed).toMatchObject({ code: 0, text: expect.stringContaining(`removed: ${left}, left by`) });
  expect(readdirSync(backups).filter((name) => !name.endsWith(".partial"))).toEqual([
    expect.stringMatching(/^tollgate-\d{8}-\d{6}\.db$/),
  ]);
  expect([left, running, others].map((partial) => existsSync(partial))).toEqual([false, true, true]);
  await server.kill("SIGTERM");
  const database = await createPostgresDatabase();
  onTestFinished(database.drop);
  const postgres = await tollgate(["backup", file], { DATA_DIR: dataDir, DATABASE_URL: database.url });
  expect(postgres).toMatchObject({ code: 1, text: expect.stringContaining("pg_dump") });
  expect(await tollgate(["backup", "a", "b"], { DATA_DIR: dataDir })).toMatchObject({ code: 1 });
  expect(await tollgate(["brew"], {})).toMatchObject({
    code: 1,
    text: expect.stringContaining("unknown command brew"),
  });
  expect(await tollgate(["help"], {})).toMatchObject({ code: 0, text: expect.stringContaining("usage") });
});

test("the master key can be exchanged; sealed keys open, sessions and tokens hold, the old key does not", async () => {
  const dataDir = testDirectory();
  const first = await boot(dataDir);
  await fill(first);
  expect(await tollgate(["rotate-key"], { DATA_DIR: dataDir })).toMatchObject({
    code: 1,
    text: expect.stringContaining("another instance"),
  });
  await first.kill("SIGTERM");
  const old = readFileSync(join(dataDir, "master.key"), "utf8");
  const rotated = await tollgate(["rotate-key"], { DATA_DIR: dataDir });
  expect(rotated.code).toBe(0);
  expect(readFileSync(join(dataDir, "master.key"), "utf8")).not.toBe(old);
  expect(readFileSync(join(dataDir, "master.key.old"), "utf8")).toBe(old);
  expect(statSync(join(dataDir, "master.key")).mode & 0o777).toBe(0o600);
  expect(statSync(join(dataDir, "master.key.old")).mode & 0o777).toBe(0o600);
  expect(await tollgate(["rotate-key"], { DATA_DIR: dataDir })).toMatchObject({
    code: 1,
    text: expect.stringContaining("put it away"),
  });
  const second = await boot(dataDir);
  expect(await chat(second.url)).toBe(200);
  await second.kill("SIGTERM");
  writeFileSync(join(dataDir, "master.key"), old);
  await expect(startServer(dataDir)).rejects.toThrow(/is not the master key/);
});

test("a key from the environment is exchanged for the one in NEW_MASTER_KEY", async () => {
  const database = await createPostgresDatabase();
  onTestFinished(database.drop);
  const env = { DATABASE_URL: database.url, DATA_DIR: testDirectory() };
  const [before, after] = [
    "the old master key, thirty-two characters",
    "the new master key, thirty-two characters",
  ];
  const first = await boot(env.DATA_DIR, { ...env, MASTER_KEY: before });
  await fill(first);
  expect(await tollgate(["rotate-key"], { ...env, MASTER_KEY: before })).toMatchObject({
    code: 1,
    text: expect.stringContaining("NEW_MASTER_KEY"),
  });
  // The node that runs is not disturbed.
  expect((await tollgate(["rotate-key"], { ...env, MASTER_KEY: before, NEW_MASTER_KEY: after })).code).toBe(
    0,
  );
  expect(await chat(first.url)).toBe(200);
  // Nor is one that starts again before it has the new key: both are accepted until a node starts with that.
  const again = await boot(env.DATA_DIR, { ...env, MASTER_KEY: before });
  expect(await chat(again.url)).toBe(200);
  const second = await boot(env.DATA_DIR, { ...env, MASTER_KEY: after });
  expect(await chat(second.url)).toBe(200);
  await expect(startServer(env.DATA_DIR, { ...env, MASTER_KEY: before })).rejects.toThrow("is not the key");
});

/** States in which an exchange can be interrupted: which files there are, by the moment of the kill. */
test("an exchange that is killed at any moment leaves a database that opens, and can be ended", async () => {
  const origin = testDirectory();
  const server = await boot(origin);
  await fill(server);
  await server.kill("SIGTERM");
  const kills = rounds(3, 50);
  for (let round = 0; round < kills; round += 1) {
    const dataDir = join(testDirectory(), "data");
    mkdirSync(dataDir);
    cpSync(origin, dataDir, { recursive: true });
    rmSync(join(dataDir, "tollgate.lock"), { force: true });
    const child = spawn(process.execPath, [SERVER, "rotate-key"], {
      env: { PATH: process.env["PATH"], DATA_DIR: dataDir },
      stdio: "ignore",
    });
    const gone = new Promise((resolve) => child.once("exit", resolve));
    const timer = setTimeout(() => child.kill("SIGKILL"), 100 + (round * 500) / kills);
    await gone;
    clearTimeout(timer);
    const interrupted = await boot(dataDir);
    expect(await chat(interrupted.url)).toBe(200);
    await interrupted.kill("SIGKILL");
    const isDone =
      existsSync(join(dataDir, "master.key.old")) && !existsSync(join(dataDir, "master.key.next"));
    if (!isDone) expect((await tollgate(["rotate-key"], { DATA_DIR: dataDir })).code).toBe(0);
    expect(existsSync(join(dataDir, "master.key.next"))).toBe(false);
    const ended = await boot(dataDir);
    expect(await chat(ended.url)).toBe(200);
    await ended.kill("SIGKILL");
  }
}, 300_000);
