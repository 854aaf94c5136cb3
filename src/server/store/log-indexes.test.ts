// Indexes of the log on PostgreSQL: built beside calls, once; a half built one, as a process leaves it that dies meanwhile, is built anew.
import { sql } from "kysely";
import { expect, test } from "vitest";
import { createTestDatabase, newLog, seedUser } from "#test/worlds/stores.ts";
import { buildLogIndexes } from "./log-indexes.ts";
import { insertLog } from "./logs.ts";

test("are built where they are missing or half built, while entries are written", async () => {
  const database = await createTestDatabase("postgres");
  const { db, patient, close } = await database.open();
  await seedUser(db, { username: "anna" });
  const names = ["logs_member", "logs_project"];
  const [built] = await Promise.all([
    buildLogIndexes(patient),
    ...Array.from({ length: 50 }, (_, at) =>
      insertLog(db, newLog({ member_id: at % 3, project_id: at % 2 })),
    ),
  ]);
  expect(built).toEqual(names);
  expect(await buildLogIndexes(patient)).toEqual([]);
  await sql`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'logs_member'::regclass`.execute(db);
  expect(await buildLogIndexes(patient)).toEqual(["logs_member"]);
  const { rows } = await sql<{
    relname: string;
  }>`SELECT relname FROM pg_class JOIN pg_index ON oid = indexrelid
    WHERE indisvalid AND relname = ANY(${names}) ORDER BY 1`.execute(db);
  expect(rows.map(({ relname }) => relname)).toEqual(names);
  await close();
  await database.drop();
});
