// What a database can do wrong, in the same words for both. Decides nothing; callers read `kind`.

export type StoreFaultKind =
  /** A unique, check or foreign key constraint refused the row. */
  | "constraint"
  /** Another connection holds a lock, or the transactions got in each other's way: trying again may help. */
  | "busy"
  /** No space left, or the database is read-only. Nothing was written. */
  | "full"
  /** The connection or the worker is gone: whether the last write happened is unknown. */
  | "lost"
  /** The disk failed while reading or writing, or what is there is no database. */
  | "broken"
  /** A statement took longer than it may. */
  | "timeout"
  | "other";

export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly kind: StoreFaultKind;

  constructor(kind: StoreFaultKind, message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

/** The disk did not take what it was to keep: from now on nothing may rely on it (requirements F04). */
export class SyncFault extends Error {
  override readonly name = "SyncFault";
}

/** SQLITE_IOERR_FSYNC and SQLITE_IOERR_DIR_FSYNC (sqlite.org/rescode.html). */
const SYNC_CODES: readonly unknown[] = [1034, 1290];

/** Whether an error, ours or SQLite's, says that what was written may not be on the disk. */
export function isSyncFault(error: unknown): boolean {
  if (error instanceof SyncFault) return true;
  return error instanceof Error && "errcode" in error && SYNC_CODES.includes(error.errcode);
}

/** Primary result codes of SQLite (sqlite.org/rescode.html) that mean more than "other". */
const SQLITE_KINDS: Readonly<Record<number, StoreFaultKind>> = {
  5: "busy", // SQLITE_BUSY
  6: "busy", // SQLITE_LOCKED
  8: "full", // SQLITE_READONLY
  10: "broken", // SQLITE_IOERR
  11: "broken", // SQLITE_CORRUPT
  13: "full", // SQLITE_FULL
  14: "broken", // SQLITE_CANTOPEN
  19: "constraint", // SQLITE_CONSTRAINT
  26: "broken", // SQLITE_NOTADB
};

/** The kind of an extended result code of SQLite; its low byte is the primary code. */
export function sqliteKind(resultCode: number): StoreFaultKind {
  return SQLITE_KINDS[resultCode & 0xff] ?? "other";
}

/** The kind of what was thrown in a thread that works with SQLite itself. */
export function sqliteFaultKind(error: unknown): StoreFaultKind {
  if (error instanceof StoreError) return error.kind;
  if (!(error instanceof Error)) return "other";
  return "errcode" in error && typeof error.errcode === "number" ? sqliteKind(error.errcode) : "other";
}

/** The kind of an SQLSTATE (postgresql.org/docs/18/errcodes-appendix.html) or of a socket's error code. */
function postgresKind(code: string): StoreFaultKind {
  if (code === "57014") return "timeout";
  if (code === "40001" || code === "40P01" || code === "55P03") return "busy";
  if (code === "25006" || code.startsWith("53")) return "full";
  if (code.startsWith("23")) return "constraint";
  if (code.startsWith("08") || code.startsWith("57P") || code === "25P03") return "lost";
  return /^E[A-Z]{4,}$/.test(code) ? "lost" : "other";
}

/** pg reports some lost connections without a code. */
const LOST_MESSAGE = /connection (terminated|ended|error)|not queryable|timeout expired|read timeout/i;

/** Nothing was asked of the database: all connections are in use, or none can be made. */
const NO_CONNECTION = "timeout exceeded when trying to connect";

/** The kind of anything that a query threw. */
export function faultKind(error: unknown): StoreFaultKind {
  if (error instanceof StoreError) return error.kind;
  if (!(error instanceof Error)) return "other";
  if ("code" in error && typeof error.code === "string") return postgresKind(error.code);
  if (error.message === NO_CONNECTION) return "busy";
  return LOST_MESSAGE.test(error.message) ? "lost" : "other";
}

/** Troubles that pass, or that the operator ends: trying again makes sense (requirements F02, F03). */
const PASSING: ReadonlySet<StoreFaultKind> = new Set(["busy", "full", "lost", "timeout"]);

/** Whether the database cannot do now what it may do later. */
export function isPassing(error: unknown): boolean {
  return PASSING.has(faultKind(error));
}

/** Whether a unique index refused a row: the name, key or id is taken. */
export function isTaken(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ("code" in error && error.code === "23505") return true;
  return error instanceof StoreError && error.message.includes("UNIQUE constraint failed");
}
