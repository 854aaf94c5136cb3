// A foreign database to read from, whatever engine it is of. Read-only, and one moment of it (requirements W7.5).
import type { SourceRow } from "./row.ts";

export interface Family {
  readonly name: string;
  /** New API numbers channel types and log types differently (requirements W19.1). */
  readonly isNewApi: boolean;
}

/** Throws: ImportError when this is no database of the family. */
export function familyOf(source: Source): Family {
  const has = (table: string, column: string) => source.tables.get(table)?.has(column) === true;
  if (!has("users", "username") || !has("users", "quota") || !has("tokens", "key")) {
    const found = [...source.tables.keys()].slice(0, 10).join(", ");
    throw new ImportError(
      `this is no One API database: it has no users and tokens with quota (tables: ${found})`,
    );
  }
  if (has("users", "aff_quota")) return { name: "New API", isNewApi: true };
  return { name: `One API, ${ageOf(has)}`, isNewApi: false };
}

function ageOf(has: (table: string, column: string) => boolean): string {
  const isLate =
    has("users", "oidc_id") ||
    has("tokens", "subnet") ||
    has("logs", "elapsed_time") ||
    has("channels", "system_prompt");
  if (isLate) return "later than 0.6.6";
  if (has("channels", "config")) return "0.6";
  return has("channels", "priority") && has("channels", "model_mapping") ? "before March 2024" : "of 2023";
}

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
