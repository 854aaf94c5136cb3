// One SQLite connection with what it needs to be trusted: version, settings, instance lock, prepared statements. Runs in a
// worker thread (sqlite-worker.ts), since every call of it may wait for the disk.
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { isSyncFault, StoreError, sqliteFaultKind } from "./fault.ts";
import { BUSY_TIMEOUT_MS, LockPatience } from "./lock-patience.ts";
import type { QueryAnswer, SqlValue, WorkerFault, WorkerOptions } from "./sqlite-messages.ts";
import { WalFile } from "./wal-file.ts";

/** Before 3.51.3 a WAL reset could corrupt the file (sqlite.org/wal.html#walresetbug, requirements F01). */
const OLDEST_SQLITE = [3, 51, 3] as const;
/** Statements kept prepared; filters make some dozens of variants. */
const STATEMENTS = 500;
/** What modules wait at least for a lock: a bit of it, in which it may become free. Single statements are refused at once. */
const MODULE_PATIENCE_MS = 500;

interface Prepared {
  readonly statement: StatementSync;
  readonly returnsRows: boolean;
}

/** What a module can do before it answers. */
export interface EarlyReply {
  /** Sends something ahead of the answer. */
  send(value: unknown): void;
  /** Takes all that was committed to the disk. Throws: SyncFault, and the thread ends. */
  sync(): void;
}

/** A module that the writer runs between two messages; see `SqliteStore.runInWriter`. */
export interface WriterModule {
  run(database: DatabaseSync, input: unknown, early: EarlyReply): unknown;
  /** What can wait until the answer is on its way: called after that. Throws: nothing but what ends the thread. */
  afterReply?(database: DatabaseSync): void;
  /** Writes what the module has put off and forgets what it has read: called before any statement that is not its own. */
  flush(database: DatabaseSync): void;
}

/** Throws: StoreError when a SQLite of this version could corrupt the file. */
export function assertVersion(version: string): void {
  const parts = version.split(".").map(Number);
  const differing = OLDEST_SQLITE.findIndex((oldest, index) => parts[index] !== oldest);
  const isOld = differing >= 0 && (parts[differing] ?? 0) < (OLDEST_SQLITE[differing] ?? 0);
  if (isOld) throw new StoreError("other", `SQLite ${version} is older than ${OLDEST_SQLITE.join(".")}`);
}

/** Holds an exclusive transaction on a small database of its own; the operating system drops it with the process. */
function lockInstance(lockFile: string): DatabaseSync {
  const lock = new DatabaseSync(lockFile, { timeout: 0 });
  try {
    lock.exec("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE");
    return lock;
  } catch (cause) {
    lock.close();
    if (describe(cause).kind !== "busy") throw cause;
    throw new StoreError(
      "busy",
      `another instance is running on this data directory (${lockFile} is locked)`,
      cause,
    );
  }
}

function open(options: WorkerOptions): DatabaseSync {
  const database = new DatabaseSync(options.file, {
    timeout: BUSY_TIMEOUT_MS,
    enableForeignKeyConstraints: true,
  });
  assertVersion(String(database.prepare("SELECT sqlite_version() AS version").get()?.["version"]));
  const mode = database.prepare("PRAGMA journal_mode = WAL").get()?.["journal_mode"];
  if (mode !== "wal")
    throw new StoreError("other", `the database cannot use a write-ahead log (${String(mode)})`);
  database.exec("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY");
  // KiB of pages; only what is used is taken.
  database.exec("PRAGMA cache_size = -32768");
  // Pages of the log before they go to the file, 16 MiB: pages that many groups touch are then written there once, and
  // the stall of that happens a quarter as often as by default.
  database.exec("PRAGMA wal_autocheckpoint = 4000");
  database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  if (options.lockFile === undefined) database.exec("PRAGMA query_only = ON");
  else beginLog(database);
  return database;
}

