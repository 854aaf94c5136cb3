// The rows that groups work on, as SQLite's writer remembers them from group to group: they are read once, and again only after
// others may have changed them.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import {
  LIMIT_COLUMNS,
  type LimitRow,
  limitBook,
  limitsOf,
  plansOf,
  WINDOW_COLUMNS,
  type WindowRow,
  windowBook,
} from "#server/money/limit-row-codec.ts";
import type { Batch, Operation, PartnerOperation } from "#server/money/operations.ts";
import {
  ORDER_COLUMNS,
  type OrderRow,
  orderBook,
  REFUND_COLUMNS,
  type RefundRow,
  refundBook,
} from "#server/money/order-books.ts";
import { tradeKey } from "#server/money/order-rows.ts";
import {
  CODE_COLUMNS,
  COMMISSION_COLUMNS,
  type CodeRow,
  type CommissionRow,
  codeBook,
  codeOf,
  commissionBook,
  furtherIdsOf,
  orderKeysOf,
  usersOf,
} from "#server/money/partner-row-codec.ts";
import { PERIOD_COLUMNS, type PeriodRow, periodBook } from "#server/money/plan-row-codec.ts";
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

import {
  addWindow,
  type Books,
  findWindow,
  type Hold,
  type HolderKey,
  holderKey,
  type LimitRef,
  noLimits,
  windowKey,
} from "#server/money/rows.ts";

