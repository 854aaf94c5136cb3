// A copy of a SQLite database that a server may be writing to at the same time: one moment of it, compact, checked before it
// gets its name. Runs in a process of its own, not in the server.
import { existsSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { Kysely, type SqliteDatabase, SqliteDialect } from "kysely";
import { StoreError, sqliteFaultKind } from "./fault.ts";
import { flush, flushNames, makeFolder, makePrivate } from "./files.ts";
import { MIGRATIONS } from "./migrations/list.ts";
import type { Tables } from "./tables.ts";

/** The copy cannot be made or is not whole; the message says why. */
function refusal(message: string): StoreError {
  return new StoreError("other", message);
}

/**
 * Copies a database into a new file, readable by its owner alone. The reading transaction sees one moment; calls go on
 * meanwhile. A copy of the schema that this program knows is given to `complete` before it is checked. Throws: StoreError when the target
 * exists, the source does not, or the copy fails its integrity check.
 */
export function copySqlite(from: string, to: string, complete: (copy: DatabaseSync) => void): void {
  if (!existsSync(from)) throw refusal(`there is no database at ${from}`);
  if (existsSync(to)) throw refusal(`${to} exists already: a backup never overwrites a file`);
  makeFolder(dirname(to));
  const partial = `${to}.partial`;
  rmSync(partial, { force: true });
  try {
    // SQLite fills an empty file, and would make one that others can read.
    makePrivate(partial);
    vacuumInto(from, partial);
    completeWith(complete, partial);
    assertWhole(partial);
    flush(partial);
    renameSync(partial, to);
    flushNames(dirname(to));
  } catch (error) {
    rmSync(partial, { force: true });
    const kind = sqliteFaultKind(error);
    // What SQLite itself says (no space, no database, a lock) is for the operator; anything else is told as it is.
    if (kind === "other" || !(error instanceof Error)) throw error;
    throw new StoreError(kind, `cannot copy ${from} to ${to} (${error.message})`, error);
  }
}

/** A file that no process has written to for so long is no copy in the making. Unit: ms. */
const IDLE_MS = 3_600_000;

/**
 * Removes what copies that were killed left where `to` will be: files whose names differ from its own in digits alone, such as those of
 * a time. Returns what it removed.
 */
export function removeLeftovers(to: string, nowMs: number): string[] {
  const folder = dirname(to);
  const shape = (name: string) => name.replaceAll(/\d+/g, "0");
  const ours = shape(`${basename(to)}.partial`);
  const left = (existsSync(folder) ? readdirSync(folder) : [])
    .filter((name) => shape(name) === ours)
    .map((name) => join(folder, name))
    .filter((file) => {
      const found = statSync(file, { throwIfNoEntry: false });
      return found?.isFile() === true && nowMs - found.mtimeMs > IDLE_MS;
    });
  for (const file of left) for (const part of [file, `${file}-journal`]) rmSync(part, { force: true });
  return left;
}

function vacuumInto(from: string, to: string): void {
  const database = new DatabaseSync(from, { readOnly: true, timeout: 10_000 });
  try {
    if (!database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'schema_migrations'").get())
      throw refusal(`${from} is no database of Tollgate`);
    database.prepare("VACUUM INTO ?").run(to);
  } finally {
    database.close();
  }
}

function completeWith(complete: (copy: DatabaseSync) => void, file: string): void {
  const database = new DatabaseSync(file, { enableForeignKeyConstraints: true });
  try {
    if (isKnown(database)) complete(database);
  } finally {
    database.close();
  }
}

/** Whether the schema is the one this program knows. */
function isKnown(database: DatabaseSync): boolean {
  return database.prepare("SELECT count(*) AS n FROM schema_migrations").get()?.["n"] === MIGRATIONS.length;
}

function assertWhole(file: string): void {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const found = database.prepare("PRAGMA integrity_check").get()?.["integrity_check"];
    if (found !== "ok") throw refusal(`the copy is damaged: ${String(found)}`);
  } finally {
    database.close();
  }
}

/** A copy opened for reading; undefined when its schema is not the one this program knows. Destroy it after use. */
export function openCopy(file: string): Kysely<Tables> | undefined {
  const database = new DatabaseSync(file, { readOnly: true });
  if (!isKnown(database)) {
    database.close();
    return undefined;
  }
  return new Kysely<Tables>({ dialect: new SqliteDialect({ database: adapted(database) }) });
}

/** What Kysely expects of a SQLite driver, for statements that only read. */
function adapted(database: DatabaseSync): SqliteDatabase {
  return {
    close: () => database.close(),
    prepare(sql) {
      const statement = database.prepare(sql);
      // Kysely's parameters are what our columns hold.
      const values = (parameters: readonly unknown[]) => parameters as SQLInputValue[];
      return {
        reader: true,
        all: (parameters) => statement.all(...values(parameters)),
        run: (parameters) => {
          const { changes, lastInsertRowid } = statement.run(...values(parameters));
          return { changes, lastInsertRowid };
        },
        iterate: (parameters) => statement.iterate(...values(parameters)),
      };
    },
  };
}
