import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sql } from "kysely";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createTestDatabase, engines, seedUser, type TestDatabase } from "#test/worlds/stores.ts";
import { MIGRATIONS } from "./migrations/list.ts";
import type { Migration } from "./migrations/migration.ts";
import type { Tables } from "./tables.ts";

const CHANGES: Migration = {
  name: "0002-test",
  sqlite: ["CREATE TABLE extra (id integer PRIMARY KEY) STRICT", "INSERT INTO extra (id) VALUES (1)"],
  postgres: ["CREATE TABLE extra (id bigint PRIMARY KEY)", "INSERT INTO extra (id) VALUES (1)"],
};
const NEWER = [...MIGRATIONS, CHANGES];

/** Fails at its last statement. */
const BROKEN: Migration = {
  name: "0002-broken",
  sqlite: [...CHANGES.sqlite, "INSERT INTO no_such_table VALUES (1)"],
  postgres: [...CHANGES.postgres, "INSERT INTO no_such_table VALUES (1)"],
};

describe.each(engines)("migrations on %s", (engine) => {
  let database: TestDatabase;

  beforeEach(async () => {
    database = await createTestDatabase(engine);
  });

  afterEach(() => database.drop());

  const extraRows = async () => {
    const store = await database.open({ migrations: NEWER });
    const { rows } = await sql`SELECT id FROM extra`.execute(store.db);
    await store.close();
    return rows;
  };

  test("bring an empty and an older database to the same schema, keeping what is in it", async () => {
    const store = await database.open();
    await seedUser(store.db, { username: "kept" });
    await store.close();
    expect(await extraRows()).toEqual([{ id: 1 }]);
    const newer = await database.open({ migrations: NEWER });
    expect(await newer.db.selectFrom("users").select("username").execute()).toEqual([{ username: "kept" }]);
    await newer.close();
  });

  test("refuse a database that is newer than the program, and leave it as it is", async () => {
    await (await database.open({ migrations: NEWER })).close();
    const known = MIGRATIONS.length;
    await expect(database.open()).rejects.toThrow(
      `schema ${known + 1} (0002-test), this program knows ${known}`,
    );
    expect(await extraRows()).toEqual([{ id: 1 }]);
  });

  test("refuse a migration that was changed after it was applied", async () => {
    await (await database.open({ migrations: NEWER })).close();
    const changed = { ...CHANGES, [engine]: [...CHANGES[engine], "SELECT 1"] };
    await expect(database.open({ migrations: [...MIGRATIONS, changed] })).rejects.toThrow(
      "0002-test is not the one",
    );
    const renamed = { ...CHANGES, name: "0002-other" };
    await expect(database.open({ migrations: [...MIGRATIONS, renamed] })).rejects.toThrow(
      "0002-test is not the one",
    );
  });

  test("undo one that fails as a whole, and run it when it is put right", async () => {
    await expect(database.open({ migrations: [...MIGRATIONS, BROKEN] })).rejects.toThrow("no_such_table");
    expect(await extraRows()).toEqual([{ id: 1 }]);
  });

  test("create every table and column that the code names", async () => {
    const store = await database.open();
    for (const [table, columns] of Object.entries(COLUMNS)) {
      const { rows } = await sql<{ name: string }>`${
        engine === "sqlite"
          ? sql`SELECT name FROM pragma_table_info(${table})`
          : sql`SELECT column_name AS name FROM information_schema.columns WHERE table_name = ${table}`
      }`.execute(store.db);
      expect(rows.map((row) => row.name).toSorted(), table).toEqual(Object.keys(columns).toSorted());
    }
    await store.close();
  });
});

test("several nodes that start at once on PostgreSQL migrate once", async () => {
  const database = await createTestDatabase("postgres");
  const stores = await Promise.all(Array.from({ length: 5 }, () => database.open({ migrations: NEWER })));
  const { rows } = await sql`SELECT version FROM schema_migrations`.execute(stores[0]?.db ?? expect.fail());
  expect(rows).toHaveLength(NEWER.length);
  await Promise.all(stores.map((store) => store.close()));
  await database.drop();
});

