// A SQLite database in memory with user 1 and its token 2, for the writer thread's program that runs in the test's own.
import { DatabaseSync } from "node:sqlite";
import type { Batch, Operation, Outcome } from "#server/money/operations.ts";
import { decodeOutcomes, encodeBatch } from "#server/money/sqlite/wire.ts";
import { afterReply, run } from "#server/money/sqlite/writer.ts";
import { MIGRATIONS } from "#server/store/migrations/list.ts";

/** With the newest schema; `quota` is what user 1 has. */
export function smallDatabase(quota: number): DatabaseSync {
  const database = new DatabaseSync(":memory:");
  for (const migration of MIGRATIONS) for (const statement of migration.sqlite) database.exec(statement);
  database.exec(`INSERT INTO users (id, username, password, display_name, role, status, email, github_id, wechat_id, quota,
    "group", aff_code, inviter_id, created_at) VALUES (1, 'u', '', '', 1, 1, '', '', '', ${quota}, 'default', '', 0, 0)`);
  database.exec(`INSERT INTO tokens (id, user_id, key_hash, key_sealed, status, name, created_time, accessed_time,
    expired_time, remain_quota, unlimited_quota, models, subnet) VALUES (2, 1, 'h', '', 1, 't', 0, 0, -1, 50, 0, '', '')`);
  return database;
}

/** Operations of user 1 with token 2. */
export const reserve = (requestId: string, amount: bigint, tokenId = 2): Operation => ({
  kind: "reserve",
  requestId,
  userId: 1,
  tokenId,
  amount,
  modelName: "m",
});

export const settle = (requestId: string, charge: bigint): Operation => ({
  kind: "settle",
  requestId,
  userId: 1,
  tokenId: 2,
  channelId: 3,
  charge,
  usage: { promptTokens: 5, completionTokens: 6, cachedTokens: 1 },
  log: {
    content: "c",
    model_name: "m",
    elapsed_time: 1,
    first_byte_time: 1,
    is_stream: 0,
    estimated: 0,
    trail: "",
  },
});

export const grant = (requestId: string): Operation => ({
  kind: "adjust",
  requestId,
  userId: 1,
  tokenId: 0,
  adjustment: { userId: 1, kind: "grant", quota: { delta: 5n }, actorId: 1, reason: "" },
});

/** Runs a batch as the writer thread does, and returns all results. Throws: when an operation has two results or none. */
export function groupOn(database: DatabaseSync, batch: Batch): readonly Outcome[] {
  const told: Outcome[] = [];
  const send = (text: unknown) => {
    for (const [index, outcome] of decodeOutcomes(String(text)).entries()) {
      if (outcome === undefined) continue;
      if (told[index] !== undefined) throw new Error(`operation ${index} was told of twice`);
      told[index] = outcome;
    }
  };
  try {
    send(run(database, encodeBatch(batch), { send, sync: () => undefined }));
  } finally {
    afterReply(database);
  }
  if (Object.keys(told).length !== batch.operations.length) throw new Error("an operation was not told of");
  return told;
}
