// A reader that is there only while a caller needs it: for statements that read whole tables, which nothing can interrupt and no other
// statement is to wait behind (requirements D04). Has no memory between its visits.
import type { QueryAnswer, SqlValue } from "./sqlite-messages.ts";
import { SqliteThread } from "./sqlite-thread.ts";

/** How long it stays when nothing is asked: a check of the books asks again and again. */
const STAY_MS = 1_000;

export class SqliteVisitor {
  readonly #file: string;
  #thread: Promise<SqliteThread> | undefined;
  #asked = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(file: string) {
    this.#file = file;
  }

  /** Runs one statement that only reads. Throws: StoreError. */
  async query(sql: string, values: readonly SqlValue[]): Promise<QueryAnswer> {
    clearTimeout(this.#timer);
    this.#asked += 1;
    try {
      this.#thread ??= this.#open();
      const thread = await this.#thread;
      return await thread.query(sql, values);
    } finally {
      this.#asked -= 1;
      if (this.#asked === 0) this.#timer = setTimeout(() => void this.close(), STAY_MS).unref();
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    const leaving = this.#thread;
    this.#thread = undefined;
    const thread = await leaving?.catch(() => undefined);
    await thread?.close();
  }

  /** One that cannot open the file, or dies, is replaced by the next. */
  async #open(): Promise<SqliteThread> {
    const forget = () => {
      this.#thread = undefined;
    };
    try {
      return await SqliteThread.open({ file: this.#file, lockFile: undefined }, forget);
    } catch (error) {
      forget();
      throw error;
    }
  }
}
