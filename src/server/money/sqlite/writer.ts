// Runs in SQLite's writer thread: one group of operations, decided by the rules, in one transaction. What calls bring is appended to the
// journal, and goes to the tables at a checkpoint: when there is enough of it, or before any other statement (docs/decisions/025).
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Batch } from "#server/money/operations.ts";
import type { Changes } from "#server/money/rows.ts";
import { applyOperations, isOfCall, isSyncedByLater } from "#server/money/rules.ts";
import { isSyncFault } from "#server/store/fault.ts";
import type { EarlyReply } from "#server/store/sqlite-session.ts";
import { hasJournal, Journal } from "./journal.ts";
import { RowCache } from "./row-cache.ts";
import { CHECKPOINT, decodeBatch, encodeOutcomes } from "./wire.ts";
import { WriteBuffer } from "./write-buffer.ts";

/** Ledger entries at which a checkpoint is made unasked: some 8 ms of the writer's time. */
const ENOUGH = 1_024;
/** When checkpoints failed and so many wait, the journal takes no more: a start has to read it all. */
const TOO_MANY = 4 * ENOUGH;

/** What one connection knows. Made anew after a transaction that failed: what is stored is the truth. */
interface WriterState {
  readonly begin: StatementSync;
  readonly commit: StatementSync;
  readonly journal: Journal;
  readonly rowCache: RowCache;
  readonly writeBuffer: WriteBuffer;
}

const states = new WeakMap<DatabaseSync, WriterState>();

/** The state of a connection; at first use, or after a failure, decides what the journal holds again: the rules see the same rows. */
function replay(database: DatabaseSync): WriterState {
  const known = states.get(database);
  if (known) return known;
  const state: WriterState = {
    begin: database.prepare("BEGIN IMMEDIATE"),
    commit: database.prepare("COMMIT"),
    journal: new Journal(database),
    rowCache: new RowCache(database),
    writeBuffer: new WriteBuffer(database),
  };
  for (const batch of state.journal.read()) decide(state, batch);
  states.set(database, state);
  return state;
}

function decide({ rowCache, writeBuffer }: WriterState, batch: Batch): ReturnType<typeof applyOperations> {
  const decided = applyOperations(rowCache.load(batch), batch);
  writeBuffer.add(decided.changes);
  return decided;
}

/** Refusals and repetitions are not appended. */
function isChange(changes: Changes): boolean {
  return Object.values(changes).some((part) => ("size" in part ? part.size : part.length) > 0);
}

/** Runs what the ledger backend posts: an encoded Batch, or CHECKPOINT. Returns encoded Outcomes. Throws: as `append` and `checkpoint`. */
export function run(database: DatabaseSync, input: unknown, early: EarlyReply): string {
  // Posted by backend.ts alone.
  const text = input as string;
  if (text !== CHECKPOINT) return append(database, text, early);
  checkpointSoon(database);
  return "";
}

/**
 * Decides a batch and appends it to the journal, all or nothing. Outcomes that need not wait for the disk are sent before the others are
 * taken there (docs/decisions/027). Throws: SQLite's error, after undoing everything, or SyncFault.
 */
function append(database: DatabaseSync, text: string, early: EarlyReply): string {
  const batch = decodeBatch(text);
  const { operations } = batch;
  const outcomes = transact(database, (state) => {
    const { outcomes, changes } = decide(state, batch);
    // Nothing about calls can fail when it is stored, so that it can be stored later.
    if (!operations.every(isOfCall) || state.writeBuffer.entries >= TOO_MANY) storeAll(state);
    else if (isChange(changes)) state.journal.append(text);
    return outcomes;
  });
  const waits = operations.map((operation) => !isSyncedByLater(operation));
  if (!waits.includes(true)) return encodeOutcomes(outcomes);
  const those = (isLate: boolean) =>
    encodeOutcomes(outcomes.map((outcome, index) => (waits[index] === isLate ? outcome : undefined)));
  if (waits.includes(false)) early.send(those(false));
  early.sync();
  return those(true);
}

function storeAll({ writeBuffer, journal }: WriterState): void {
  writeBuffer.store();
  journal.clear();
}

/**
 * Stores in the tables what the journal holds, and forgets the rows that were read: from now on other statements may read and change them.
 * Need not wait for the disk: journal and tables change together, whatever reaches the disk. Throws: SQLite's error.
 */
export function checkpoint(database: DatabaseSync): void {
  try {
    const state = states.get(database);
    if (state === undefined ? hasJournal(database) : !state.journal.isEmpty) transact(database, storeAll);
    states.get(database)?.rowCache.forget();
  } finally {
    if (unsynced.has(database)) database.exec("PRAGMA synchronous = FULL");
    unsynced.delete(database);
  }
}

/** Before any statement that is not the ledger's. */
export { checkpoint as flush };

/** It can be done later: it does not wait for a lock while groups wait for it. */
const PATIENCE_MS = 100;

function checkpointSoon(database: DatabaseSync): void {
  const before = database.prepare("PRAGMA busy_timeout").get()?.["timeout"];
  database.exec(`PRAGMA busy_timeout = ${PATIENCE_MS}`);
  try {
    checkpoint(database);
  } finally {
    database.exec(`PRAGMA busy_timeout = ${Number(before)}`);
  }
}

/** Entries that wait when a checkpoint, which has just failed, is worth another try: each reads the journal again. */
const nextTries = new WeakMap<DatabaseSync, number>();

/**
 * A checkpoint once there is enough, while the callers that were answered go on. The group before is stored, whatever happens here; the
 * next statement of others is told of a failure (backend.ts reports it too). Throws: SyncFault alone, which ends the thread.
 */
export function afterReply(database: DatabaseSync): void {
  const entries = states.get(database)?.writeBuffer.entries ?? 0;
  if (entries < (nextTries.get(database) ?? ENOUGH)) return;
  try {
    checkpointSoon(database);
    nextTries.delete(database);
  } catch (error) {
    if (isSyncFault(error)) throw error;
    nextTries.set(database, entries + ENOUGH);
  }
}

/** Connections whose commits do not wait for the disk; statements of others do (checkpoint). */
const unsynced = new WeakSet<DatabaseSync>();

/** Runs `work` in a transaction that does not wait for the disk. Throws: what it threw, or SQLite's error; nothing is remembered then. */
function transact<T>(database: DatabaseSync, work: (state: WriterState) => T): T {
  if (database.isTransaction) throw new Error("a group needs a transaction of its own");
  const state = replay(database);
  if (!unsynced.has(database)) database.exec("PRAGMA synchronous = NORMAL");
  unsynced.add(database);
  try {
    state.begin.get();
    const result = work(state);
    state.commit.get();
    return result;
  } catch (error) {
    // The rules may have changed rows that are now as they were: they are read again.
    states.delete(database);
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}
