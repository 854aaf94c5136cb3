// Fresh PostgreSQL databases for tests, all on the one server of the run.
import { randomUUID } from "node:crypto";
import pg from "pg";
import { inject } from "vitest";
import { fetchShared } from "./broker.ts";

export interface PostgresDatabase {
  /** `postgres://…` of a database that is empty and belongs to the calling test. */
  readonly url: string;
  /** Removes the database, closing whatever is still connected to it. */
  drop(): Promise<void>;
}

/** Creates a database for one test file. Throws: with PostgreSQL's words when the server does not start. */
export async function createPostgresDatabase(): Promise<PostgresDatabase> {
  const serverUrl = await fetchShared(inject("postgresBroker"));
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  await execute(serverUrl, `CREATE DATABASE ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => execute(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}

async function execute(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
