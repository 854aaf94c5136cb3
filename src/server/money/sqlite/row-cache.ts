// The rows that groups work on, as SQLite's writer remembers them from group to group: they are read once, and again only after
// others may have changed them.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Batch, Operation, PartnerOperation } from "#server/money/operations.ts";
import {
  CODE_COLUMNS,
  COMMISSION_COLUMNS,
  type CodeRow,
  type CommissionRow,
  codeBook,
  codeOf,
  commissionBook,
  isPartnerOperation,
  usersOf,
} from "#server/money/partner-row-codec.ts";
import {
  BOOKED_COLUMNS,
  type BookedRow,
  bookedEntry,
  RESERVATION_COLUMNS,
  type ReservationRow,
  reservationBook,
  TOKEN_COLUMNS,
  type TokenRow,
  tokenBook,
  USER_COLUMNS,
  type UserRow,
  userBook,
} from "#server/money/row-codec.ts";
import type { Books } from "#server/money/rows.ts";

const SQL = {
  user: `SELECT ${USER_COLUMNS} FROM users WHERE id = ?`,
  token: `SELECT ${TOKEN_COLUMNS} FROM tokens WHERE id = ?`,
  reservations: `SELECT ${RESERVATION_COLUMNS} FROM reservations`,
  // One at a time: a list of ids could be searched for in all of the table, when SQLite last looked at it while it was small.
  booked: `SELECT ${BOOKED_COLUMNS} FROM ledger WHERE request_id = ?`,
  gap: `SELECT (SELECT max(request_id) FROM ledger WHERE request_id < ?1) AS after,
    (SELECT min(request_id) FROM ledger WHERE request_id > ?1) AS before`,
  commission: `SELECT ${COMMISSION_COLUMNS} FROM users WHERE id = ?`,
  code: `SELECT ${CODE_COLUMNS} FROM redemptions WHERE id = ?`,
} as const;

// Rows have the columns their statements name, with the types of a STRICT schema.

/** Two ids of the ledger with none between them; null = nothing comes before or after. */
interface Gap {
  readonly after: string | null;
  readonly before: string | null;
}

/** SQLite orders texts by their UTF-8 and we by UTF-16: the same for any text beside one of these. */
const PRINTABLE = /^[ -~]*$/;

function isWithin(text: string, { after, before }: Gap): boolean {
  return (after === null || text > after) && (before === null || text < before);
}

export class RowCache {
  readonly #statements: Record<keyof typeof SQL, StatementSync>;
  readonly #books: Books;
  /** Where new calls come, since ids begin with their time: the table has none of these, and need not be searched for each. */
  #gap: Gap | undefined;

  constructor(database: DatabaseSync) {
    const entries = Object.entries(SQL).map(([name, sql]) => [name, database.prepare(sql)] as const);
    // The names are those of SQL.
    this.#statements = Object.fromEntries(entries) as Record<keyof typeof SQL, StatementSync>;
    const open = this.#statements.reservations.all() as unknown as ReservationRow[];
    this.#books = {
      users: new Map(),
      tokens: new Map(),
      // Every open one. Nobody but this program writes them, so that they need not be looked up.
      reservations: new Map(),
      booked: new Map(),
      commissions: new Map(),
      codes: new Map(),
    };
    for (const row of open) this.#books.reservations.set(row.request_id, reservationBook(row));
  }

  /** The books with everything that the operations name. The rules change them in place. */
  load({ operations }: Batch): Books {
    for (const operation of operations) {
      this.#loadParties(operation.userId, operation.tokenId);
      if (isPartnerOperation(operation)) this.#loadPartners(operation);
      if (this.#mayBeBooked(operation)) this.#loadBooked(operation.requestId);
    }
    return this.#books;
  }

  /** Only what is not open can have been booked. */
  #mayBeBooked({ kind, requestId }: Operation): boolean {
    const { booked, reservations } = this.#books;
    if (booked.has(requestId)) return false;
    if (kind === "reserve" || kind === "settle") return !reservations.has(requestId);
    return kind === "adjust" || kind === "redeem" || kind === "commission" || kind === "signup";
  }

  /** Others may change rows from now on: what was read of them is read again. */
  forget(): void {
    const { users, tokens, booked, commissions, codes } = this.#books;
    for (const rows of [users, tokens, booked, commissions, codes]) rows.clear();
    this.#gap = undefined;
  }

  #loadParties(userId: number, tokenId: number): void {
    const { users, tokens } = this.#books;
    if (!users.has(userId)) {
      const row = this.#statements.user.get(userId) as UserRow | undefined;
      if (row) users.set(userId, userBook(row));
    }
    if (tokenId !== 0 && !tokens.has(tokenId)) {
      const row = this.#statements.token.get(tokenId) as TokenRow | undefined;
      if (row) tokens.set(tokenId, tokenBook(row));
    }
  }

  #loadPartners(operation: PartnerOperation): void {
    const { commissions, codes } = this.#books;
    for (const userId of usersOf(operation)) {
      this.#loadParties(userId, 0);
      if (commissions.has(userId)) continue;
      const row = this.#statements.commission.get(userId) as CommissionRow | undefined;
      if (row) commissions.set(userId, commissionBook(row));
    }
    const codeId = codeOf(operation);
    if (!codes.has(codeId)) {
      const row = this.#statements.code.get(codeId) as CodeRow | undefined;
      if (row) codes.set(codeId, codeBook(row));
    }
  }

  #loadBooked(requestId: string): void {
    // What groups have booked since the gap was read is among the books.
    if (this.#gap !== undefined && isWithin(requestId, this.#gap)) return;
    const row = this.#statements.booked.get(requestId) as BookedRow | undefined;
    if (row) this.#books.booked.set(requestId, bookedEntry(row));
    else this.#gap ??= this.#gapAround(requestId);
  }

  /** The gap that an id is in which the ledger does not have. */
  #gapAround(requestId: string): Gap {
    // A statement without FROM gives one row.
    const gap = this.#statements.gap.get(requestId) as unknown as Gap;
    const isPlain = PRINTABLE.test(gap.after ?? "") && PRINTABLE.test(gap.before ?? "");
    return isPlain ? gap : { after: requestId, before: requestId };
  }
}
