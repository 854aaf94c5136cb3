// The ledger backends: each carries a group of operations to its database. One implementation per database.
import type { Batch, Outcome } from "./operations.ts";

/** Receives the result of the operation at this index of its batch. */
export type Tell = (index: number, outcome: Outcome) => void;

export interface LedgerBackend {
  /**
   * Runs a batch in one transaction and reports the result of each operation as soon as it is as durable as it has to be. Throws:
   * anything `faultKind` can name; after "lost" it is unknown whether the operations without a result were stored, and running them again
   * finds out. After anything else nothing was stored, and nothing was reported.
   */
  run(batch: Batch, tell: Tell): Promise<void>;
  /** Writes that this process is alive until `leaseSec` from now. */
  renewLease(node: string, leaseSec: number): Promise<void>;
  /** Gives the lease back: what the process still has open is recovered by the next one. */
  dropLease(node: string): Promise<void>;
  /**
   * Declares processes dead whose lease ran out, on PostgreSQL also those whose lock has been free for some seconds, on
   * SQLite every other one: there is only one at a time.
   */
  expireLeases(node: string): Promise<void>;
  close(): Promise<void>;
}
