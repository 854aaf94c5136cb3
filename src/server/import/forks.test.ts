// Forks of One API: the deployed product's partner columns, New API's own numbers and columns, databases of 2023.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { readConfig } from "#server/config.ts";
import { checkLedger } from "#server/money/ledger-check.ts";
import { openStore, type SqliteStore } from "#server/store/db.ts";
import { oneApi } from "#test/seeds/one-api.ts";
import { writePostgres, writeSqlite } from "#test/seeds/one-api-files.ts";
import { testDirectory } from "#test/worlds/directory.ts";
import { createPostgresDatabase } from "#test/worlds/postgres.ts";
import { importOneApi } from "./one-api.ts";

/** A database of One API, changed by SQL, imported; the result and the report. */
async function imported(changes: string) {
  const dir = testDirectory();
  const file = join(dir, "source.db");
  writeSqlite(file, oneApi("0.6"));
  const source = new DatabaseSync(file);
  source.exec(changes);
  source.close();
  const dataDir = join(dir, "data");
  const config = readConfig({ DATA_DIR: dataDir });
  const told: string[] = [];
  const result = await importOneApi(
    { address: file, isDryRun: false },
    { config, say: (text) => told.push(text), progress: () => undefined },
  );
  const store = await openStore({ dataDir });
  onTestFinished(() => store.close());
  if (store.dialect !== "sqlite") throw new Error("the test needs SQLite");
  expect(await checkLedger(store.db)).toEqual([]);
  return { ...result, told: told.join("\n"), store: store satisfies SqliteStore };
}

test("partner columns are taken: commission to the millionth of a yuan, dates of joining", async () => {
  const { store, report, isExact } = await imported(`
    ALTER TABLE users ADD COLUMN invite_commission_balance text DEFAULT '0';
    ALTER TABLE users ADD COLUMN gift_code text DEFAULT '';
    ALTER TABLE users ADD COLUMN created_time integer DEFAULT 1700000000;
    UPDATE users SET invite_commission_balance = '123.45', gift_code = aff_code WHERE id = 2;
    UPDATE users SET invite_commission_balance = 'viel', gift_code = 'OTHER' WHERE id = 3;
    UPDATE users SET gift_code = 'ROOTS' WHERE id = 1;`);
  expect(isExact).toBe(true);
  const users = await store.db
    .selectFrom("users")
    .select(["id", "invite_commission_micro", "aff_code", "created_at"])
    .where("id", "<=", 3)
    .orderBy("id")
    .execute();
  expect(users).toEqual([
    { id: 1, invite_commission_micro: 0, aff_code: "ROOTS", created_at: 1_700_000_000 },
    { id: 2, invite_commission_micro: 123_450_000, aff_code: "aB3d", created_at: 1_700_000_000 },
    { id: 3, invite_commission_micro: 0, aff_code: "Xy9Z", created_at: 1_700_000_000 },
  ]);
  expect(report).toContain("commission balances that are no amount were left out: bob: viel");
  expect(report).toContain("gift codes that differ from the invitation code were left out");
});

