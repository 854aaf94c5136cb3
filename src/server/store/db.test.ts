import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createTestDatabase, engines, seedUser, type TestDatabase } from "#test/worlds/stores.ts";
import { openStore, type Store, sumInt } from "./db.ts";
import { faultKind, isTaken, type StoreError } from "./fault.ts";
import { findOption, listOptions, saveOption } from "./options.ts";
import { findUserByName, updateUserProfile } from "./users.ts";

describe.each(engines)("store on %s", (engine) => {
  let database: TestDatabase;
  let store: Store;

  beforeAll(async () => {
    database = await createTestDatabase(engine);
    store = await database.open();
  });

  afterAll(async () => {
    await store.close();
    await database.drop();
  });

  test("is ready while it can be written to, and not when it is closed", async () => {
    expect(await store.ready()).toBe(true);
    const other = await createTestDatabase(engine);
    const closed = await other.open();
    await closed.close();
    expect(await closed.ready()).toBe(false);
    await other.drop();
  });

  test("is not ready when it takes no row, and leaves none behind when it does", async () => {
    await sql
      .raw(
        engine === "sqlite"
          ? "CREATE TRIGGER full BEFORE INSERT ON options BEGIN SELECT RAISE(ABORT, 'no'); END"
          : `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
              $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'disk_full'; END $$;
            CREATE TRIGGER "full" BEFORE INSERT ON options FOR EACH ROW EXECUTE FUNCTION refuse()`,
      )
      .execute(store.db);
    expect(await store.ready()).toBe(false);
    await sql.raw(`DROP TRIGGER "full"${engine === "sqlite" ? "" : " ON options"}`).execute(store.db);
    // Callers that ask at the same moment are told the same.
    expect(await Promise.all([store.ready(), store.ready(), store.ready()])).toEqual([true, true, true]);
    expect(await findOption(store.db, "")).toBeUndefined();
  });

  test("says within a second or so that it is not ready, however long it would wait", async () => {
    await store.db.transaction().execute(async (tx) => {
      // On SQLite an open transaction is enough.
      if (engine === "postgres") await sql`LOCK TABLE options IN EXCLUSIVE MODE`.execute(tx);
      const startMs = performance.now();
      expect(await Promise.all([store.ready(), store.ready()])).toEqual([false, false]);
      expect(performance.now() - startMs).toBeLessThan(5_000);
    });
    await expect.poll(() => store.ready()).toBe(true);
  });

  test("keeps what it was given when it is opened again", async () => {
    const other = await createTestDatabase(engine);
    const first = await other.open();
    await seedUser(first.db, { username: "wang", email: "王@例子.cn" });
    await first.close();
    const second = await other.open();
    expect(await findUserByName(second.db, "wang")).toMatchObject({ email: "王@例子.cn" });
    await second.close();
    await other.drop();
  });

  test("a transaction that fails leaves nothing", async () => {
    const failed = store.db.transaction().execute(async (tx) => {
      await seedUser(tx, { username: "ghost" });
      throw new Error("no");
    });
    await expect(failed).rejects.toThrow("no");
    expect(await findUserByName(store.db, "ghost")).toBeUndefined();
  });

  test("a transaction reads what it wrote, other readers do not before it ends", async () => {
    let release = () => {};
    const waiting = new Promise<void>((resolve) => (release = resolve));
    const work = store.db.transaction().execute(async (tx) => {
      await seedUser(tx, { username: "hidden" });
      expect(await findUserByName(tx, "hidden")).toBeDefined();
      await waiting;
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await findUserByName(store.db, "hidden")).toBeUndefined();
    const meanwhile = seedUser(store.db, { username: "meanwhile" });
    release();
    await Promise.all([work, meanwhile]);
    expect(await findUserByName(store.db, "hidden")).toBeDefined();
    expect(await findUserByName(store.db, "meanwhile")).toBeDefined();
  });

  test("transactions and single writes that arrive together all happen", async () => {
    await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        if (index % 3 > 0) return seedUser(store.db, { username: `many${index}` });
        return store.db.transaction().execute(async (tx) => {
          const id = await seedUser(tx, { username: `many${index}` });
          await updateUserProfile(tx, id, { email: `${index}@example.com` });
        });
      }),
    );
    const found = await store.db
      .selectFrom("users")
      .select("id")
      .where("username", "like", "many%")
      .execute();
    expect(found).toHaveLength(60);
  });

  test("says what went wrong in the same words", async () => {
    const taken = await seedUser(store.db, { username: "taken" })
      .then(() => seedUser(store.db, { username: "taken" }))
      .catch((error: unknown) => error);
    expect([faultKind(taken), isTaken(taken)]).toEqual(["constraint", true]);
    const orphan = await store.db
      .insertInto("sessions")
      .values({ id_hash: "x", user_id: 999_999, created_at: 1, last_seen: 1 })
      .execute()
      .catch((error: unknown) => error);
    expect([faultKind(orphan), isTaken(orphan)]).toEqual(["constraint", false]);
    const wrong = await sql`SELECT * FROM no_such_table`.execute(store.db).catch((error: unknown) => error);
    expect([faultKind(wrong), isTaken(wrong)]).toEqual(["other", false]);
    expect([faultKind("text"), isTaken("text"), faultKind(new Error("Connection terminated"))]).toEqual([
      "other",
      false,
      "lost",
    ]);
  });

  test("whole numbers come back as numbers, exact or not at all", async () => {
    const id = await seedUser(store.db);
    const largest = Number.MAX_SAFE_INTEGER;
    await store.db.updateTable("users").set({ quota: largest }).where("id", "=", id).execute();
    const row = await store.db.selectFrom("users").select("quota").where("id", "=", id).executeTakeFirst();
    expect(row).toEqual({ quota: largest });
    await sql`UPDATE users SET quota = quota + 2 WHERE id = ${id}`.execute(store.db);
    await expect(store.db.selectFrom("users").select("quota").where("id", "=", id).execute()).rejects.toThrow(
      /too large/,
    );
    await store.db.updateTable("users").set({ quota: 0 }).where("id", "=", id).execute();
  });

  test("sums are whole numbers, 0 without rows", async () => {
    const sum = () =>
      store.db
        .selectFrom("log_rollups")
        .select((select) => sumInt(select.ref("quota")).as("sum"))
        .executeTakeFirst();
    expect(await sum()).toEqual({ sum: 0 });
    const hour = { hour: 0, user_id: 1, token_name: "", model_name: "" };
    const sums = { quota: 4_000_000_000_000_000, prompt_tokens: 1, completion_tokens: 1, requests: 1 };
    await store.db
      .insertInto("log_rollups")
      .values([
        { ...hour, ...sums, channel_id: 1 },
        { ...hour, ...sums, channel_id: 2 },
      ])
      .execute();
    expect(await sum()).toEqual({ sum: 8_000_000_000_000_000 });
  });
});

