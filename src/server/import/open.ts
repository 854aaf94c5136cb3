// Tells what kind of database an address leads to, and opens it for reading.
import { open } from "node:fs/promises";
import { openDump } from "./dump-source.ts";
import { openPostgresSource } from "./postgres-source.ts";
import { cannotRead, ImportError, type Source } from "./source.ts";
import { openSqliteSource } from "./sqlite-source.ts";

const SQLITE_MAGIC = "SQLite format 3\0";
const GZIP_MAGIC = "\u001f\u008b";

/** Opens a SQLite file, a file written by mysqldump, or a PostgreSQL address. Throws: ImportError. */
export async function openSource(address: string): Promise<Source> {
  if (/^postgres(ql)?:\/\//.test(address)) return openPostgresSource(address);
  if (/@tcp\(|^mysql:\/\//.test(address)) {
    throw new ImportError(
      "a MySQL server is imported from a dump: run `mysqldump --single-transaction --no-tablespaces <database> > one-api.sql` and give that file",
    );
  }
  const magic = await readHead(address);
  if (magic === SQLITE_MAGIC) return openSqliteSource(address);
  if (magic.startsWith(GZIP_MAGIC))
    throw new ImportError(`${address} is compressed: unpack it with gunzip first`);
  return openDump(address);
}

async function readHead(file: string): Promise<string> {
  try {
    const handle = await open(file, "r");
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(16), 0, 16, 0);
    await handle.close();
    return buffer.toString("latin1", 0, bytesRead);
  } catch (cause) {
    throw cannotRead(file, cause);
  }
}
