// Who carries a group of operations to the database. One implementation per database.
import type { Batch, Outcome } from "./operations.ts";

export interface Teller {
  /**
   * Runs a batch in one transaction and returns an outcome for each operation. Throws: anything `faultKind` can name; with
   * "lost" it is unknown whether the batch was stored, and running it again finds out.
   */
  run(batch: Batch): Promise<readonly Outcome[]>;
  /** Writes that this process lives until `leaseSec` from now. */
  renewLease(node: string, leaseSec: number): Promise<void>;
  /** Gives the lease back: what the process still has open is recovered by the next one. */
  dropLease(node: string): Promise<void>;
  /**
   * Declares processes dead whose lease ran out, on PostgreSQL also those whose lock has been free for some seconds, on
   * SQLite every other one: there is only one at a time.
   */
  buryDead(node: string): Promise<void>;
  close(): Promise<void>;
}
