// PostgreSQL behind Kysely, and the settings that every connection of ours has.
import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import { StoreError } from "./fault.ts";
import type { Tables } from "./tables.ts";

const INT8 = 20;

/** No statement of the console may take longer (reliability D04). */
const STATEMENT_TIMEOUT_MS = 10_000;
/** A transaction whose process is gone must not keep its locks. */
const IDLE_TRANSACTION_TIMEOUT_MS = 15_000;
const CONNECT_TIMEOUT_MS = 5_000;
const POOL_SIZE = 10;

/** int8 as a number. Throws: when it is not exact as one (reliability M01). */
function parseInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new StoreError("other", `${text} is too large for a number`);
  return value;
}

const types: pg.CustomTypesConfig = {
  // The parameters are those of pg's own function; only int8 is ours.
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    oid === INT8 && format !== "binary" ? parseInt8 : pg.types.getTypeParser(oid, format),
};

/** A connection of its own, not yet connected. */
export function createClient(databaseUrl: string, settings?: pg.ClientConfig): pg.Client {
  return new pg.Client({ ...connectionSettings(databaseUrl), ...settings });
}

/** Settings of every connection. `lock_timeout` makes a lock that nobody releases a "busy". */
function connectionSettings(databaseUrl: string): pg.ClientConfig {
  return {
    connectionString: databaseUrl,
    types,
    application_name: "tollgate",
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    lock_timeout: STATEMENT_TIMEOUT_MS / 2,
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_TIMEOUT_MS,
    keepAlive: true,
  };
}

/** A pool; connections that break while idle are replaced, and whoever uses one learns it from the query. */
export function openPool(databaseUrl: string): pg.Pool {
  const pool = new pg.Pool({ ...connectionSettings(databaseUrl), max: POOL_SIZE });
  pool.on("error", () => undefined);
  // One that breaks while it is used tells its query; it also emits an error, which would end the process if nobody listened.
  pool.on("connect", (client) => client.on("error", () => undefined));
  return pool;
}

export function createPostgresKysely(pool: pg.Pool): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
}
