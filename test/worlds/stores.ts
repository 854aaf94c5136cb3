// The same test on both databases: a fresh SQLite file or a fresh PostgreSQL database, and the rows that most tests need.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import type { Ledger } from "#server/money/ledger.ts";
import { insertChannels, type NewChannel } from "#server/store/channels.ts";
import { type Db, openStore, type Store, type StoreOptions } from "#server/store/db.ts";
import type { NewLog } from "#server/store/logs.ts";
import { NO_CALL } from "#server/store/no-call.ts";
import { findRedemptionIdByKey, insertRedemptions, type NewRedemption } from "#server/store/redemptions.ts";
import { insertToken, type NewToken } from "#server/store/tokens.ts";
import { insertUser, type NewUser } from "#server/store/users.ts";
import { NEW_CHANNEL } from "#test/seeds/channel-row.ts";
import { createPostgresDatabase } from "./postgres.ts";
import { createMigratedPostgres, layMigrated } from "./templates.ts";

export const engines = ["sqlite", "postgres"] as const;
export type Engine = (typeof engines)[number];

/** Every row of every table as text. */
export async function dumpTables({
  db,
  store,
}: {
  readonly db: Db;
  readonly store: Pick<Store, "dialect">;
}): Promise<string> {
  const { rows: tables } = await sql<{ name: string }>`${
    store.dialect === "sqlite"
      ? sql`SELECT name FROM sqlite_master WHERE type = 'table'`
      : sql`SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()`
  }`.execute(db);
  if (tables.length <= 10) throw new Error("the tables were not found");
  const contents = await Promise.all(
    tables.map(async ({ name }) => (await sql`SELECT * FROM ${sql.table(name)}`.execute(db)).rows),
  );
  return JSON.stringify(contents);
}

/** A location for a database that can be opened again after it was closed. */
export interface TestDatabase {
  readonly options: StoreOptions;
  open(extra?: Partial<StoreOptions>): Promise<Store>;
  drop(): Promise<void>;
}

/** A fresh database with the newest schema, or, to see how it gets one, with nothing. */
export async function createTestDatabase(
  engine: Engine,
  content: "schema" | "nothing" = "schema",
): Promise<TestDatabase> {
  const dataDir = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const create = content === "schema" ? createMigratedPostgres : createPostgresDatabase;
  const postgres = engine === "postgres" ? await create() : undefined;
  if (engine === "sqlite" && content === "schema") await layMigrated(dataDir);
  const options: StoreOptions = { dataDir, ...(postgres && { databaseUrl: postgres.url }) };
  return {
    options,
    open: (extra) => openStore({ ...options, ...extra }),
    async drop() {
      await postgres?.drop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

let serial = 0;

/** Adds a user; the quota is granted through the ledger. Returns the id. */
/** A user as the row of any schema that ever was. */
export function newUser(change: Partial<NewUser> = {}): NewUser {
  serial += 1;
  return {
    username: `user${serial}`,
    password: "",
    display_name: "",
    role: 1,
    status: 1,
    email: "",
    github_id: "",
    wechat_id: "",
    access_token_hash: null,
    group: "default",
    aff_code: "",
    inviter_id: 0,
    created_at: 1_800_000_000,
    ...change,
  };
}

export function seedUser(db: Db, change: Partial<NewUser> = {}): Promise<number> {
  return insertUser(db, newUser(change));
}

export async function seedToken(db: Db, userId: number, change: Partial<NewToken> = {}): Promise<number> {
  serial += 1;
  return insertToken(db, {
    user_id: userId,
    key_hash: `hash${serial}`,
    key_sealed: "sealed",
    status: 1,
    name: `token${serial}`,
    created_time: 1_800_000_000,
    accessed_time: 1_800_000_000,
    expired_time: -1,
    unlimited_quota: 0,
    models: "",
    subnet: "",
    ...change,
  });
}

export async function seedChannel(db: Db, change: Partial<NewChannel> = {}): Promise<number> {
  serial += 1;
  const own = { key_hash: `hash${serial}`, key_sealed: "sealed", name: `channel${serial}` };
  const usual = { ...NEW_CHANNEL, ...own, created_time: 1_800_000_000, models: "gpt-4o" };
  const [id = 0] = await insertChannels(db, [{ ...usual, ...change }]);
  return id;
}

/** An entry of the usage log, about a call unless `type` says otherwise. */
export function newLog(change: Partial<NewLog> = {}): NewLog {
  return {
    ...NO_CALL,
    user_id: 1,
    created_at: 1_800_000_000,
    type: 2,
    content: "",
    username: "",
    ...change,
  };
}

/** Adds an unused redemption code. Returns the id. */
export async function seedRedemption(db: Db, change: Partial<NewRedemption> = {}): Promise<number> {
  serial += 1;
  const code = {
    user_id: 1,
    key_hash: `hash${serial}`,
    key_sealed: "sealed",
    status: 1,
    name: `code${serial}`,
    quota: 100_000,
    created_time: 1_800_000_000,
    ...change,
  };
  await insertRedemptions(db, [code]);
  return (await findRedemptionIdByKey(db, code.key_hash)) ?? 0;
}

/** A user with a balance, and a token with one or an unlimited token. Returns their ids. */
export async function seedAccount(
  db: Db,
  ledger: Ledger,
  { quota, remain }: { quota: bigint; remain?: bigint },
): Promise<{ userId: number; tokenId: number }> {
  const userId = await seedUser(db);
  const tokenId = await seedToken(db, userId, { unlimited_quota: remain === undefined ? 1 : 0 });
  await ledger.adjust({ userId, kind: "grant", quota: { delta: quota }, actorId: userId, reason: "test" });
  if (remain !== undefined) {
    await ledger.adjust({
      userId,
      tokenId,
      kind: "token-adjust",
      quota: { target: remain },
      actorId: userId,
      reason: "test",
    });
  }
  return { userId, tokenId };
}
