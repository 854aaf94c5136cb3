// Forks of One API: the deployed product's partner columns, New API's own numbers and columns, databases of 2023.

import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { openProxy } from "#server/channels/proxies.ts";
import { readConfig } from "#server/config.ts";
import { oneApi } from "#test/seeds/one-api.ts";
import { writePostgres } from "#test/seeds/one-api-files.ts";
import { imported } from "#test/worlds/changed-import.ts";
import { testDirectory } from "#test/worlds/directory.ts";
import { createPostgresDatabase } from "#test/worlds/postgres.ts";
import { importOneApi } from "./one-api.ts";

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
  expect(report).toMatch(/channels of a type that is not served here were disabled: .*\(Suno\)/);
  const log = await store.db.selectFrom("logs").selectAll().where("id", "=", 1).executeTakeFirst();
  expect(log).toMatchObject({ elapsed_time: 3000, first_byte_time: 120, cached_tokens: 4, trail: "" });
  expect(await store.db.selectFrom("logs").select("type").distinct().orderBy("type").execute()).toEqual([
    { type: 2 },
    { type: 6 },
  ]);
});

const MULTI_KEY = `{"is_multi_key":true,"multi_key_status_list":{"0":2}}`;

test("New API: proxies of channels go on, and their socks5 has the proxy resolve names", async () => {
  const { store, secrets, report } = await imported(`
    ALTER TABLE users ADD COLUMN aff_quota integer DEFAULT 0;
    ALTER TABLE channels ADD COLUMN setting text;
    UPDATE channels SET setting = '{"proxy":"socks5://u:p%40ss@proxy.example:1080"}' WHERE id = 1;
    UPDATE channels SET setting = '{"proxy":"http://proxy.example:8080","force_format":true}' WHERE id = 2;
    UPDATE channels SET setting = '{"proxy":"socks4://proxy.example:1080"}' WHERE id = 3;
    UPDATE channels SET setting = '{"proxy":""}' WHERE id = 6;`);
  const rows = await store.db
    .selectFrom("channels")
    .select(["id", "name", "proxy_sealed"])
    .orderBy("id")
    .execute();
  const proxies = new Map(rows.map(({ id, proxy_sealed: sealed }) => [id, openProxy(secrets, sealed)]));
  expect(proxies.get(1)).toBe("socks5h://u:p%40ss@proxy.example:1080");
  expect(proxies.get(2)).toBe("http://proxy.example:8080");
  // Never direct: the operator relies on the proxy.
  expect(proxies.get(3)).toBe("socks4://proxy.example:1080");
  expect([proxies.get(6), proxies.get(7)]).toEqual(["", ""]);
  expect(report).toContain(
    "settings of channels that have no place here were left out: azure (force_format)",
  );
  expect(report).toContain("channels whose proxy cannot be read here fail until it is set again: spark");
  expect(report).not.toContain("p%40ss");
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
  expect(report).toContain("channels with several keys keep them: ark");
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
    UPDATE channels SET param_override = '{"temperature":0}', system_prompt = 'Be brief.' WHERE id = 1;
    ALTER TABLE channels ADD COLUMN openai_organization text;
    UPDATE channels SET openai_organization = 'org-1' WHERE id = 1;`);
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
  expect(report).toContain("channels that rewrite requests keep their rules: main");
  const channel = await store.db.selectFrom("channels").selectAll().where("id", "=", 1).executeTakeFirst();
  expect(JSON.parse(channel?.config ?? "")["rewrite"]).toEqual({
    v: 1,
    rules: [
      { id: "system_prompt", do: [{ op: "system", text: "Be brief." }] },
      { id: "param_override", do: [{ op: "set", path: "/temperature", value: 0 }] },
      { id: "open_ai_organization", do: [{ op: "setHeader", name: "OpenAI-Organization", value: "org-1" }] },
    ],
  });
});

test("New API: what cannot be said disables its channel and is told with its words", async () => {
  const operations = JSON.stringify({
    operations: [
      { mode: "set", path: "user", value: "gate" },
      { mode: "regex_replace", path: "model", from: "^a", to: "b" },
    ],
  });
  const { store, report } = await imported(`
    ALTER TABLE channels ADD COLUMN param_override text;
    ALTER TABLE channels ADD COLUMN status_code_mapping text;
    UPDATE channels SET param_override = '${operations}', status_code_mapping = '{"429":"503"}' WHERE id = 1;`);
  const channel = await store.db.selectFrom("channels").selectAll().where("id", "=", 1).executeTakeFirst();
  expect(channel).toMatchObject({
    status: 2,
    status_reason: "导入时停用：有请求改写无法转换，原文见导入报告",
  });
  expect(JSON.parse(channel?.config ?? "")).toMatchObject({ status_map: { "429": 503 } });
  expect(report).toContain('main: operation 2: 操作 regex_replace: {"mode":"regex_replace"');
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
