// A foreign database to read from, whatever engine it is of. Read-only, and one moment of it (requirements W7.5).
import type { SourceRow } from "./row.ts";

export interface Source {
  readonly engine: "SQLite" | "MySQL dump" | "PostgreSQL";
  /** Table → its columns. */
  readonly tables: ReadonlyMap<string, ReadonlySet<string>>;
  /** The rows of a table that exists, by id. */
  rows(table: string): AsyncIterable<SourceRow>;
  /** How many rows a table that exists has. */
  count(table: string): Promise<number>;
  close(): Promise<void>;
}

/** The source cannot be read or is not what it should be; the message tells the operator what to do. */
export class ImportError extends Error {
  override readonly name = "ImportError";
}

/** The message when the engine or the disk refuses to read. */
export function cannotRead(file: string, cause: unknown): ImportError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new ImportError(`cannot read ${file}: ${reason}`, { cause });
}