test("New API: rewards are credited, types renumbered, deleted rows stay deleted, limits taken", async () => {
  const { store, told, report, isExact } = await imported(`
    ALTER TABLE users ADD COLUMN aff_quota integer DEFAULT 0;
    ALTER TABLE users ADD COLUMN deleted_at text;
    UPDATE users SET aff_quota = 5000 WHERE id = 2;
    UPDATE users SET deleted_at = '2024-05-01 10:00:00' WHERE id = 9;
    ALTER TABLE tokens ADD COLUMN deleted_at text;
    ALTER TABLE tokens ADD COLUMN model_limits_enabled numeric DEFAULT 0;
    ALTER TABLE tokens ADD COLUMN model_limits text DEFAULT '';
    ALTER TABLE tokens ADD COLUMN allow_ips text DEFAULT '';
    ALTER TABLE tokens ADD COLUMN "group" text DEFAULT '';
    UPDATE tokens SET model_limits_enabled = 1, model_limits = 'gpt-4o', allow_ips = '10.0.0.1' || char(10) || '10.1.0.0/16',
      "group" = 'vip' WHERE id = 4;
    UPDATE tokens SET deleted_at = '2024-05-01 10:00:00' WHERE id = 7;
    ALTER TABLE channels ADD COLUMN channel_info text DEFAULT '';
    UPDATE channels SET type = 43, base_url = '' WHERE id = 1;
    UPDATE channels SET type = 4, base_url = 'http://localhost:11434' WHERE id = 2;
    UPDATE channels SET type = 36 WHERE id = 6;
    UPDATE channels SET "key" = 'k-one' || char(10) || 'k-two', channel_info = '{"is_multi_key":true}' WHERE id = 7;
    ALTER TABLE logs ADD COLUMN use_time integer DEFAULT 3;
    ALTER TABLE logs ADD COLUMN other text DEFAULT '{"cache_tokens":4,"frt":120}';
    UPDATE logs SET type = 5 WHERE type = 3;`);
  expect(told).toContain("New API");
  expect(isExact).toBe(true);
  expect(report).toContain("invitation rewards (aff_quota) were added to the balance: user 2: 5000");
  const users = await store.db
    .selectFrom("users")
    .select(["id", "quota", "status"])
    .where("id", "in", [2, 9])
    .orderBy("id")
    .execute();
  expect(users).toEqual([
    { id: 2, quota: 505_123, status: 1 },
    { id: 9, quota: 1, status: 3 },
  ]);
  const tokens = await store.db
    .selectFrom("tokens")
    .select(["id", "models", "subnet", "deleted_at", "key_sealed"])
    .where("id", "in", [4, 7])
    .orderBy("id")
    .execute();
  expect(tokens).toMatchObject([
    { models: "gpt-4o", subnet: "10.0.0.1,10.1.0.0/16", deleted_at: 0 },
    { models: "", deleted_at: 1_714_557_600, key_sealed: "" },
  ]);
  const channels = await store.db
    .selectFrom("channels")
    .select(["id", "type", "status", "base_url"])
    .orderBy("id")
    .execute();
  expect(channels.filter(({ id }) => [1, 2, 6].includes(id))).toEqual([
    { id: 1, type: 36, status: 1, base_url: "" },
    { id: 2, type: 30, status: 1, base_url: "http://localhost:11434" },
    // New API's 36 is Suno, where One API has DeepSeek.
    { id: 6, type: 10_036, status: 2, base_url: "" },
  ]);
  expect(report).toContain("channels with several keys keep one: ark");
  expect(report).toMatch(/channels of a type that is not served here were disabled: .*\(Suno\)/);
  const log = await store.db.selectFrom("logs").selectAll().where("id", "=", 1).executeTakeFirst();
  expect(log).toMatchObject({ elapsed_time: 3000, first_byte_time: 120, cached_tokens: 4, trail: "" });
  expect(await store.db.selectFrom("logs").select("type").distinct().orderBy("type").execute()).toEqual([
    { type: 2 },
    { type: 6 },
  ]);
});

const MULTI_KEY = `{"is_multi_key":true,"multi_key_status_list":{"0":2}}`;

test("New API: of several keys the first that is enabled stays, also of a list in JSON", async () => {
  const { store, report } = await imported(`
    ALTER TABLE users ADD COLUMN aff_quota integer DEFAULT 0;
    ALTER TABLE channels ADD COLUMN channel_info text DEFAULT '';
    UPDATE channels SET "key" = 'k-one' || char(10) || 'k-two', channel_info = '${MULTI_KEY}' WHERE id = 1;
    UPDATE channels SET "key" = '[{"a":1},{"b":2}]', channel_info = '${MULTI_KEY}' WHERE id = 2;
    UPDATE channels SET "key" = '["k-1","k-2"]', channel_info = '{"is_multi_key":true}' WHERE id = 3;
    UPDATE channels SET "key" = '{"b":2}' WHERE id = 6;
    UPDATE channels SET "key" = 'k-two' WHERE id = 7;
    UPDATE channels SET "key" = 'k-1' WHERE id = 8;`);
  const rows = await store.db.selectFrom("channels").select(["id", "key_hash"]).orderBy("id").execute();
  const hashes = rows.map(({ key_hash }) => key_hash);
  expect(hashes.slice(0, 3)).toEqual([hashes[4], hashes[3], hashes[5]]);
  expect(report).toContain("channels with several keys keep one (3): main, azure, spark");
});

test("New API on PostgreSQL: columns of JSON are read as their text", async () => {
  const database = await createPostgresDatabase();
  onTestFinished(database.drop);
  await writePostgres(database.url, oneApi("0.6"));
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(`ALTER TABLE channels ADD COLUMN channel_info json;
    UPDATE channels SET key = E'k-one\nk-two', channel_info = '${MULTI_KEY}' WHERE id = 7`);
  await client.end();
  const { report } = await importOneApi(
    { address: database.url, isDryRun: true },
    { config: readConfig({ DATA_DIR: testDirectory() }), say: () => undefined, progress: () => undefined },
  );
  expect(report).toContain("channels with several keys keep one: ark");
});