/**
 * Writes the log that is there into the file and begins a new one. What the disk did not take from the last process may be in the system's
 * memory alone: a power cut would end the log there, before all that we write behind it (requirements F04). When another process reads the
 * file, or it is full, the log goes on.
 */
function beginLog(database: DatabaseSync): void {
  try {
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch (error) {
    if (isSyncFault(error)) throw error;
  }
}

/** An error in the words that cross the border. */
export function describe(error: unknown): WorkerFault {
  return { kind: sqliteFaultKind(error), message: error instanceof Error ? error.message : String(error) };
}

/** One open database; every call is synchronous but for loading a module. */
export class SqliteSession {
  readonly #lock: DatabaseSync | undefined;
  readonly #database: DatabaseSync;
  /** Only the writer's. */
  readonly #wal: WalFile | undefined;
  readonly #patience: LockPatience;
  readonly #statements = new Map<string, Prepared>();
  readonly #modules = new Map<string, WriterModule>();

  constructor(options: WorkerOptions) {
    this.#lock = options.lockFile === undefined ? undefined : lockInstance(options.lockFile);
    this.#database = open(options);
    this.#patience = new LockPatience(this.#database);
    if (options.lockFile !== undefined) this.#wal = new WalFile(this.#database.location() ?? options.file);
  }

  query(sql: string, values: readonly SqlValue[]): QueryAnswer {
    return this.#patience.run(0, () => this.#query(sql, values));
  }

  #query(sql: string, values: readonly SqlValue[]): QueryAnswer {
    // Modules are flushed before a transaction begins, and none runs beside it. A setting concerns no rows, and may be what lets
    // them flush.
    if (!this.#database.isTransaction && !sql.startsWith("PRAGMA ")) this.#flushModules();
    const { statement, returnsRows } = this.#prepare(sql);
    if (returnsRows) return { rows: statement.all(...values), changes: undefined, insertId: undefined };
    const { changes, lastInsertRowid } = statement.run(...values);
    return { rows: [], changes: Number(changes), insertId: Number(lastInsertRowid) };
  }

  async load(module: string): Promise<void> {
    // Our own modules, named by the room that owns the rules; see SqliteStore.runInWriter.
    this.#modules.set(module, (await import(module)) as WriterModule);
  }

  /** Runs a loaded module; `send` is given what it says ahead of its answer. */
  run(module: string, input: unknown, send: EarlyReply["send"]): unknown {
    const loaded = this.#modules.get(module);
    if (!loaded) throw new StoreError("other", `the module ${module} was not loaded`);
    const wal = this.#wal;
    if (!wal) throw new StoreError("other", "a reader runs no modules");
    const early = { send, sync: () => wal.sync() };
    return this.#patience.run(MODULE_PATIENCE_MS, () => loaded.run(this.#database, input, early));
  }

  /** What the module has left to do once its answer is on its way. */
  afterReply(module: string): void {
    this.#modules.get(module)?.afterReply?.(this.#database);
  }

  close(): void {
    this.#statements.clear();
    if (this.#lock) this.#tidy();
    this.#wal?.close();
    this.#database.close();
    this.#lock?.close();
  }

  /** Moves the write-ahead log into the file. On a full disk, or beside a lock, the next start does it. */
  #tidy(): void {
    try {
      this.#flushModules();
      this.#database.exec("PRAGMA optimize; PRAGMA wal_checkpoint(TRUNCATE)");
    } catch {
      // Nothing is lost: what was committed is in the log, and what was put off in what was committed.
    }
  }

  #flushModules(): void {
    for (const module of this.#modules.values()) module.flush(this.#database);
  }

  #prepare(sql: string): Prepared {
    const known = this.#statements.get(sql);
    if (known) return known;
    const statement = this.#database.prepare(sql);
    const prepared = { statement, returnsRows: statement.columns().length > 0 };
    const oldest = this.#statements.keys().next().value;
    if (this.#statements.size >= STATEMENTS && oldest !== undefined) this.#statements.delete(oldest);
    this.#statements.set(sql, prepared);
    return prepared;
  }
}
