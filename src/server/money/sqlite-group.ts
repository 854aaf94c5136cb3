// Runs in SQLite's writer thread: loads the rows of one group, lets the rules decide, stores what changed; one transaction.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Books, Changes, LedgerEntry, Reservation } from "./books.ts";
import type { Batch, PartnerOperation } from "./operations.ts";
import {
  CODE_COLUMNS,
  CODE_SHEET,
  COMMISSION_COLUMNS,
  COMMISSION_SHEET,
  type CodeRow,
  type CommissionRow,
  codeBook,
  codeOf,
  commissionBook,
  isPartnerOperation,
  PARTNER_LEDGER_SHEET,
  usersOf,
} from "./partner-rows.ts";
import {
  BOOKED_COLUMNS,
  type BookedRow,
  bookedEntry,
  LEDGER_SHEET,
  RESERVATION_COLUMNS,
  RESERVATION_SHEET,
  type ReservationRow,
  reservationBook,
  SEEN_SHEET,
  type Sheet,
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
import { Inserter, insertSql } from "./sqlite-insert.ts";
import { Logs } from "./sqlite-logs.ts";
import { decodeBatch, encodeOutcomes, SORT_IN } from "./wire.ts";

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
  reservations: `SELECT ${RESERVATION_COLUMNS} FROM reservations`,
  booked: `SELECT ${BOOKED_COLUMNS} FROM ledger WHERE request_id = ?`,
  commission: `SELECT ${COMMISSION_COLUMNS} FROM users WHERE id = ?`,
  code: `SELECT ${CODE_COLUMNS} FROM redemptions WHERE id = ?`,
  updateUser: updateSql(USER_SHEET),
  updateToken: updateSql(TOKEN_SHEET),
  updateChannel: "UPDATE channels SET used_quota = used_quota + ? WHERE id = ?",
  updateReservation: updateSql(SEEN_SHEET),
  deleteReservation: "DELETE FROM reservations WHERE request_id = ?",
  updateCommission: updateSql(COMMISSION_SHEET),
  updateCode: updateSql(CODE_SHEET),
  insertPartnerLedger: insertSql(PARTNER_LEDGER_SHEET),
} as const;

interface Statements extends Readonly<Record<keyof typeof SQL, StatementSync>> {
  /** Every open reservation. Nobody but this program writes them, so that they need not be looked up. */
  readonly open: Map<string, Reservation>;
  readonly reservationRows: Inserter<Reservation>;
  readonly ledgerRows: Inserter<LedgerEntry>;
  readonly logs: Logs;
}

const prepared = new WeakMap<DatabaseSync, Statements>();

function statementsOf(database: DatabaseSync): Statements {
  const known = prepared.get(database);
  if (known) return known;
  const entries = Object.entries(SQL).map(([name, sql]) => [name, database.prepare(sql)] as const);
  // The names are those of SQL.
  const prepare = Object.fromEntries(entries) as Record<keyof typeof SQL, StatementSync>;
  const rows = prepare.reservations.all() as unknown as ReservationRow[];
  const open = new Map(rows.map((row) => [row.request_id, reservationBook(row)]));
  const statements = {
    ...prepare,
    open,
    reservationRows: new Inserter(database, RESERVATION_SHEET),
    ledgerRows: new Inserter(database, LEDGER_SHEET),
    logs: new Logs(database),
  };
  prepared.set(database, statements);
  return statements;
}

function keepOpen(open: Map<string, Reservation>, { inserted, deleted }: Changes): void {
  for (const reservation of inserted) open.set(reservation.requestId, reservation);
  for (const { requestId } of deleted) open.delete(requestId);
}

/**
 * Runs an encoded Batch and returns its encoded Outcomes, or does what SORT_IN asks for. All or nothing.
 * Throws: SQLite's error, after undoing everything.
 */
export function run(database: DatabaseSync, input: unknown): string {
  // Posted by sqlite-teller.ts alone.
  const text = input as string;
  if (text === SORT_IN) return sortInSoon(database);
  const batch = decodeBatch(text);
  if (!isSyncedByLater(batch)) return runGroup(database, text, batch);
  database.exec("PRAGMA synchronous = NORMAL");
  try {
    return runGroup(database, text, batch);
  } finally {
    database.exec("PRAGMA synchronous = FULL");
  }
}

