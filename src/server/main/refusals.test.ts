// What the operator reads when a start or a command cannot go on: a sentence, no stack, no secret, and the exit code.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { buildServer, SERVER } from "#test/worlds/build.ts";
import { testDirectory } from "#test/worlds/directory.ts";
import { createPostgresDatabase } from "#test/worlds/postgres.ts";
import { freePort } from "#test/worlds/process.ts";

// Each test starts the program several times.
vi.setConfig({ testTimeout: 120_000 });

/** Runs the program with its own empty directory until it ends, or until it listens: then it gets a SIGTERM. */
async function run(args: readonly string[], env: Record<string, string> = {}) {
  buildServer();
  const child = spawn(process.execPath, [SERVER, ...args], {
    env: { PATH: process.env["PATH"], DATA_DIR: testDirectory(), PORT: "0", LOG_LEVEL: "silent", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = { stdout: "", stderr: "" };
  child.stdout.on("data", (data) => {
    said.stdout += String(data);
  });
  child.stderr.on("data", (data) => {
    said.stderr += String(data);
    if (said.stderr.includes("listening on")) child.kill("SIGTERM");
  });
  const [code] = await once(child, "close");
  return { ...said, code };
}

/** One sentence and the code 1; a first start that has made its user has told how to log in before. */
async function refuses(sentence: RegExp, args: readonly string[], env: Record<string, string> = {}) {
  const { stdout, stderr, code } = await run(args, env);
  const lines = stderr
    .trimEnd()
    .split("\n")
    .filter((line) => !line.startsWith("First login: "));
  expect(lines).toEqual([expect.stringMatching(sentence)]);
  expect(stderr).not.toMatch(/hunter2|\[redacted\]/);
  expect({ stdout, code }).toEqual({ stdout: "", code: 1 });
}

test.each(["nowhere.invalid", "[::1]", '"127.0.0.1"', "192.0.2.1"])("HOST=%s", async (HOST) => {
  await refuses(/^tollgate: HOST is not an address of this machine$/, [], { HOST });
});

test("a first start that cannot listen tells the password that no later one knows", async () => {
  const DATA_DIR = testDirectory();
  const { stderr, code } = await run([], { DATA_DIR, HOST: "192.0.2.1" });
  expect(stderr).toMatch(/^First login: root \/ \S{20} \(random, shown only now\)\ntollgate: HOST is not/);
  expect(code).toBe(1);
  expect((await run([], { DATA_DIR, HOST: "192.0.2.1" })).stderr).not.toContain("First login");
});

test("a data directory below a file", async () => {
  const file = join(testDirectory(), "file");
  writeFileSync(file, "");
  await refuses(/^tollgate: .*ENOTDIR/, [], { DATA_DIR: join(file, "data"), MASTER_KEY: "k".repeat(32) });
});

// A folder in which no user can make anything, not even root.
test.skipIf(process.platform !== "linux")("a data directory that cannot be made", async () => {
  const { url, drop } = await createPostgresDatabase();
  onTestFinished(drop);
  const REFUSED = /^tollgate: ENOENT: .*\/proc\/none'$/;
  const env = { DATA_DIR: "/proc/none/data" };
  await refuses(REFUSED, [], { ...env, MASTER_KEY: "k".repeat(32) });
  await refuses(REFUSED, [], { ...env, DATABASE_URL: url });
});

test("PostgreSQL that is not there, or does not let us in", async () => {
  const { url, drop } = await createPostgresDatabase();
  onTestFinished(drop);
  const wrong = Object.assign(new URL(url), { password: "hunter2hunter2" });
  const away = `postgres://u:hunter2@127.0.0.1:${await freePort()}/db`;
  const start = /^tollgate: cannot connect to the database \(DATABASE_URL\): /;
  await refuses(start, [], { DATABASE_URL: wrong.href, MASTER_KEY: "k".repeat(32) });
  await refuses(start, ["rotate-key"], { DATABASE_URL: away, MASTER_KEY: "k".repeat(32) });
  const source = /^tollgate: cannot read the PostgreSQL database: /;
  for (const address of [wrong.href, "postgres://u:hunter2#@h:1/db"])
    await refuses(source, ["import", address]);
});

test("a database file that is none", async () => {
  const DATA_DIR = testDirectory();
  writeFileSync(join(DATA_DIR, "tollgate.db"), "no database at all ".repeat(500));
  await refuses(/^tollgate: file is not a database \(in \/\S+\)$/, [], {
    DATA_DIR,
    MASTER_KEY: "k".repeat(32),
  });
});

test("a database file that cannot be opened", async () => {
  const DATA_DIR = testDirectory();
  mkdirSync(join(DATA_DIR, "tollgate.db"));
  await refuses(/^tollgate: unable to open database file \(in \/\S+\)$/, [], {
    DATA_DIR,
    MASTER_KEY: "k".repeat(32),
  });
});

test("a copy of what is no database of ours, or to where there can be no file", async () => {
  const DATA_DIR = testDirectory();
  const [file, to] = [join(DATA_DIR, "tollgate.db"), join(DATA_DIR, "copy.db")];
  writeFileSync(file, "no database at all ".repeat(500));
  await refuses(/^tollgate: cannot copy \S+ to \S+ \(file is not a database\)$/, ["backup", to], {
    DATA_DIR,
  });
  writeFileSync(file, "");
  new DatabaseSync(file).exec("CREATE TABLE others (id)");
  await refuses(/^tollgate: \S+ is no database of Tollgate$/, ["backup", to], { DATA_DIR });
  await refuses(/^tollgate: .*tollgate\.db/, ["backup", join(file, "below.db")], { DATA_DIR });
  expect(existsSync(to)).toBe(false);
});

test("help is asked for with any command, and does nothing else", async () => {
  for (const args of [["help"], ["-h"], ["serve", "--help"], ["backup", "--help"], ["import", "-h"]]) {
    const { stdout, stderr, code } = await run(args);
    expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
    expect(stdout).toMatch(/^usage:\n/);
  }
});

test("words that are no command, or too many of them", async () => {
  for (const args of [
    ["constructor"],
    ["serve", "now"],
    ["backup", "a", "b"],
    ["rotate-key", "x"],
    ["reset-password", "a", "b"],
    ["import"],
  ]) {
    const { stdout, stderr, code } = await run(args);
    expect({ stdout, code }).toEqual({ stdout: "", code: 1 });
    expect(stderr).toMatch(
      /^tollgate: (unknown command|unexpected argument|no database was given).*\nusage:\n/,
    );
  }
});

test("workers that are ended while they start end the program with 0", async () => {
  const { url, drop } = await createPostgresDatabase();
  onTestFinished(drop);
  const { code } = await run([], { DATABASE_URL: url, MASTER_KEY: "k".repeat(32), WORKERS: "2" });
  expect(code).toBe(0);
});