import { isOfCall, isPartnerOperation } from "#server/money/rules.ts";

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
  order: `SELECT ${ORDER_COLUMNS} FROM orders WHERE order_no = ?`,
  trade: "SELECT order_no FROM orders WHERE instance_id = ? AND trade_no = ?",
  refund: `SELECT ${REFUND_COLUMNS} FROM order_refunds WHERE refund_no = ?`,
  period: `SELECT ${PERIOD_COLUMNS} FROM plan_periods WHERE id = ?`,
  periods: `SELECT ${PERIOD_COLUMNS} FROM plan_periods WHERE user_id = ?`,
  limit: `SELECT ${LIMIT_COLUMNS} FROM limits WHERE id = ?`,
  current: `SELECT ${WINDOW_COLUMNS} FROM limit_windows WHERE limit_id = ? AND holder = ? AND is_current = 1`,
  window: `SELECT ${WINDOW_COLUMNS} FROM limit_windows WHERE limit_id = ? AND holder = ? AND start = ?`,
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
  /** Limits and holders that were looked up: most have no window yet. */
  readonly #limited = new Set<HolderKey>();
  /** Lists that were looked up whole: calls of one caller name the same (wire.ts) and hold the same (rules-limits.ts). */
  readonly #known = new Set<readonly LimitRef[]>();
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
      // Every open one. Only this program writes them, so that they need not be looked up.
      reservations: new Map(),
      booked: new Map(),
      commissions: new Map(),
      codes: new Map(),
      orders: new Map(),
      trades: new Map(),
      refunds: new Map(),
      limits: noLimits(),
      periods: new Map(),
    };
    for (const row of open) this.#books.reservations.set(row.request_id, reservationBook(row));
  }

  /** The books with everything that the operations name. The rules change them in place. */
  load({ operations }: Batch): Books {
    for (const operation of operations) {
      this.#loadParties(operation.userId, operation.tokenId);
      if (isPartnerOperation(operation)) this.#loadPartners(operation);
      this.#loadCounted(operation);
      if (this.#mayBeBooked(operation)) this.#loadBooked(operation.requestId);
    }
    return this.#books;
  }

  /** What the few calls are counted in that limits bind or plans pay for. */
  #loadCounted(operation: Operation): void {
    if ("limits" in operation) this.#loadEach(limitsOf(operation), (ref) => this.#loadLimit(ref));
    if ("plans" in operation) for (const id of plansOf(operation)) this.#loadPeriod(id);
    const reservation = this.#books.reservations.get(operation.requestId);
    if (reservation === undefined) return;
    this.#loadEach(reservation.holds, (hold) => this.#loadHold(hold));
    for (const { periodId } of reservation.parts) this.#loadPeriod(periodId);
  }

  #loadEach<Ref extends LimitRef>(list: readonly Ref[], load: (ref: Ref) => void): void {
    if (list.length === 0 || this.#known.has(list)) return;
    list.forEach(load);
    this.#known.add(list);
  }

  /** Only what is not open can have been booked. */
  #mayBeBooked({ kind, requestId }: Operation): boolean {
    const { booked, reservations } = this.#books;
    if (booked.has(requestId)) return false;
    if (kind === "reserve" || kind === "settle") return !reservations.has(requestId);
    return !isOfCall({ kind });
  }

  /** Others may change rows from now on: what was read of them is read again. */
  forget(): void {
    const { users, tokens, booked, commissions, codes, orders, trades, refunds, limits, periods } =
      this.#books;
    for (const rows of [users, tokens, booked, commissions, codes, orders, trades, refunds, periods])
      rows.clear();
    limits.rules.clear();
    limits.windows.clear();
    limits.current.clear();
    this.#limited.clear();
    this.#known.clear();
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
    const { commissions, codes, booked } = this.#books;
    for (const id of furtherIdsOf(operation)) if (!booked.has(id)) this.#loadBooked(id);
    for (const userId of usersOf(operation)) {
      this.#loadParties(userId, 0);
      if (commissions.has(userId)) continue;
      const row = this.#statements.commission.get(userId) as CommissionRow | undefined;
      if (row) commissions.set(userId, commissionBook(row));
    }
    if (operation.kind === "order") this.#loadOrder(operation);
    const codeId = codeOf(operation);
    if (!codes.has(codeId)) {
      const row = this.#statements.code.get(codeId) as CodeRow | undefined;
      if (row) codes.set(codeId, codeBook(row));
    }
  }

  /** What an operation on an order names, as far as it is not among the books. */
  #loadOrder(operation: PartnerOperation): void {
    const { orders, trades, refunds } = this.#books;
    const { orderNos, instanceIds, tradeNos, refundNos } = orderKeysOf([operation]);
    // Those that orders brought since this row was read are in the table: an order is written at once.
    const periods = this.#statements.periods.all(operation.userId) as unknown as PeriodRow[];
    for (const row of periods) this.#addPeriod(row);
    for (const orderNo of orderNos.filter((name) => !orders.has(name))) {
      const row = this.#statements.order.get(orderNo) as OrderRow | undefined;
      if (row) orders.set(orderNo, orderBook(row));
    }
    for (const [index, tradeNo] of tradeNos.entries()) {
      const instanceId = instanceIds[index] ?? 0;
      if (trades.has(tradeKey(instanceId, tradeNo))) continue;
      const row = this.#statements.trade.get(instanceId, tradeNo) as { order_no: string } | undefined;
      if (row) trades.set(tradeKey(instanceId, tradeNo), row.order_no);
    }
    for (const refundNo of refundNos.filter((name) => !refunds.has(name))) {
      const row = this.#statements.refund.get(refundNo) as RefundRow | undefined;
      if (row) refunds.set(refundNo, refundBook(row));
    }
  }

  #loadPeriod(id: number): void {
    if (this.#books.periods.has(id)) return;
    const row = this.#statements.period.get(id) as PeriodRow | undefined;
    if (row) this.#addPeriod(row);
  }

  #addPeriod(row: PeriodRow): void {
    if (!this.#books.periods.has(row.id)) this.#books.periods.set(row.id, periodBook(row));
  }

  #loadLimit(ref: LimitRef): void {
    const key = holderKey(ref);
    if (this.#limited.has(key)) return;
    this.#limited.add(key);
    const { limits } = this.#books;
    const row = this.#statements.limit.get(ref.limitId) as LimitRow | undefined;
    const rule = row && limitBook(row);
    if (rule) limits.rules.set(rule.id, rule);
    const last = this.#statements.current.get(ref.limitId, ref.holder) as WindowRow | undefined;
    if (last) this.#addWindow(last);
  }

  /** The window of a hold may be over. */
  #loadHold(hold: Hold): void {
    this.#loadLimit(hold);
    if (findWindow(this.#books.limits, hold) !== undefined) return;
    const row = this.#statements.window.get(hold.limitId, hold.holder, hold.start) as WindowRow | undefined;
    if (row) this.#addWindow(row);
  }

  #addWindow(row: WindowRow): void {
    const book = windowBook(row);
    if (!this.#books.limits.windows.has(windowKey(book))) addWindow(this.#books.limits, book);
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
