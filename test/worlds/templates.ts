// Databases that are made once and copied: each process of the tests migrates one SQLite file, the run one PostgreSQL database. What is
// copied is what the server itself made; tests of migrations and of first starts begin with nothing.
import { randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sha256Hex } from "#server/secrets.ts";
import { openStore } from "#server/store/db.ts";
import { checksum } from "#server/store/migrate.ts";
import { MIGRATIONS } from "#server/store/migrations/list.ts";
import { createPostgresDatabase, onPostgres, type PostgresDatabase } from "./postgres.ts";

/** The files of a data directory that no process uses any more, by name. */
type Files = ReadonlyMap<string, Buffer>;

/** Kept in memory: a worker of the tests may be ended before it could remove a file. */
const made = new Map<string, Promise<Files>>();

/** Copies into an empty directory what `fill` made in another one; it does so once in a process for each name. */
export async function layCopy(
  name: string,
  dataDir: string,
  fill: (dataDir: string) => Promise<void>,
): Promise<void> {
  const files = made.get(name) ?? filesOf(fill);
  made.set(name, files);
  for (const [file, bytes] of await files) writeFileSync(join(dataDir, file), bytes, { mode: 0o600 });
}

async function filesOf(fill: (dataDir: string) => Promise<void>): Promise<Files> {
  const dataDir = mkdtempSync(join(tmpdir(), "tollgate-template-"));
  try {
    await fill(dataDir);
    return new Map(readdirSync(dataDir).map((name) => [name, readFileSync(join(dataDir, name))]));
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Lays a SQLite database with the newest schema and no rows into an empty directory. */
export function layMigrated(dataDir: string): Promise<void> {
  return layCopy("migrated", dataDir, async (dir) => (await openStore({ dataDir: dir })).close());
}

/** Key of the advisory lock under which one process of the run makes the template. */
const LOCK_KEY = 1;

let template: Promise<string> | undefined;

/** Creates a PostgreSQL database with the newest schema and no rows. */
export async function createMigratedPostgres(): Promise<PostgresDatabase> {
  template ??= makeTemplate();
  return createPostgresDatabase(await template);
}

/** The name of the run's template, made when it is not there. Another name for another schema: a server may outlive a change of it. */
function makeTemplate(): Promise<string> {
  const schema = sha256Hex(MIGRATIONS.map((migration) => checksum(migration, "postgres")).join());
  const name = `schema_${schema.slice(0, 32)}`;
  return onPostgres(async (client, urlOf) => {
    await client.query("SELECT pg_advisory_lock($1)", [LOCK_KEY]);
    const { rowCount } = await client.query("SELECT 1 FROM pg_database WHERE datname = $1", [name]);
    if (rowCount === 1) return name;
    // It gets its name when it is whole.
    const draft = `draft_${randomUUID().replaceAll("-", "")}`;
    await client.query(`CREATE DATABASE ${draft}`);
    await (await openStore({ dataDir: "", databaseUrl: urlOf(draft) })).close();
    await client.query(`ALTER DATABASE ${draft} RENAME TO ${name}`);
    return name;
  });
}
