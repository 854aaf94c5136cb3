// Opens the database: SQLite in worker threads, or PostgreSQL. Rows in, rows out; no rules.
import { type Expression, type Kysely, PostgresAdapter, type RawBuilder, sql } from "kysely";
import type pg from "pg";
import { StoreError } from "./fault.ts";
import { type MigrateOptions, migrate } from "./migrate.ts";
import type { Migration } from "./migrations/migration.ts";
import { createReadiness, writeProbe } from "./ready.ts";
import { createSqliteKysely, openSqliteFiles } from "./sqlite.ts";
import type { OnEarly } from "./sqlite-thread.ts";
import { SqliteVisitor } from "./sqlite-visitor.ts";
import type { Tables } from "./tables.ts";

export type Db = Kysely<Tables>;

const PROBE = new URL("./sqlite-probe.ts", import.meta.url);

interface CommonStore {
  readonly db: Db;
  /** The same database for what reads whole tables, and takes as long as it needs: no other statement waits for it (requirements D04). */
  readonly patient: Db;
  /** Whether the database can be written to at this moment (for /readyz). Never throws. */
  ready(): Promise<boolean>;
  close(): Promise<void>;
}

export interface SqliteStore extends CommonStore {
  readonly dialect: "sqlite";
  /**
   * Runs `run(database, input, early)` of a module in the writer thread, between two messages, with the connection to itself.
   * For what must read, think and write in one go: the money groups. `onEarly` hears what it sends before it answers. Throws:
   * StoreError.
   */
  runInWriter(module: URL, input: unknown, onEarly?: OnEarly): Promise<unknown>;
  /**
   * Puts work off: it is done once, before the next statement that is not of such a module. When it fails, the statement
   * is run all the same and the work tried again a second later.
   */
  flushBeforeUse(work: () => Promise<void>): void;
}

export interface PostgresStore extends CommonStore {
  readonly dialect: "postgres";
  /** A connection of its own under this name that is not in the pool, not yet connected. */
  createClient(name: string): pg.Client;
}

export type Store = SqliteStore | PostgresStore;

export interface StoreOptions {
  readonly dataDir: string;
  readonly databaseUrl?: string | undefined;
  /** Told when the database is gone for good in this process: end it. */
  readonly onFatal?: ((error: StoreError) => void) | undefined;
  /** Looks at a database of an older schema before anything of it is touched; what it throws ends the start. */
  readonly beforeMigration?: MigrateOptions["beforeMigration"];
  /** Only for tests. */
  readonly migrations?: readonly Migration[] | undefined;
}

/**
 * Opens the database and brings its schema up to date. SQLite at `dataDir` unless a PostgreSQL URL is given.
 * Throws: StoreError when another instance uses the files, no PostgreSQL answers, the schema is newer, or SQLite is too old.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  if (options.databaseUrl !== undefined) return openPostgres(options.databaseUrl, options);
  return openSqlite(options).catch((error: unknown) => {
    const isOfFile = error instanceof StoreError && (error.kind === "full" || error.kind === "broken");
    // SQLite does not say which file it speaks of.
    throw isOfFile ? new StoreError(error.kind, `${error.message} (in ${options.dataDir})`, error) : error;
  });
}

async function openSqlite(options: StoreOptions): Promise<SqliteStore> {
  const files = await openSqliteFiles(options.dataDir, options.onFatal ?? (() => undefined));
  const db = createSqliteKysely(files);
  try {
    const { beforeMigration, migrations } = options;
    await migrate({ db, dialect: "sqlite", backupFile: files.file, beforeMigration, migrations });
    files.isMigrating = false;
  } catch (error) {
    await db.destroy();
    throw error;
  }
  const visitor = new SqliteVisitor(files.file);
  const loaded = new Map<string, Promise<void>>();
  const load = (module: URL) => {
    const loading = files.writer.load(module.href);
    loaded.set(module.href, loading);
    // The next caller tries again: perhaps no file could be opened for a moment.
    loading.catch(() => loaded.delete(module.href));
    return loading;
  };
  const runInWriter: SqliteStore["runInWriter"] = async (module, input, onEarly) => {
    await (loaded.get(module.href) ?? load(module));
    return files.gate.pass(() => files.writer.run(module.href, input, onEarly));
  };
  return {
    db,
    patient: createSqliteKysely({ ...files, reader: visitor }),
    dialect: "sqlite",
    runInWriter,
    flushBeforeUse: (work) => files.deferred.schedule(work),
    ready: createReadiness(() => runInWriter(PROBE, undefined)),
    async close() {
      await visitor.close();
      await db.destroy();
    },
  };
}

async function openPostgres(
  url: string,
  { beforeMigration, migrations }: StoreOptions,
): Promise<PostgresStore> {
  // Loaded when it is used: with SQLite its driver would only take memory.
  const { assertReachable, createClient, createPostgresKysely, openPool } = await import("./postgres.ts");
  const pools = [openPool(url, false), openPool(url, true)] as const;
  const [db, patient] = [createPostgresKysely(pools[0]), createPostgresKysely(pools[1])];
  // Kysely would not end a pool that it has not used.
  const close = async () => {
    await Promise.all(pools.map((pool) => pool.end()));
  };
  try {
    await assertReachable(pools[1]);
    await migrate({ db: patient, dialect: "postgres", beforeMigration, migrations });
  } catch (error) {
    await close();
    throw error;
  }
  return {
    db,
    patient,
    dialect: "postgres",
    createClient: (name) => createClient(url, name),
    ready: createReadiness(() => writeProbe(db)),
    close,
  };
}

/** Whether statements of this database, or of this transaction, go to PostgreSQL. */
export function isPostgres(db: Db): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter;
}

/** Sum of a column as a whole number: PostgreSQL's own sum() of int8 is text, SQLite's is null without rows. */
export function sumInt(column: Expression<number>): RawBuilder<number> {
  return sql<number>`cast(coalesce(sum(${column}), 0) as bigint)`;
}