describe("SQLite", () => {
  let database: TestDatabase;

  beforeEach(async () => {
    database = await createTestDatabase("sqlite");
  });

  afterEach(() => database.drop());

  test("runs with the settings that durability needs", async () => {
    const store = await database.open();
    const ask = async (name: string) => {
      // Inside a transaction the writer answers, outside the reader.
      const read = async (db: Store["db"]) =>
        (await sql<Record<string, unknown>>`PRAGMA ${sql.raw(name)}`.execute(db)).rows[0];
      return Object.values((await store.db.transaction().execute(read)) ?? {})[0];
    };
    expect(await ask("journal_mode")).toBe("wal");
    expect(await ask("synchronous")).toBe(2);
    expect(await ask("foreign_keys")).toBe(1);
    expect(await ask("busy_timeout")).toBe(5_000);
    await store.close();
  });

  test("a second instance is refused with a sentence that says why", async () => {
    const store = await database.open();
    await expect(database.open()).rejects.toThrow("another instance is running on this data directory");
    await store.close();
    await (await database.open()).close();
  });

  test("an instance that was killed leaves no lock behind", { timeout: 20_000 }, async () => {
    const script = `
      import { openStore } from "#server/store/db.ts";
      await openStore({ dataDir: ${JSON.stringify(database.options.dataDir)} });
      console.log("open");`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      cwd: process.cwd(),
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    await expect(database.open()).rejects.toThrow("another instance");
    child.kill("SIGKILL");
    await once(child, "exit");
    await (await database.open()).close();
  });

  test("raw SQL that begins like a read may write", async () => {
    const store = await database.open();
    await sql`WITH one AS (SELECT 'a' AS a) INSERT INTO options (key, value) SELECT a, a FROM one`.execute(
      store.db,
    );
    expect(
      await sql`WITH all_of AS (SELECT key FROM options) SELECT * FROM all_of`.execute(store.db),
    ).toMatchObject({
      rows: [{ key: "a" }],
    });
    await store.close();
  });

  test("a transaction whose code forgot it is undone, and others go on", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    const store = await database.open();
    let release: (() => void) | undefined;
    const forgotten = store.db
      .transaction()
      .execute(async (tx) => {
        await seedUser(tx, { username: "forgotten" });
        await new Promise<void>((resolve) => (release = resolve));
        await seedUser(tx, { username: "late" });
      })
      .catch((error: unknown) => error);
    await expect.poll(() => release).toBeDefined();
    const waiting = seedUser(store.db, { username: "waiting" });
    await vi.advanceTimersByTimeAsync(15_000);
    await waiting;
    release?.();
    expect(await forgotten).toMatchObject({ kind: "timeout" });
    expect(await findUserByName(store.db, "forgotten")).toBeUndefined();
    expect(await findUserByName(store.db, "waiting")).toBeDefined();
    vi.useRealTimers();
    await store.close();
  });

  test("a full file is not ready, and is when there is space again", async () => {
    const store = await database.open();
    const pragma = (text: string) => sql.raw(`PRAGMA ${text}`).execute(store.db);
    expect(await store.ready()).toBe(true);
    await pragma("max_page_count = 1");
    const fill = async () => {
      for (let turn = 0; turn < 1_000; turn += 1) await saveOption(store.db, `${turn}`, "x".repeat(2_000));
    };
    await expect(fill()).rejects.toMatchObject({ kind: "full" });
    expect(await store.ready()).toBe(false);
    await pragma("max_page_count = 1073741823");
    expect(await store.ready()).toBe(true);
    await store.close();
  });

  test("no more than a thousand wait for the writer; the next is told so", async () => {
    const store = await database.open();
    const save = (turn: number) => saveOption(store.db, `${turn}`, "");
    const waiting = await store.db.transaction().execute(async (tx) => {
      const all = Array.from({ length: 1_000 }, (_, turn) => save(turn));
      await expect(save(1_000)).rejects.toMatchObject({ kind: "busy" });
      const begin = store.db.transaction().execute(async () => undefined);
      await expect(begin).rejects.toMatchObject({ kind: "busy" });
      await saveOption(tx, "mine", "");
      return all;
    });
    await Promise.all(waiting);
    expect((await listOptions(store.db)).rows).toHaveLength(1_001);
    await store.close();
  });

  test("a value that SQLite does not know is refused, and the store goes on", async () => {
    const store = await database.open();
    const odd = sql`UPDATE options SET value = ${Symbol("odd")}`;
    await expect(odd.execute(store.db)).rejects.toThrow("cannot be stored");
    const real = store.db.updateTable("users").set({ role: 1.5 });
    await seedUser(store.db);
    await expect(real.execute()).rejects.toThrow("REAL");
    expect(await store.ready()).toBe(true);
    await store.close();
  });

  test("does not stream rows", async () => {
    const store = await database.open();
    const rows = store.db.selectFrom("users").select("id").stream();
    await expect(rows.next()).rejects.toThrow("not streamed");
    await store.close();
  });

  test("a data directory that is no directory is an error in words", async () => {
    const file = join(database.options.dataDir, "tollgate.db");
    const store = await database.open();
    await store.close();
    expect(existsSync(file)).toBe(true);
    await expect(openStore({ dataDir: file })).rejects.toThrow();
  });

  test("a module answers before it does what can wait", async () => {
    const store = await database.open();
    if (store.dialect !== "sqlite") throw new Error("the test needs SQLite");
    // The rest waits for a word that is said only after the answer.
    const module = new URL(`data:text/javascript,
      let word;
      export function run(_, input) { word ??= new Int32Array(input); return word[1]; }
      export function afterReply() { word[1] = Atomics.wait(word, 0, 0, 10_000) === "timed-out" ? 1 : 2; }`);
    const word = new Int32Array(new SharedArrayBuffer(8));
    expect(await store.runInWriter(module, word.buffer)).toBe(0);
    Atomics.store(word, 0, 1);
    Atomics.notify(word, 0);
    expect(await store.runInWriter(module, word.buffer)).toBe(2);
    await store.close();
  });

  test("a module sends something ahead of its answer, and takes what it wrote to the disk", async () => {
    const store = await database.open();
    if (store.dialect !== "sqlite") throw new Error("the test needs SQLite");
    const module = new URL(`data:text/javascript,
      export function run(database, input, { send, sync }) {
        send(input + 1);
        database.exec("UPDATE users SET quota = 0");
        send(input + 2);
        sync();
        return input + 3;
      }`);
    const heard: unknown[] = [];
    heard.push(await store.runInWriter(module, 1, (value) => heard.push(value)));
    // A caller that does not listen misses nothing else.
    heard.push(await store.runInWriter(module, 5));
    expect(heard).toEqual([2, 3, 4, 8]);
    await store.close();
  });

  test.each([
    [
      "told by SQLite",
      `throw Object.assign(new Error("disk I/O error"), { errcode: 1034 })`,
      "disk I/O error",
    ],
    [
      "of a directory",
      `throw Object.assign(new Error("disk I/O error"), { errcode: 1290 })`,
      "disk I/O error",
    ],
    ["told to us", "early.sync()", "the disk does not take the database's log: EIO"],
  ])("a disk that does not take what was written ends everything: %s", async (_, fault, words) => {
    const fatal: StoreError[] = [];
    const store = await database.open({ onFatal: (error) => fatal.push(error) });
    if (store.dialect !== "sqlite") throw new Error("the test needs SQLite");
    const module = new URL(`data:text/javascript,
      import fs from "node:fs";
      import { syncBuiltinESMExports } from "node:module";
      export function run(_, __, early) {
        early.send("ahead");
        fs.fdatasyncSync = () => { throw new Error("EIO"); };
        syncBuiltinESMExports();
        ${fault};
      }`);
    const heard: unknown[] = [];
    // The caller cannot know what is stored.
    const answer = store.runInWriter(module, "", (value) => heard.push(value));
    await expect(answer).rejects.toMatchObject({ kind: "lost" });
    expect(heard).toEqual(["ahead"]);
    await expect
      .poll(() => fatal.map(({ message }) => message))
      .toEqual([`the database worker ended: ${words}`]);
    await expect(store.runInWriter(module, "")).rejects.toMatchObject({ kind: "lost" });
    await store.close();
  });

  test("tells when the worker is gone for good", async () => {
    const fatal: StoreError[] = [];
    const store = await database.open({ onFatal: (error) => fatal.push(error) });
    if (store.dialect !== "sqlite") throw new Error("the test needs SQLite");
    const crash = new URL("data:text/javascript,export function run() { process.exit(7); }");
    await expect(store.runInWriter(crash, undefined)).rejects.toMatchObject({ kind: "lost" });
    await expect.poll(() => fatal.length).toBe(1);
    expect(await store.ready()).toBe(false);
    await store.close();
  });
});
