// SQLite behind Kysely. Every statement runs in a worker thread: SELECTs outside transactions in the reader, all else in
// the one writer.
import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  type QueryResult,
  SelectQueryNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import { StoreError } from "./fault.ts";
import { makeFolder, makePrivate, tighten } from "./files.ts";
import type { SqlValue } from "./sqlite-messages.ts";
import { DeferredFlush, Gate, SqliteThread } from "./sqlite-thread.ts";
import type { Tables } from "./tables.ts";

/** A transaction that its code forgot would stop all writing; after this long it is rolled back. */
const TRANSACTION_LIMIT_MS = 15_000;
/** No more than this many wait for the writer; groups of calls are bounded where they form (requirements F03). */
const WAITING_AT_MOST = 1_000;

export interface SqliteFiles {
  readonly writer: SqliteThread;
  readonly reader: Pick<SqliteThread, "query" | "close">;
  readonly gate: Gate;
  readonly deferred: DeferredFlush;
  /** The file existed before: what is in it is worth a copy before a migration. */
  readonly existed: boolean;
  /** Until the schema is the newest no other caller waits: a transaction takes as long as a large table needs. */
  isMigrating: boolean;
  readonly file: string;
}

/**
 * Opens `tollgate.db` in the directory, all files for their owner alone; the rights of a directory that is there are the operator's.
 * Throws: StoreError when another instance has the database open, from whatever directory.
 */
export async function openSqliteFiles(
  dataDir: string,
  onDeath: (error: StoreError) => void,
): Promise<SqliteFiles> {
  makeFolder(dataDir);
  const file = join(dataDir, "tollgate.db");
  const existed = existsSync(file);
  makePrivate(file);
  // Lock and log stand beside the file itself, whatever links lead to it: one lock for all who use it (requirements F10).
  const origin = realpathSync(file);
  const lockFile = origin.replace(/(\.db)?$/, ".lock");
  makePrivate(lockFile);
  // SQLite gives a new log the rights of its database.
  for (const log of ["-wal", "-shm"]) tighten(`${origin}${log}`);
  const writer = await SqliteThread.open({ file, lockFile }, onDeath);
  try {
    const reader = await SqliteThread.open({ file, lockFile: undefined }, onDeath);
    return {
      writer,
      reader,
      gate: new Gate(),
      deferred: new DeferredFlush(),
      existed,
      isMigrating: true,
      file,
    };
  } catch (error) {
    await writer.close();
    throw error;
  }
}

/** Kysely over the two workers. */
export function createSqliteKysely(files: SqliteFiles): Kysely<Tables> {
  const dialect: Dialect = {
    createAdapter: () => new WorkerAdapter(),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createDriver: () => new WorkerDriver(files),
  };
  return new Kysely<Tables>({ dialect });
}

/** Kysely takes SQLite for one connection and would let no caller read while a transaction is open. */
class WorkerAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

/** Texts of statements that only read; raw SQL carries no node that says so. */
const READS = /^\s*(select|with|explain)\b/i;
const WRITES = /\b(insert|update|delete|replace)\b/i;

function isRead(query: CompiledQuery): boolean {
  if (SelectQueryNode.is(query.query)) return true;
  return query.query.kind === "RawNode" && READS.test(query.sql) && !WRITES.test(query.sql);
}

class WorkerConnection implements DatabaseConnection {
  readonly #files: SqliteFiles;
  #timer: NodeJS.Timeout | undefined;
  #state: "loose" | "open" | "expired" = "loose";

  constructor(files: SqliteFiles) {
    this.#files = files;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#state === "loose") await this.#flushDeferred();
    // Kysely's parameters are what our columns hold; the worker refuses anything else.
    const answer = await this.#run(query, query.parameters as readonly SqlValue[]);
    return {
      // Kysely infers R from the statement that produced the rows.
      rows: answer.rows as R[],
      ...(answer.changes !== undefined && { numAffectedRows: BigInt(answer.changes) }),
      ...(answer.insertId !== undefined && { insertId: BigInt(answer.insertId) }),
    };
  }

