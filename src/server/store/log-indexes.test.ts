// Indexes of the log on PostgreSQL: built beside calls, once; a half built one, as a process leaves it that dies meanwhile, is built anew.
import { sql } from "kysely";
import { expect, test } from "vitest";
import { createTestDatabase, newLog, seedUser } from "#test/worlds/stores.ts";
import { buildLogIndexes } from "./log-indexes.ts";
import { insertLog } from "./logs.ts";

const WAYS = ["channel", "model", "project", "token", "type", "user", "user_member", "user_token"].map(
  (way) => `logs_by_${way}`,
);

test("are built where they are missing or half built, while entries are written", async () => {
  const database = await createTestDatabase("postgres");
  const { db, patient, close } = await database.open();
  await seedUser(db, { username: "anna" });
  const [built] = await Promise.all([
    buildLogIndexes(patient),
    ...Array.from({ length: 50 }, (_, at) =>
      insertLog(db, newLog({ member_id: at % 3, project_id: at % 2 })),
    ),
  ]);
  expect(built.toSorted()).toEqual(["log_rollups_by_token", ...WAYS]);
  expect(await buildLogIndexes(patient)).toEqual([]);
  await sql`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'logs_by_user_member'::regclass`.execute(
    db,
  );
  expect(await buildLogIndexes(patient)).toEqual(["logs_by_user_member"]);
  // A run that ended before it had dropped what is replaced.
  await sql`CREATE INDEX logs_user ON logs (user_id, id)`.execute(db);
  expect(await buildLogIndexes(patient)).toEqual([]);
  const { rows } = await sql<{
    name: string;
  }>`SELECT relname AS name FROM pg_class JOIN pg_index ON oid = indexrelid
    WHERE indisvalid AND indrelid = 'logs'::regclass`.execute(db);
  // The narrower ones of the first migration are gone.
  const others = ["logs_created", "logs_pkey"];
  expect(rows.map(({ name }) => name).toSorted()).toEqual([...WAYS, ...others].toSorted());
  await close();
  await database.drop();
});
