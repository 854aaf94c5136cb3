// A SQLite database in memory with user 1, for programs of the writer thread that run in the test's own.
import { DatabaseSync } from "node:sqlite";
import { MIGRATIONS } from "#server/store/migrations/list.ts";

/** With the newest schema; `quota` is what user 1 has. */
export function smallDatabase(quota: number): DatabaseSync {
  const database = new DatabaseSync(":memory:");
  for (const migration of MIGRATIONS) for (const statement of migration.sqlite) database.exec(statement);
  database.exec(`INSERT INTO users (id, username, password, display_name, role, status, email, github_id, wechat_id, quota,
    "group", aff_code, inviter_id, created_at) VALUES (1, 'u', '', '', 1, 1, '', '', '', ${quota}, 'default', '', 0, 0)`);
  return database;
}
