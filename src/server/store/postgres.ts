// PostgreSQL behind Kysely, and the settings that every connection of ours has.
import { Kysely, PostgresDialect, type PostgresPoolClient } from "kysely";
import pg from "pg";
import { faultKind, StoreError } from "./fault.ts";
import type { Tables } from "./tables.ts";

const INT8 = 20;

/** No statement of the console may take longer (requirements D04). */
const STATEMENT_TIMEOUT_MS = 5_000;
/** Those of the program's own connections are short, and calls wait for them. */
const OWN_STATEMENT_TIMEOUT_MS = 4_000;
/** The server ends a statement and says so. Who hears nothing for so much longer has a connection that leads nowhere (requirements F05). */
const SILENCE_MS = 500;
/** How often a connection that stays is asked whether its server is there. */
const PULSE_MS = 1_000;
/** A transaction whose process is gone must not keep its locks. */
const IDLE_TRANSACTION_TIMEOUT_MS = 15_000;
const CONNECT_TIMEOUT_MS = 5_000;
const POOL_SIZE = 10;
/**
 * Processes that PostgreSQL starts to help with one statement take longer to start than pages and totals take altogether (measured: a total of
 * 283,000 orders 23 ms without, 48 ms with two), and they are taken from the calls. `options` in the database's address and PGOPTIONS win.
 */
pg.defaults.options = "-c max_parallel_workers_per_gather=0";
/** A connection that no caller uses is not kept for long: whether it still leads anywhere shows only when it is used. */
const IDLE_MS = 3_000;

/** int8 as a number. Throws: when it is not exact as one (requirements M01). */
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

/**
 * A connection of its own, not yet connected. Statements do not wait for each other's answers; it ends when one does not come, also when
 * no caller asks anything: what a node has locked, and what it hears of others, depends on it (decision 019).
 */
export function createClient(databaseUrl: string, name: string): pg.Client {
  const client = new pg.Client({
    ...connectionSettings(databaseUrl, OWN_STATEMENT_TIMEOUT_MS),
    // Its transactions are said in one breath. One that is cut off in the middle is ended when we give the connection up: until then it
    // keeps its locks, and the next connection would wait for them.
    idle_in_transaction_session_timeout: OWN_STATEMENT_TIMEOUT_MS + SILENCE_MS,
    application_name: name,
    pipeline: true,
  });
  let pulse: NodeJS.Timeout | undefined;
  client.once("connect", () => {
    pulse = setInterval(() => client.query("SELECT 1").catch(() => undefined), PULSE_MS).unref();
  });
  client.once("end", () => clearInterval(pulse));
  return client;
}

/**
 * Settings of every connection. `lock_timeout` makes a lock that its holder does not release a "busy". Unit: ms; 0 = a statement may take
 * as long as it needs.
 */
function connectionSettings(databaseUrl: string, statementMs: number): pg.ClientConfig {
  return {
    connectionString: databaseUrl,
    types,
    application_name: "tollgate",
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: statementMs,
    lock_timeout: statementMs / 2,
    query_timeout: statementMs === 0 ? 0 : statementMs + SILENCE_MS,
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_TIMEOUT_MS,
    keepAlive: true,
  };
}

/**
 * A pool; connections that break while idle are replaced, and a caller that uses one learns it from the query. `isPatient` = its statements
 * may take as long as they need.
 */
export function openPool(databaseUrl: string, isPatient: boolean): pg.Pool {
  const settings = connectionSettings(databaseUrl, isPatient ? 0 : STATEMENT_TIMEOUT_MS);
  const pool = new pg.Pool({ ...settings, max: POOL_SIZE, idleTimeoutMillis: IDLE_MS });
  pool.on("error", () => undefined);
  // One that breaks while it is used tells its query; it also emits an error, which would end the process if it had no listener.
  pool.on("connect", (client) => client.on("error", () => undefined));
  return pool;
}

/** Connects once. Throws: StoreError that says why there is no connection. */
export async function assertReachable(pool: pg.Pool): Promise<void> {
  try {
    (await pool.connect()).release();
  } catch (cause) {
    // A name with several addresses gives an error of errors, whose own message is empty.
    const { message, code } = cause as Error & { readonly code?: string };
    const reason = message || code;
    throw new StoreError(faultKind(cause), `cannot connect to the database (DATABASE_URL): ${reason}`, cause);
  }
}

/** Takes a connection, which is thrown away afterwards when an answer did not come: the next to use it would wait as long. */
async function take(pool: pg.Pool): Promise<PostgresPoolClient> {
  const client = await pool.connect();
  let isLost = false;
  const query = async (statement: string, values: readonly unknown[]) => {
    try {
      return await client.query(statement, [...values]);
    } catch (error) {
      isLost ||= faultKind(error) === "lost";
      throw error;
    }
  };
  return {
    // Kysely knows the kind of each statement. The other form of it is for cursors, which nothing of ours uses.
    query: query as unknown as PostgresPoolClient["query"],
    release: (isUnwanted = false) => client.release(isLost || isUnwanted),
  };
}

export function createPostgresKysely(pool: pg.Pool): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: new PostgresDialect({
      pool: { connect: () => take(pool), end: () => pool.end(), options: pool.options },
    }),
  });
}