test("New API: a list of models that is on and empty allows none, and what has no place here is reported", async () => {
  const { store, report } = await imported(`
    ALTER TABLE users ADD COLUMN aff_quota integer DEFAULT 0;
    ALTER TABLE users ADD COLUMN linux_do_id text DEFAULT '';
    UPDATE users SET linux_do_id = '4711' WHERE id = 3;
    ALTER TABLE tokens ADD COLUMN model_limits_enabled numeric DEFAULT 0;
    ALTER TABLE tokens ADD COLUMN model_limits text DEFAULT '';
    UPDATE tokens SET model_limits_enabled = 1 WHERE id = 4;
    ALTER TABLE channels ADD COLUMN param_override text DEFAULT '{}';
    ALTER TABLE channels ADD COLUMN system_prompt text;
    UPDATE channels SET param_override = '{"temperature":0}', system_prompt = 'Be brief.' WHERE id = 1;`);
  const tokens = await store.db
    .selectFrom("tokens")
    .select(["id", "status"])
    .where("id", "<", 5)
    .orderBy("id")
    .execute();
  expect(tokens).toEqual([
    { id: 1, status: 1 },
    { id: 4, status: 2 },
  ]);
  expect(report).toContain("tokens whose list of models is on and empty were disabled: it allows none: 4");
  expect(report).toContain("ways to log in that are not here were left out: bob (linux_do_id)");
  expect(report).toContain(
    "settings of channels that have no place here were left out (2): main (param_override), main (system_prompt)",
  );
});

test("a database of 2023 lacks columns, and they take their defaults", async () => {
  const { store, told, isExact } = await imported(`
    ALTER TABLE channels DROP COLUMN config; ALTER TABLE channels DROP COLUMN priority;
    ALTER TABLE channels DROP COLUMN model_mapping; ALTER TABLE channels DROP COLUMN weight;
    ALTER TABLE users DROP COLUMN request_count; ALTER TABLE users DROP COLUMN aff_code;
    ALTER TABLE users DROP COLUMN inviter_id; DROP TABLE abilities; DROP TABLE redemptions;
    ALTER TABLE logs DROP COLUMN channel_id;`);
  expect(told).toContain("of 2023");
  expect(isExact).toBe(true);
  const row = await store.db.selectFrom("channels").selectAll().where("id", "=", 1).executeTakeFirst();
  expect(row).toMatchObject({ priority: 0, weight: 0, model_mapping: "", config: "" });
});

test("something else is refused", async () => {
  await expect(imported("ALTER TABLE tokens RENAME COLUMN key TO secret")).rejects.toThrow(
    "no One API database",
  );
});

test("a source without users is refused: it was dumped without its rows", async () => {
  await expect(imported("DELETE FROM users")).rejects.toThrow("no users");
});

test("quotas that overflowed in the source are kept as they are, and reported where they are larger than can be kept", async () => {
  const kept = await imported("UPDATE logs SET quota = -2147483648 WHERE id = 1");
  expect(kept.isExact).toBe(true);
  const cut = await imported("UPDATE users SET used_quota = 9007199254740999 WHERE id = 1");
  expect(cut.isExact).toBe(false);
  expect(cut.report).toContain('- users 1 used_quota: "9007199254740999" → 9007199254740991');
});

test("New API: codes that had expired stay so, what has no place here is reported", async () => {
  const { store, report, isExact } = await imported(`
    ALTER TABLE users ADD COLUMN aff_quota integer DEFAULT 0;
    ALTER TABLE redemptions ADD COLUMN expired_time integer DEFAULT 0;
    INSERT INTO redemptions SELECT 3, user_id, 'expired-code', 1, name, quota, created_time, 0, 1700000000 FROM redemptions WHERE id = 1;
    INSERT INTO redemptions SELECT 4, user_id, 'later-code', 1, name, quota, created_time, 0, 32503680000 FROM redemptions WHERE id = 1;
    UPDATE redemptions SET expired_time = 1700000000 WHERE id = 2;
    CREATE TABLE two_fas (id integer PRIMARY KEY, user_id integer);
    CREATE TABLE midjourneys (id integer PRIMARY KEY);
    INSERT INTO two_fas (user_id) VALUES (1), (2);`);
  expect(isExact).toBe(true);
  const codes = await store.db.selectFrom("redemptions").select(["id", "status"]).orderBy("id").execute();
  expect(codes.map(({ id, status }) => [id, status])).toEqual([
    [1, 1],
    [2, 3],
    [3, 2],
    [4, 1],
  ]);
  expect(report).toContain("redemption codes that had expired were disabled: 3 (2023-11-14)");
  expect(report).toContain(
    "redemption codes that were to expire do not expire here: disable them on their day: 4 (3000-01-01)",
  );
  expect(report).toContain("tables that hold rows and have no place here were left out: two_fas (2)");
  expect(report).not.toContain("midjourneys");
});
