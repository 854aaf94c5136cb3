// Who carries a group of operations to the database. One implementation per database.
import type { Batch, Outcome } from "./operations.ts";

/** Hears what became of the operation at this place of its batch. */
export type Tell = (index: number, outcome: Outcome) => void;

export interface LedgerBackend {
  /**
   * Runs a batch in one transaction and tells what became of each operation as soon as that is as durable as it has to be. Throws:
   * anything `faultKind` can name; with "lost" it is unknown of those not told whether they were stored, and running them again
   * finds out. With anything else nothing was stored, nor told.
   */
  run(batch: Batch, tell: Tell): Promise<void>;
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