/** Sorting in can be done later: it does not wait for a lock while groups wait for it. */
const SORT_IN_WAIT_MS = 100;

function sortInSoon(database: DatabaseSync): string {
  const before = database.prepare("PRAGMA busy_timeout").get()?.["timeout"];
  database.exec(`PRAGMA busy_timeout = ${SORT_IN_WAIT_MS}`);
  try {
    return runGroup(database, SORT_IN, NOTHING);
  } finally {
    database.exec(`PRAGMA busy_timeout = ${Number(before)}`);
  }
}

/**
 * Whether a group need not wait for the disk: it only sets amounts aside. It outlives the process, and any later group takes it to
 * the disk with itself; a power cut before that returns the amounts, as recovery would (docs/decisions/018).
 */
function isSyncedByLater({ operations }: Batch): boolean {
  return operations.length > 0 && operations.every(({ kind }) => kind === "reserve" || kind === "extend");
}

function runGroup(database: DatabaseSync, text: string, batch: Batch): string {
  const statements = statementsOf(database);
  statements.begin.run();
  try {
    const { outcomes, changes } = applyOperations(load(statements, batch), batch);
    store(statements, changes, batch.nowSec);
    if (text === SORT_IN) statements.logs.sortIn();
    statements.commit.run();
    keepOpen(statements.open, changes);
    return encodeOutcomes(outcomes);
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    // The rules may have changed rows that are now as they were: they are read again.
    prepared.delete(database);
    throw error;
  }
}

const NOTHING: Batch = { operations: [], nowSec: 0, node: "" };

function load(statements: Statements, { operations }: Batch): Books {
  const books: Books = {
    users: new Map(),
    tokens: new Map(),
    reservations: new Map(),
    booked: new Map(),
    commissions: new Map(),
    codes: new Map(),
  };
  for (const operation of operations) {
    loadParties(statements, books, operation);
    if (isPartnerOperation(operation)) {
      loadPartners(statements, books, operation);
      continue;
    }
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

function loadPartners(statements: Statements, books: Books, operation: PartnerOperation): void {
  for (const userId of usersOf(operation)) {
    loadParties(statements, books, { userId, tokenId: 0 });
    if (books.commissions.has(userId)) continue;
    const row = statements.commission.get(userId) as CommissionRow | undefined;
    if (row) books.commissions.set(userId, commissionBook(row));
  }
  const codeId = codeOf(operation);
  if (!books.codes.has(codeId)) {
    const row = statements.code.get(codeId) as CodeRow | undefined;
    if (row) books.codes.set(codeId, codeBook(row));
  }
  loadBooked(statements, books, operation.requestId);
}

function loadReservation(statements: Statements, books: Books, requestId: string): boolean {
  if (books.reservations.has(requestId)) return true;
  const reservation = statements.open.get(requestId);
  if (reservation) books.reservations.set(requestId, reservation);
  return reservation !== undefined;
}

function loadBooked(statements: Statements, books: Books, requestId: string): void {
  const row = statements.booked.get(requestId) as BookedRow | undefined;
  if (row) books.booked.set(requestId, bookedEntry(row));
}

function store(statements: Statements, changes: Changes, nowSec: number): void {
  // `get` makes no answer of a statement that has none; `run` builds an object for each.
  const write = <Item>(statement: StatementSync, sheet: Sheet<Item>, items: Iterable<Item>) => {
    for (const item of items) statement.get(...sheet.values(item, nowSec));
  };
  write(statements.updateUser, USER_SHEET, changes.users);
  write(statements.updateToken, TOKEN_SHEET, changes.tokens);
  for (const [id, quota] of changes.channels) statements.updateChannel.get(quota, id);
  statements.reservationRows.insert(changes.inserted, nowSec);
  write(statements.updateReservation, SEEN_SHEET, changes.updated);
  for (const { requestId } of changes.deleted) statements.deleteReservation.get(requestId);
  statements.ledgerRows.insert(changes.ledger, nowSec);
  write(statements.updateCommission, COMMISSION_SHEET, changes.commissions);
  write(statements.updateCode, CODE_SHEET, changes.codes);
  write(statements.insertPartnerLedger, PARTNER_LEDGER_SHEET, changes.partnerLedger);
  statements.logs.add(changes, nowSec);
}
