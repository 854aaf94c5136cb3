// One API's database with changes, such as forks made, imported into one of ours.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished } from "vitest";
import { readMasterKey, unlockSecrets } from "#server/accounts/master-key.ts";
import { readConfig } from "#server/config.ts";
import { importOneApi } from "#server/import/one-api.ts";
import { checkLedger } from "#server/money/ledger-check.ts";
import { openStore, type SqliteStore } from "#server/store/db.ts";
import { oneApi } from "#test/seeds/one-api.ts";
import { writeSqlite } from "#test/seeds/one-api-files.ts";
import { testDirectory } from "./directory.ts";

/** A database of One API, changed by SQL, imported; the result and the report. */
export async function imported(changes: string) {
  const dir = testDirectory();
  const file = join(dir, "source.db");
  writeSqlite(file, oneApi("0.6"));
  const source = new DatabaseSync(file);
  source.exec(changes);
  source.close();
  const dataDir = join(dir, "data");
  const config = readConfig({ DATA_DIR: dataDir });
  const told: string[] = [];
  const result = await importOneApi(
    { address: file, isDryRun: false },
    { config, say: (text) => told.push(text), progress: () => undefined },
  );
  const store = await openStore({ dataDir });
  onTestFinished(() => store.close());
  if (store.dialect !== "sqlite") throw new Error("the test needs SQLite");
  expect(await checkLedger(store.db)).toEqual([]);
  const secrets = await unlockSecrets(
    store.db,
    await readMasterKey(config, () => undefined),
    () => undefined,
  );
  return { ...result, told: told.join("\n"), store: store satisfies SqliteStore, secrets };
}
