// Runs in SQLite's writer thread: loads the rows of one group, lets the rules decide, stores what changed; one transaction.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { spanOf } from "#server/store/span.ts";
import type { Books, Changes } from "./books.ts";
import type { Batch, Outcome } from "./operations.ts";
import {
  addToSums,
  BOOKED_COLUMNS,
  type BookedRow,
  bookedEntry,
  columnNames,
  LEDGER_SHEET,
  LOG_SHEET,
  RESERVATION_COLUMNS,
  RESERVATION_SHEET,
  type ReservationRow,
  ROLLUP_SHEET,
  reservationBook,
  SEEN_SHEET,
  type Sheet,
  SUM_SHEET,
  TOKEN_COLUMNS,
  TOKEN_SHEET,
  type TokenRow,
  tokenBook,
  USER_COLUMNS,
  USER_SHEET,
  type UserRow,
  userBook,
} from "./rows.ts";
import { applyOperations } from "./rules.ts";

function insertSql(sheet: Sheet<never>, tail = ""): string {
  return `INSERT INTO ${sheet.table} (${columnNames(sheet)}) VALUES (${sheet.columns.map(() => "?").join(", ")}) ${tail}`;
}

/** Numbered, because the values begin with the key that finds the row. */
function updateSql(sheet: Sheet<never>): string {
  const [key, ...rest] = sheet.columns.map(([name], index) => `${name} = ?${index + 1}`);
  return `UPDATE ${sheet.table} SET ${rest.join(", ")} WHERE ${key}`;
}

const SQL = {
  begin: "BEGIN IMMEDIATE",
  commit: "COMMIT",
  user: `SELECT ${USER_COLUMNS} FROM users WHERE id = ?`,
  token: `SELECT ${TOKEN_COLUMNS} FROM tokens WHERE id = ?`,
  reservation: `SELECT ${RESERVATION_COLUMNS} FROM reservations WHERE request_id = ?`,
  booked: `SELECT ${BOOKED_COLUMNS} FROM ledger WHERE request_id = ?`,
  updateUser: updateSql(USER_SHEET),
  updateToken: updateSql(TOKEN_SHEET),
  updateChannel: "UPDATE channels SET used_quota = used_quota + ? WHERE id = ?",
  insertReservation: insertSql(RESERVATION_SHEET),
  updateReservation: updateSql(SEEN_SHEET),
  deleteReservation: "DELETE FROM reservations WHERE request_id = ?",
  insertLedger: insertSql(LEDGER_SHEET),
  insertLog: insertSql(LOG_SHEET),
  upsertSum: insertSql(SUM_SHEET, addToSums(SUM_SHEET)),
  upsertRollup: insertSql(ROLLUP_SHEET, addToSums(ROLLUP_SHEET)),
  upsertSpan: `INSERT INTO log_spans (span, first_id, last_id) VALUES (?, ?, ?) ON CONFLICT (span) DO UPDATE SET
    first_id = min(first_id, excluded.first_id), last_id = max(last_id, excluded.last_id)`,
} as const;

type Statements = Readonly<Record<keyof typeof SQL, StatementSync>>;

const prepared = new WeakMap<DatabaseSync, Statements>();

function statementsOf(database: DatabaseSync): Statements {
  const known = prepared.get(database);
  if (known) return known;
  const entries = Object.entries(SQL).map(([name, sql]) => [name, database.prepare(sql)] as const);
  // The names are those of SQL.
  const statements = Object.fromEntries(entries) as Record<keyof typeof SQL, StatementSync>;
  prepared.set(database, statements);
  return statements;
}

/** Runs a Batch and returns its Outcomes. All or nothing. Throws: SQLite's error, after undoing everything. */
export function run(database: DatabaseSync, input: unknown): readonly Outcome[] {
  // Posted by sqlite-teller.ts alone.
  const batch = input as Batch;
  const statements = statementsOf(database);
  statements.begin.run();
  try {
    const { outcomes, changes } = applyOperations(load(statements, batch), batch);
    store(statements, changes, batch.nowSec);
    statements.commit.run();
    return outcomes;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

function load(statements: Statements, { operations }: Batch): Books {
  const books: Books = { users: new Map(), tokens: new Map(), reservations: new Map(), booked: new Map() };
  for (const operation of operations) {
    loadParties(statements, books, operation);
    const { kind, requestId } = operation;
    if (kind !== "adjust" && loadReservation(statements, books, requestId)) continue;
    // Only what is not open can have been booked.
    if (kind === "reserve" || kind === "settle" || kind === "adjust")
      loadBooked(statements, books, requestId);
  }
  return books;
}

// The rows below have the columns their statements name, with the types of a STRICT schema.

function loadParties(
  statements: Statements,
  books: Books,
  { userId, tokenId }: { userId: number; tokenId: number },
): void {
  if (!books.users.has(userId)) {
    const row = statements.user.get(userId) as UserRow | undefined;
    if (row) books.users.set(userId, userBook(row));
  }
  if (tokenId !== 0 && !books.tokens.has(tokenId)) {
    const row = statements.token.get(tokenId) as TokenRow | undefined;
    if (row) books.tokens.set(tokenId, tokenBook(row));
  }
}

function loadReservation(statements: Statements, books: Books, requestId: string): boolean {
  if (books.reservations.has(requestId)) return true;
  const row = statements.reservation.get(requestId) as ReservationRow | undefined;
  if (row) books.reservations.set(requestId, reservationBook(row));
  return row !== undefined;
}

function loadBooked(statements: Statements, books: Books, requestId: string): void {
  const row = statements.booked.get(requestId) as BookedRow | undefined;
  if (row) books.booked.set(requestId, bookedEntry(row));
}

function store(statements: Statements, changes: Changes, nowSec: number): void {
  const write = <Item>(statement: StatementSync, sheet: Sheet<Item>, items: Iterable<Item>) => {
    for (const item of items) statement.run(...sheet.values(item, nowSec));
  };
  write(statements.updateUser, USER_SHEET, changes.users);
  write(statements.updateToken, TOKEN_SHEET, changes.tokens);
  for (const [id, quota] of changes.channels) statements.updateChannel.run(quota, id);
  write(statements.insertReservation, RESERVATION_SHEET, changes.inserted);
  write(statements.updateReservation, SEEN_SHEET, changes.updated);
  for (const { requestId } of changes.deleted) statements.deleteReservation.run(requestId);
  write(statements.insertLedger, LEDGER_SHEET, changes.ledger);
  write(statements.upsertSum, SUM_SHEET, changes.sums.values());
  write(statements.upsertRollup, ROLLUP_SHEET, changes.rollups.values());
  storeLogs(statements, changes.logs, nowSec);
}

function storeLogs(statements: Statements, logs: Changes["logs"], nowSec: number): void {
  let firstId = 0;
  let lastId = 0;
  for (const log of logs) {
    lastId = Number(statements.insertLog.run(...LOG_SHEET.values(log, nowSec)).lastInsertRowid);
    if (firstId === 0) firstId = lastId;
  }
  // Every entry of a group has the time of the group.
  if (lastId !== 0) statements.upsertSpan.run(spanOf(nowSec), firstId, lastId);
}
