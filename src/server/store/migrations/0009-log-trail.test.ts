import { existsSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { createTestDatabase, type Engine, engines, newLog } from "#test/worlds/stores.ts";
import { MIGRATIONS } from "./list.ts";

/** On SQLite also entries that a killed server left waiting. */
const TABLES: Record<Engine, readonly string[]> = { sqlite: ["logs", "recent_logs"], postgres: ["logs"] };

test.each(engines)("entries that were there have no trail, and lose nothing, on %s", async (engine) => {
  const database = await createTestDatabase(engine, "nothing");
  try {
    const before = await database.open({ migrations: MIGRATIONS.slice(0, 8) });
    const { trail: _, ...entry } = newLog({ content: "模型倍率 1", username: "alice", quota: 7 });
    const names = sql.join(Object.keys(entry).map((name) => sql.ref(name)));
    for (const table of TABLES[engine])
      await sql`INSERT INTO ${sql.table(table)} (${names}) VALUES (${sql.join(Object.values(entry))})`.execute(
        before.db,
      );
    await before.close();
    const after = await database.open({ migrations: MIGRATIONS.slice(0, 9) });
    // What a node of the program before this one still writes.
    await sql`INSERT INTO logs (${names}) VALUES (${sql.join(Object.values(entry))})`.execute(after.db);
    for (const table of TABLES[engine]) {
      const { rows } = await sql`SELECT * FROM ${sql.table(table)}`.execute(after.db);
      expect(rows).toHaveLength(table === "logs" ? 2 : 1);
      for (const row of rows) expect(row).toMatchObject({ ...entry, trail: "" });
    }
    await after.close();
    const copy = join(database.options.dataDir, "tollgate.db.before-0009-log-trail");
    expect(existsSync(copy)).toBe(engine === "sqlite");
  } finally {
    await database.drop();
  }
});
