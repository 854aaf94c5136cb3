// Runs in SQLite's writer thread: one group of operations, decided by the rules, in one transaction. What calls bring is noted in the
// journal, as it came, and carried over to the tables when there is enough of it or before anybody else looks (docs/decisions/025).
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Batch } from "#server/money/operations.ts";
import type { Changes } from "#server/money/rows.ts";
import { applyOperations, isOfCall, isSyncedByLater } from "#server/money/rules.ts";
import { isSyncFault } from "#server/store/fault.ts";
import type { Midway } from "#server/store/sqlite-session.ts";
import { RowCache } from "./row-cache.ts";
import { CARRY_OVER, decodeBatch, encodeOutcomes, FORM } from "./wire.ts";
import { WriteBuffer } from "./write-buffer.ts";

/** Entries that are carried over without being asked for: some 8 ms of the writer's time. */
const ENOUGH = 1_024;
/** When so many could not be carried over, nothing more is noted: a start has to read it all. */
const TOO_MANY = 4 * ENOUGH;

const SQL = {
  begin: "BEGIN IMMEDIATE",
  commit: "COMMIT",
  note: `INSERT INTO journal (form, batch) VALUES (${FORM}, ?)`,
  noted: "SELECT form, batch FROM journal ORDER BY id",
  clear: "DELETE FROM journal",
} as const;

/** What one connection knows. Made anew after a transaction that failed: what is stored is the truth. */
interface Bank {
  readonly statements: Record<keyof typeof SQL, StatementSync>;
  readonly shelf: RowCache;
  readonly gathered: WriteBuffer;
  /** The journal has something in it. */
  hasNotes: boolean;
}

const banks = new WeakMap<DatabaseSync, Bank>();

function bankOf(database: DatabaseSync): Bank {
  const known = banks.get(database);
  if (known) return known;
  const entries = Object.entries(SQL).map(([name, sql]) => [name, database.prepare(sql)] as const);
  const bank: Bank = {
    // The names are those of SQL.
    statements: Object.fromEntries(entries) as Record<keyof typeof SQL, StatementSync>,
    shelf: new RowCache(database),
    gathered: new WriteBuffer(database),
    hasNotes: false,
  };
  // What was decided then is decided again: the rules see the same rows, since all others wait until it is carried over.
  for (const { form, batch } of bank.statements.noted.all()) {
    if (form !== FORM)
      throw new Error(`the journal is of form ${String(form)}: start the program that wrote it`);
    decide(bank, decodeBatch(String(batch)));
    bank.hasNotes = true;
  }
  banks.set(database, bank);
  return bank;
}

function decide({ shelf, gathered }: Bank, batch: Batch): ReturnType<typeof applyOperations> {
  const decided = applyOperations(shelf.load(batch), batch);
  gathered.add(decided.changes);
  return decided;
}

/** Refusals and repetitions need no note. */
function isChange(changes: Changes): boolean {
  return Object.values(changes).some((part) => ("size" in part ? part.size : part.length) > 0);
}

/**
 * Runs an encoded Batch and returns its encoded Outcomes, or does what CARRY_OVER asks for. All or nothing. What need not wait for the
 * disk is told before the others are taken there (docs/decisions/027). Throws: SQLite's error, after undoing everything, or SyncFault.
 */
export function run(database: DatabaseSync, input: unknown, midway: Midway): string {
  // Posted by sqlite-teller.ts alone.
  const text = input as string;
  if (text === CARRY_OVER) {
    finishSoon(database);
    return "";
  }
  const batch = decodeBatch(text);
  const { operations } = batch;
  const outcomes = transact(database, (bank) => {
    const { outcomes, changes } = decide(bank, batch);
    // Nothing about calls can fail when it is stored, so that it can be stored later.
    if (!operations.every(isOfCall) || bank.gathered.entries >= TOO_MANY) carryOver(bank);
    else if (isChange(changes)) note(bank, text);
    return outcomes;
  });
  const waits = operations.map((operation) => !isSyncedByLater(operation));
  if (!waits.includes(true)) return encodeOutcomes(outcomes);
  const told = (isLate: boolean) =>
    encodeOutcomes(outcomes.map((outcome, index) => (waits[index] === isLate ? outcome : undefined)));
  if (waits.includes(false)) midway.tell(told(false));
  midway.sync();
  return told(true);
}

function note(bank: Bank, text: string): void {
  bank.statements.note.get(text);
  bank.hasNotes = true;
}

function carryOver(bank: Bank): void {
  bank.gathered.store();
  bank.statements.clear.get();
  bank.hasNotes = false;
}

/**
 * Carries over what the journal holds, and remembers no rows any more: from now on others may read and change them. Need not wait for
 * the disk: journal and tables change together, whatever reaches the disk. Throws: SQLite's error.
 */
export function finish(database: DatabaseSync): void {
  try {
    if (banks.get(database)?.hasNotes ?? hasNotes(database)) transact(database, carryOver);
    banks.get(database)?.shelf.forget();
  } finally {
    if (hasty.has(database)) database.exec("PRAGMA synchronous = FULL");
    hasty.delete(database);
  }
}

function hasNotes(database: DatabaseSync): boolean {
  return database.prepare("SELECT 1 FROM journal LIMIT 1").get() !== undefined;
}

/** It can be done later: it does not wait for a lock while groups wait for it. */
const PATIENCE_MS = 100;

function finishSoon(database: DatabaseSync): void {
  const before = database.prepare("PRAGMA busy_timeout").get()?.["timeout"];
  database.exec(`PRAGMA busy_timeout = ${PATIENCE_MS}`);
  try {
    finish(database);
  } finally {
    database.exec(`PRAGMA busy_timeout = ${Number(before)}`);
  }
}

/** Entries that wait when carrying over, which has just failed, is worth another try: each reads the journal again. */
const nextTries = new WeakMap<DatabaseSync, number>();

/**
 * Carries over when there is enough of it, while those who were answered go on. The group before is stored, whatever happens here; who
 * asks next is told (sqlite-teller.ts does soon). Throws: SyncFault's kind alone, which ends the thread.
 */
export function rest(database: DatabaseSync): void {
  const entries = banks.get(database)?.gathered.entries ?? 0;
  if (entries < (nextTries.get(database) ?? ENOUGH)) return;
  try {
    finishSoon(database);
    nextTries.delete(database);
  } catch (error) {
    if (isSyncFault(error)) throw error;
    nextTries.set(database, entries + ENOUGH);
  }
}

/** Those whose commits do not wait for the disk. Statements that are not ours are told to (finish). */
const hasty = new WeakSet<DatabaseSync>();

/** Runs `work` in a transaction that does not wait for the disk. Throws: what it threw, or SQLite's error; nothing is remembered then. */
function transact<T>(database: DatabaseSync, work: (bank: Bank) => T): T {
  if (database.isTransaction) throw new Error("a group needs a transaction of its own");
  const bank = bankOf(database);
  if (!hasty.has(database)) database.exec("PRAGMA synchronous = NORMAL");
  hasty.add(database);
  try {
    bank.statements.begin.get();
    const result = work(bank);
    bank.statements.commit.get();
    return result;
  } catch (error) {
    // The rules may have changed rows that are now as they were: they are read again.
    banks.delete(database);
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}