test("a migration of PostgreSQL does not make others wait while somebody reads what it changes", async () => {
  const database = await createTestDatabase("postgres");
  const store = await database.open();
  const widened: Migration = {
    name: "0002-wide",
    sqlite: [],
    postgres: ["ALTER TABLE users ADD COLUMN wide text"],
  };
  let opening: ReturnType<TestDatabase["open"]> | undefined;
  await store.db.transaction().execute(async (reading) => {
    await sql`SELECT count(*) FROM users`.execute(reading);
    opening = database.open({ migrations: [...MIGRATIONS, widened] });
    const wants = sql<{ n: number }>`SELECT count(*) AS n FROM pg_locks JOIN pg_database ON oid = database
      WHERE datname = current_database() AND mode = 'AccessExclusiveLock' AND NOT granted`;
    await expect.poll(async () => (await wants.execute(store.db)).rows[0]?.n).toBe(1);
    // Behind the one who wants the table for himself.
    await sql`SELECT count(*) FROM users`.execute(store.db);
  });
  const wide = await opening;
  await sql`SELECT wide FROM users`.execute(wide?.db ?? expect.fail());
  await Promise.all([store.close(), wide?.close()]);
  await database.drop();
});

test("a migration of a large SQLite database takes as long as it takes", async () => {
  const database = await createTestDatabase("sqlite");
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  try {
    let isOpen = false;
    const end = () => {
      isOpen = true;
    };
    const opening = database.open();
    opening.then(end, end);
    // Each statement takes longer than any transaction may at other times.
    while (!isOpen) await vi.advanceTimersByTimeAsync(60_000);
    await (await opening).close();
  } finally {
    vi.useRealTimers();
    await database.drop();
  }
});

test("a SQLite database is copied before its schema changes, but not when it is new", async () => {
  const database = await createTestDatabase("sqlite");
  const { dataDir } = database.options;
  const copies = () => readdirSync(dataDir).filter((name) => name.includes("before"));
  const store = await database.open();
  await seedUser(store.db, { username: "kept" });
  await store.close();
  expect(copies()).toEqual([]);
  await expect(database.open({ migrations: [...MIGRATIONS, BROKEN] })).rejects.toThrow();
  await (await database.open({ migrations: NEWER })).close();
  await (await database.open({ migrations: NEWER })).close();
  expect(copies().toSorted()).toEqual(["tollgate.db.before-0002-broken", "tollgate.db.before-0002-test"]);
  const copy = new DatabaseSync(join(dataDir, "tollgate.db.before-0002-test"), { readOnly: true });
  expect(copy.prepare("SELECT username FROM users").all()).toEqual([{ username: "kept" }]);
  expect(copy.prepare("SELECT count(*) AS n FROM schema_migrations").get()).toEqual({
    n: MIGRATIONS.length,
  });
  copy.close();
  // The copy is a database to go back to.
  rmSync(join(dataDir, "tollgate.db"));
  expect(readFileSync(join(dataDir, "tollgate.db.before-0002-test")).length).toBeGreaterThan(0);
  await database.drop();
});

test("a copy before a migration that cannot be made whole leaves nothing that looks like one, and no change", async () => {
  const database = await createTestDatabase("sqlite");
  const { dataDir } = database.options;
  const file = join(dataDir, "tollgate.db");
  const store = await database.open();
  for (let id = 1; id <= 50; id += 1) await seedUser(store.db, { display_name: "x".repeat(4_000) });
  await store.close();
  const whole = readFileSync(file);
  const PAGE = 4_096;
  writeFileSync(file, Buffer.from(whole).fill(0xa5, whole.length - 20 * PAGE, whole.length - 2 * PAGE));
  await expect(database.open({ migrations: NEWER })).rejects.toThrow(
    /cannot be copied to .*before-0002-test, and is not changed without a copy: .*malformed/,
  );
  expect(readdirSync(dataDir).filter((name) => name.includes("before"))).toEqual([]);
  writeFileSync(file, whole);
  // One that a killed start left half made is in nobody's way.
  writeFileSync(`${file}.before-0002-test.partial`, "half");
  await (await database.open({ migrations: NEWER })).close();
  expect(readdirSync(dataDir).filter((name) => name.includes("before"))).toEqual([
    "tollgate.db.before-0002-test",
  ]);
  await database.drop();
});

type ColumnsOf = { [Table in keyof Tables]: { [Column in keyof Tables[Table]]: true } };

