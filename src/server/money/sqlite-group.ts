// Runs in SQLite's writer thread: one group of operations, decided by the rules, in one transaction. What calls bring is noted in the
// journal, as it came, and carried over to the tables when there is enough of it or before anybody else looks (docs/decisions/025).
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Changes } from "./books.ts";
import type { Batch } from "./operations.ts";
import { applyOperations, isOfCall } from "./rules.ts";
import { Shelf } from "./sqlite-books.ts";
import { Gathered } from "./sqlite-tables.ts";
import { CARRY_OVER, decodeBatch, encodeOutcomes, FORM } from "./wire.ts";

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
  readonly shelf: Shelf;
  readonly gathered: Gathered;
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
    shelf: new Shelf(database),
    gathered: new Gathered(database),
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
 * Runs an encoded Batch and returns its encoded Outcomes, or does what CARRY_OVER asks for. All or nothing. Throws: SQLite's error,
 * after undoing everything.
 */
export function run(database: DatabaseSync, input: unknown): string {
  // Posted by sqlite-teller.ts alone.
  const text = input as string;
  if (text === CARRY_OVER) {
    finishSoon(database);
    return "";
  }
  const batch = decodeBatch(text);
  return transact(database, isSyncedByLater(batch) ? "NORMAL" : "FULL", (bank) => {
    const { outcomes, changes } = decide(bank, batch);
    // Nothing about calls can fail when it is stored, so that it can be stored later.
    if (!batch.operations.every(isOfCall) || bank.gathered.entries >= TOO_MANY) carryOver(bank);
    else if (isChange(changes)) note(bank, text);
    return encodeOutcomes(outcomes);
  });
}

/**
 * Whether a group need not wait for the disk: it only sets amounts aside. It outlives the process, and any later group takes it to
 * the disk with itself; a power cut before that returns the amounts, as recovery would (docs/decisions/018).
 */
function isSyncedByLater({ operations }: Batch): boolean {
  return operations.every(({ kind }) => kind === "reserve" || kind === "extend");
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
  if (banks.get(database)?.hasNotes ?? hasNotes(database)) transact(database, "NORMAL", carryOver);
  banks.get(database)?.shelf.forget();
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
 * asks next is told (sqlite-teller.ts does soon). Never throws.
 */
export function rest(database: DatabaseSync): void {
  const entries = banks.get(database)?.gathered.entries ?? 0;
  if (entries < (nextTries.get(database) ?? ENOUGH)) return;
  try {
    finishSoon(database);
    nextTries.delete(database);
  } catch {
    nextTries.set(database, entries + ENOUGH);
  }
}

/** Runs `work` in a transaction of this level. Throws: what it threw, or SQLite's error; nothing is remembered then. */
function transact<T>(database: DatabaseSync, level: "NORMAL" | "FULL", work: (bank: Bank) => T): T {
  if (database.isTransaction) throw new Error("a group needs a transaction of its own");
  const bank = bankOf(database);
  if (level === "NORMAL") database.exec("PRAGMA synchronous = NORMAL");
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
  } finally {
    if (level === "NORMAL") database.exec("PRAGMA synchronous = FULL");
  }
}