  // biome-ignore lint/correctness/useYield: nothing of ours streams rows; pages are bounded.
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new StoreError("other", "rows are not streamed from SQLite");
  }

  async begin(): Promise<void> {
    const { gate, writer } = this.#files;
    await this.#flushDeferred();
    this.#assertRoom();
    await gate.enter(async () => {
      try {
        await writer.query("BEGIN IMMEDIATE", []);
      } catch (error) {
        gate.leave();
        throw error;
      }
    });
    this.#state = "open";
    if (this.#files.isMigrating) return;
    this.#timer = setTimeout(() => void this.#end("ROLLBACK", "expired"), TRANSACTION_LIMIT_MS).unref();
  }

  /** Commits; when that fails the transaction is still open and Kysely rolls it back. */
  async commit(): Promise<void> {
    if (this.#state === "expired") throw expired();
    await this.#end("COMMIT", "loose");
  }

  async rollback(): Promise<void> {
    if (this.#state !== "open") return;
    await this.#end("ROLLBACK", "loose");
  }

  /**
   * Before a statement reads. Not beside a transaction: it may be waiting for this very statement, and its BEGIN did what was put off before it
   * (SqliteSession.query); one that has not begun yet is waited for.
   */
  async #flushDeferred(): Promise<void> {
    const { deferred, gate } = this.#files;
    while (!deferred.isIdle) {
      if (!gate.isHeld) return deferred.flush();
      const { opening } = gate;
      await opening;
      if (gate.isHeld && gate.opening === opening) return;
    }
  }

  async #end(command: "COMMIT" | "ROLLBACK", next: "loose" | "expired"): Promise<void> {
    // Else it could end a second time while this one is under way.
    clearTimeout(this.#timer);
    if (command === "ROLLBACK") this.#state = next;
    try {
      await this.#files.writer.query(command, []);
    } catch (error) {
      if (command === "COMMIT") throw error;
      // SQLite has rolled back by itself after the worst failures; there is nothing left to end.
    }
    this.#state = next;
    this.#files.gate.leave();
  }

  #run(query: CompiledQuery, values: readonly SqlValue[]) {
    const { gate, reader, writer } = this.#files;
    if (this.#state === "open") return writer.query(query.sql, values);
    if (this.#state === "expired") return Promise.reject(expired());
    if (isRead(query)) return reader.query(query.sql, values);
    this.#assertRoom();
    return gate.pass(() => writer.query(query.sql, values));
  }

  /** Throws: StoreError when too many wait already. */
  #assertRoom(): void {
    const { gate, writer } = this.#files;
    if (gate.waiting + writer.waiting >= WAITING_AT_MOST)
      throw new StoreError("busy", "the database does not keep up");
  }
}

function expired(): StoreError {
  return new StoreError("timeout", `a transaction took more than ${TRANSACTION_LIMIT_MS} ms and was undone`);
}

class WorkerDriver implements Driver {
  readonly #files: SqliteFiles;

  constructor(files: SqliteFiles) {
    this.#files = files;
  }

  async init(): Promise<void> {
    // The workers are open already.
  }

  acquireConnection(): Promise<WorkerConnection> {
    return Promise.resolve(new WorkerConnection(this.#files));
  }

  beginTransaction(connection: DatabaseConnection): Promise<void> {
    return ours(connection).begin();
  }

  commitTransaction(connection: DatabaseConnection): Promise<void> {
    return ours(connection).commit();
  }

  rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    return ours(connection).rollback();
  }

  async releaseConnection(): Promise<void> {
    // A connection is a view of the shared workers: nothing to give back.
  }

  async destroy(): Promise<void> {
    await this.#files.writer.close();
    await this.#files.reader.close();
  }
}

function ours(connection: DatabaseConnection): WorkerConnection {
  // Kysely hands back what acquireConnection gave it.
  return connection as WorkerConnection;
}
