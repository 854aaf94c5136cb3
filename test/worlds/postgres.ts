// Fresh PostgreSQL databases for tests, all on the one server of the run.
import { randomUUID } from "node:crypto";
import pg from "pg";
import { inject } from "vitest";
import { fetchShared } from "./broker.ts";

export interface PostgresDatabase {
  /** `postgres://…` of a database that is fresh and belongs to the calling test. */
  readonly url: string;
  /** Removes the database, closing whatever is still connected to it. */
  drop(): Promise<void>;
}

/** Creates a database for one test file, a copy of `template` or empty. Throws: with PostgreSQL's words when the server does not start. */
export async function createPostgresDatabase(template = "template1"): Promise<PostgresDatabase> {
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  const url = await onPostgres(async (client, urlOf) => {
    await client.query(`CREATE DATABASE ${name} TEMPLATE ${template}`);
    return urlOf(name);
  });
  const drop = () => onPostgres((client) => client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
  return { url, drop: async () => void (await drop()) };
}

/** Runs `work` with a connection to the server's maintenance database, which ends with it; `urlOf` = the address of a database by name. */
export async function onPostgres<T>(
  work: (client: pg.Client, urlOf: (name: string) => string) => Promise<T>,
): Promise<T> {
  const serverUrl = await fetchShared(inject("postgresBroker"));
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    return await work(client, (name) => {
      const url = new URL(serverUrl);
      url.pathname = `/${name}`;
      return url.href;
    });
  } finally {
    await client.end();
  }
}
