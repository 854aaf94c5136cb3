// Sources of an import in every engine that one is read from, and where it goes: what the tests of imports share.
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { readConfig } from "#server/config.ts";
import { importOneApi } from "#server/import/one-api.ts";
import { type OneApi, writeDump, writePostgres, writeSqlite } from "#test/seeds/one-api-files.ts";
import { createTestApp, type TestApp } from "./app.ts";
import { testDirectory } from "./directory.ts";
import { createPostgresDatabase } from "./postgres.ts";

export const engines = ["SQLite file", "MySQL dump", "PostgreSQL"] as const;

/** Builds a source and returns its address. */
export async function buildSource(engine: (typeof engines)[number], data: OneApi): Promise<string> {
  if (engine === "PostgreSQL") {
    const database = await createPostgresDatabase();
    onTestFinished(database.drop);
    await writePostgres(database.url, data);
    return database.url;
  }
  const file = join(testDirectory(), engine === "MySQL dump" ? "one-api.sql" : "one-api.db");
  if (engine === "MySQL dump") writeDump(file, data);
  else writeSqlite(file, data);
  return file;
}

export interface Destination {
  readonly dataDir: string;
  readonly url: string | undefined;
}

/** Imports the database at an address. */
export const importInto = (address: string, { dataDir, url }: Destination, isDryRun = false) =>
  importOneApi(
    { address, isDryRun },
    {
      config: readConfig({ DATA_DIR: dataDir, DATABASE_URL: url }),
      say: () => undefined,
      progress: () => undefined,
    },
  );

/** Opens what was imported. */
export async function openImported(
  { dataDir, url }: Destination,
  env: Record<string, string> = {},
): Promise<TestApp> {
  const app = await createTestApp({ dataDir, databaseUrl: url, env });
  onTestFinished(() => app.close());
  return app;
}
