// A process that migrates a database and is killed on the way: before statement `at` of the migration that comes next, or
// before its commit. Started by migrate-crash.test.ts with what to do as JSON.
import { flushCompileCache } from "node:module";
import { openStore, type StoreOptions } from "#server/store/db.ts";
import { MIGRATIONS } from "#server/store/migrations/list.ts";

interface Order {
  readonly options: StoreOptions;
  /** Index of the migration in which the process is killed. */
  readonly index: number;
  readonly at: number;
}

/** The same statements; the process that runs them is killed at one. */
function deadly(statements: readonly string[], at: number): readonly string[] {
  return Object.assign([...statements], {
    *[Symbol.iterator]() {
      for (const [index, statement] of statements.entries()) {
        if (index === at) die();
        yield statement;
      }
      die();
    },
  });
}

function die(): void {
  // A killed process leaves no compiled code for the next one.
  flushCompileCache();
  process.kill(process.pid, "SIGKILL");
}

// The test writes exactly this.
const { options, index, at } = JSON.parse(process.argv[2] ?? "") as Order;
const migrations = MIGRATIONS.map((migration, place) =>
  place === index
    ? { ...migration, sqlite: deadly(migration.sqlite, at), postgres: deadly(migration.postgres, at) }
    : migration,
);
await openStore({ ...options, migrations });
