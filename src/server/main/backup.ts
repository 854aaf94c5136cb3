// The command `tollgate backup`: a checked copy of the SQLite database while the server runs. PostgreSQL has its own tool.
import { join, resolve } from "node:path";
import { type Clock, systemClock } from "#server/clock.ts";
import type { Config } from "#server/config.ts";
import { checkLedger } from "#server/money/ledger-check.ts";
import { checkpoint } from "#server/money/sqlite/writer.ts";
import { copySqlite, openCopy, removeLeftovers } from "#server/store/backup.ts";
import { CommandError } from "./command-error.ts";

export interface BackupResult {
  readonly file: string;
  /** Balances that are not what the ledger says; undefined = not checked, because the schema is of another version. */
  readonly mismatches: number | undefined;
  /** What copies that were killed had left there, removed. */
  readonly leftovers: readonly string[];
}

/**
 * Copies the database to `file`, or to a file named by the time in DATA_DIR/backups. Throws: CommandError with PostgreSQL,
 * StoreError when the copy cannot be made.
 */
export async function backUp(
  config: Pick<Config, "dataDir" | "databaseUrl">,
  file: string | undefined,
  clock: Clock = systemClock,
): Promise<BackupResult> {
  if (config.databaseUrl !== undefined) {
    throw new CommandError(
      "the data is in PostgreSQL, which has its own tool for copies: " +
        'pg_dump --format=custom --file=tollgate.dump "$DATABASE_URL"',
    );
  }
  const to = resolve(file ?? join(config.dataDir, "backups", `tollgate-${stamp(clock.now())}.db`));
  // First: it may be the space that the copy needs.
  const leftovers = removeLeftovers(to, clock.now());
  // The tables of the copy have everything, whichever program opens it.
  copySqlite(join(config.dataDir, "tollgate.db"), to, checkpoint);
  const copy = openCopy(to);
  if (copy === undefined) return { file: to, mismatches: undefined, leftovers };
  try {
    return { file: to, mismatches: (await checkLedger(copy)).length, leftovers };
  } finally {
    await copy.destroy();
  }
}

/** `20261120-093000`, UTC. */
function stamp(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, "").replace("T", "-");
}