/** Kept equal to tables.ts by the compiler. */
const COLUMNS: ColumnsOf = {
  users: {
    id: true,
    username: true,
    password: true,
    display_name: true,
    role: true,
    status: true,
    email: true,
    mailbox: true,
    github_id: true,
    wechat_id: true,
    access_token_hash: true,
    quota: true,
    used_quota: true,
    request_count: true,
    group: true,
    aff_code: true,
    inviter_id: true,
    created_at: true,
    invite_commission_micro: true,
    external_login: true,
  },
  sessions: { id_hash: true, user_id: true, created_at: true, last_seen: true },
  codes: { key: true, code_hash: true, user_id: true, detail: true, tries: true, expires_at: true },
  quota_reminders: { user_id: true, level: true, low_sent_at: true, empty_sent_at: true },
  tokens: {
    id: true,
    user_id: true,
    key_hash: true,
    key_sealed: true,
    status: true,
    name: true,
    created_time: true,
    accessed_time: true,
    expired_time: true,
    remain_quota: true,
    unlimited_quota: true,
    used_quota: true,
    models: true,
    subnet: true,
    deleted_at: true,
  },
  channels: {
    id: true,
    type: true,
    key_hash: true,
    key_sealed: true,
    status: true,
    status_reason: true,
    status_time: true,
    name: true,
    weight: true,
    priority: true,
    created_time: true,
    test_time: true,
    response_time: true,
    base_url: true,
    other: true,
    balance: true,
    balance_updated_time: true,
    models: true,
    group: true,
    used_quota: true,
    model_mapping: true,
    config: true,
    deleted_at: true,
  },
  options: { key: true, value: true },
  logs: {
    id: true,
    user_id: true,
    created_at: true,
    type: true,
    content: true,
    username: true,
    token_id: true,
    token_name: true,
    model_name: true,
    quota: true,
    prompt_tokens: true,
    completion_tokens: true,
    cached_tokens: true,
    channel_id: true,
    request_id: true,
    elapsed_time: true,
    first_byte_time: true,
    is_stream: true,
    estimated: true,
    trail: true,
  },
  log_sums: {
    dimension: true,
    key: true,
    hour: true,
    quota: true,
    prompt_tokens: true,
    completion_tokens: true,
    requests: true,
  },
  log_rollups: {
    hour: true,
    user_id: true,
    token_name: true,
    model_name: true,
    channel_id: true,
    quota: true,
    prompt_tokens: true,
    completion_tokens: true,
    requests: true,
  },
  log_spans: { span: true, first_id: true, last_id: true },
  traffic_hours: {
    scope: true,
    id: true,
    hour: true,
    calls: true,
    failures: true,
    streams: true,
    first_byte_ms: true,
  },
  reservations: {
    request_id: true,
    user_id: true,
    token_id: true,
    channel_id: true,
    amount: true,
    seen_charge: true,
    seen_prompt_tokens: true,
    seen_completion_tokens: true,
    model_name: true,
    created_at: true,
    node: true,
    token_limited: true,
  },
  nodes: { node: true, lease_until: true, is_locked: true },
  audit: {
    id: true,
    created_at: true,
    actor_id: true,
    actor_name: true,
    action: true,
    target: true,
    detail: true,
    address: true,
    request_id: true,
    previous_hash: true,
    hash: true,
  },
  audit_head: { one: true, last_id: true, last_hash: true },
  ledger_sums: { scope: true, id: true, credit: true, spent: true, calls: true },
  ledger_sums_head: { one: true, last_id: true },
  ledger: {
    id: true,
    created_at: true,
    kind: true,
    user_id: true,
    token_id: true,
    channel_id: true,
    amount: true,
    token_amount: true,
    request_id: true,
    shortfall: true,
    actor_id: true,
    detail: true,
    redemption_id: true,
    yuan_micro: true,
  },
  redemptions: {
    id: true,
    user_id: true,
    key_hash: true,
    key_sealed: true,
    status: true,
    name: true,
    quota: true,
    created_time: true,
    redeemed_time: true,
    used_user_id: true,
    batch: true,
    batch_index: true,
    deleted_at: true,
  },
  openings: { scope: true, id: true, used_quota: true, request_count: true },
  welcomed: { identity_hash: true },
  user_names: { name_key: true, user_id: true },
  signups: { user_id: true, inviter_id: true, for_new_user: true, for_invitee: true, for_inviter: true },
};
