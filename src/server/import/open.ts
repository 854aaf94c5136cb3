// Tells what kind of database an address leads to, and opens it for reading.
import { open } from "node:fs/promises";
import { openDump } from "./dump-source.ts";
import { openPostgresSource } from "./postgres-source.ts";
import { cannotRead, ImportError, type Source } from "./source.ts";
import { openSqliteSource } from "./sqlite-source.ts";

const SQLITE_MAGIC = "SQLite format 3\0";
/** Bytes that tell what a file is. */
const HEAD_BYTES = 64;

const POSTGRES_DUMP = "is a dump of PostgreSQL: restore it into a server and give its address, postgres://…";
const SQLITE_DUMP =
  "is a dump of SQLite: give the database file itself, or make one of it (sqlite3 one-api.db < file)";

/** Files that are taken for what we read, by how they begin, and what to do instead. */
const OTHERS: readonly (readonly [begin: string, advice: string])[] = [
  ["\u001f\u008b", "is compressed: unpack it with gunzip first"],
  ["PGDMP", POSTGRES_DUMP],
  ["--\n-- PostgreSQL database dump", POSTGRES_DUMP],
  ["PRAGMA foreign_keys=OFF;", SQLITE_DUMP],
  ["BEGIN TRANSACTION;", SQLITE_DUMP],
  [
    "\u00ff\u00fe",
    "is written in UTF-16, as PowerShell does with >: write it with mysqldump --result-file=one-api.sql",
  ],
];

/** Opens a SQLite file, a file written by mysqldump, or a PostgreSQL address. Throws: ImportError. */
export async function openSource(address: string): Promise<Source> {
  if (/^postgres(ql)?:\/\//.test(address)) return openPostgresSource(address);
  if (/@tcp\(|^mysql:\/\//.test(address)) {
    throw new ImportError(
      "a MySQL server is imported from a dump: run `mysqldump --single-transaction --no-tablespaces <database> > one-api.sql` and give that file",
    );
  }
  const head = await readHead(address);
  if (head.startsWith(SQLITE_MAGIC)) return openSqliteSource(address);
  for (const [begin, advice] of OTHERS)
    if (head.startsWith(begin)) throw new ImportError(`${address} ${advice}`);
  return openDump(address);
}

async function readHead(file: string): Promise<string> {
  try {
    const handle = await open(file, "r");
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    await handle.close();
    return buffer.toString("latin1", 0, bytesRead);
  } catch (cause) {
    throw cannotRead(file, cause);
  }
}
