// The keys of New API's channels that have several, with their states (requirements C30).
import { expect, test } from "vitest";
import { LAST_KEY } from "#server/store/channel-keys.ts";
import { imported } from "#test/worlds/changed-import.ts";

const MULTI_KEY = `{"is_multi_key":true,"multi_key_status_list":{"0":2}}`;

test("New API: of several keys all stay, the first that is enabled in front, also of a list in JSON", async () => {
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
  const keys = await store.db
    .selectFrom("channel_keys")
    .select(["channel_id", "key_hash", "status"])
    .orderBy("id")
    .execute();
  expect(keys.map(({ channel_id: id, status }) => [id, status])).toEqual([
    [1, 2],
    [1, 1],
    [2, 2],
    [2, 1],
    [3, 1],
    [3, 1],
  ]);
  expect(report).toContain("channels with several keys keep them (3): main, azure, spark");
});

test("New API: states of keys go by their index in the text; blanks, repeats and indexes past the end", async () => {
  const info = JSON.stringify({
    is_multi_key: true,
    multi_key_size: 2,
    multi_key_mode: "polling",
    multi_key_status_list: { 1: 3, 3: 2, 4: 3, 99: 2 },
    multi_key_disabled_reason: { 1: "status 401", 99: "past the end" },
    multi_key_disabled_time: { 1: 1_714_000_000 },
  });
  const text = ["", "k-a", "k-b", "", "k-c", "k-a"].join("\n");
  const { store, secrets } = await imported(`
    ALTER TABLE users ADD COLUMN aff_quota integer DEFAULT 0;
    ALTER TABLE channels ADD COLUMN channel_info text DEFAULT '';
    UPDATE channels SET "key" = '${text}', channel_info = '${info}' WHERE id = 1;
    UPDATE channels SET "key" = 'k-a' || char(10) || 'k-b', channel_info = 'no json' WHERE id = 2;
    UPDATE channels SET "key" = '${text.replaceAll("k-c", "k-a")}', channel_info = '${info}' WHERE id = 3;`);
  const keys = await store.db
    .selectFrom("channel_keys")
    .selectAll()
    .where("channel_id", "=", 1)
    .orderBy("id")
    .execute();
  // Outer line ends are cut, so k-b has index 1, the blank line 2, k-c 3, and the second k-a 4.
  expect(keys).toMatchObject([
    { key_hash: secrets.hash("k-a"), status: 1, status_reason: "" },
    { key_hash: secrets.hash("k-b"), status: 3, status_reason: "status 401", status_time: 1_714_000_000 },
    { key_hash: secrets.hash("k-c"), status: 2, status_reason: "" },
  ]);
  const rows = await store.db
    .selectFrom("channels")
    .selectAll()
    .where("id", "in", [1, 2])
    .orderBy("id")
    .execute();
  expect(rows).toMatchObject([
    { key_hash: secrets.hash("k-a"), key_mode: "round_robin", keys_version: 1 },
    { key_hash: secrets.hash("k-a\nk-b"), keys_version: 0 },
  ]);
});

test("New API: one distinct key that is off stays off, however often it is listed, and its channel returns with it", async () => {
  const info = (status: number) =>
    JSON.stringify({ is_multi_key: true, multi_key_status_list: { 0: status, 1: status } });
  const { store } = await imported(`
    ALTER TABLE users ADD COLUMN aff_quota integer DEFAULT 0;
    ALTER TABLE channels ADD COLUMN channel_info text DEFAULT '';
    UPDATE channels SET "key" = 'k-a' || char(10) || 'k-a', channel_info = '${info(3)}' WHERE id = 1;
    UPDATE channels SET "key" = 'k-b', channel_info = '${info(2)}', status = 2 WHERE id = 2;
    UPDATE channels SET "key" = 'k-c' || char(10) || 'k-c', channel_info = '${info(1)}' WHERE id = 3;`);
  const keys = await store.db
    .selectFrom("channel_keys")
    .select(["channel_id", "status"])
    .orderBy("id")
    .execute();
  expect(keys.map(({ channel_id: id, status }) => [id, status])).toEqual([
    [1, 3],
    [2, 2],
  ]);
  const rows = await store.db
    .selectFrom("channels")
    .select(["keys_version", "status", "status_reason"])
    .where("id", "<", 4)
    .orderBy("id")
    .execute();
  expect(rows.map((row) => Object.values(row))).toEqual([
    [1, 3, LAST_KEY],
    [1, 2, ""],
    [0, 1, ""],
  ]);
});

test("New API: more keys than a channel may have are left out, those that are off first, and that is told", async () => {
  const { store, secrets, report } = await imported(`
    ALTER TABLE users ADD COLUMN aff_quota integer DEFAULT 0;
    ALTER TABLE channels ADD COLUMN channel_info text DEFAULT '';
    UPDATE channels SET channel_info = '${MULTI_KEY}', "key" = (
      WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 10001)
      SELECT group_concat('k-' || i, char(10)) FROM n) WHERE id = 1;`);
  const keys = await store.db
    .selectFrom("channel_keys")
    .select(["key_hash", "status"])
    .orderBy("id")
    .execute();
  expect([keys.length, new Set(keys.map(({ status }) => status))]).toEqual([10_000, new Set([1])]);
  const hashes = new Set(keys.map(({ key_hash }) => key_hash));
  expect(["k-0", "k-1", "k-10000", "k-10001"].map((key) => hashes.has(secrets.hash(key)))).toEqual([
    ...[false, true, true, false],
  ]);
  expect(report).toContain("keys beyond 10000 of a channel were left out, disabled ones first: main (2)");
});
