// The write-ahead log beside a SQLite database, taken to the disk when we say so: who commits with `synchronous = NORMAL` can do
// something else in between (docs/decisions/027).
import { closeSync, fdatasyncSync, openSync } from "node:fs";
import { SyncFault } from "./fault.ts";

export class WalFile {
  #handle: number | undefined;

  /**
   * `database` is the path of an open database that was read, with all its links resolved, as SQLite names the log: it stays the same
   * file for as long as the database is open. SQLite takes no locks on it, which closing it would drop. Opened before anything is written,
   * since systems tell of a failed write only those who had the file open then. Throws: when there is no such file.
   */
  constructor(database: string) {
    this.#handle = openSync(`${database}-wal`, "r+");
  }

  /**
   * Takes all that was committed to the disk. Throws: SyncFault. What it means then that a later try succeeds is not known: systems
   * forget what they could not write.
   */
  sync(): void {
    try {
      fdatasyncSync(this.#handle ?? -1);
    } catch (cause) {
      throw new SyncFault("the disk does not take the database's log", { cause });
    }
  }

  /** Before SQLite removes the file. */
  close(): void {
    if (this.#handle !== undefined) closeSync(this.#handle);
    this.#handle = undefined;
  }
}
