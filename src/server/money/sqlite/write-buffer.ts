// What groups changed, gathered until it is written to the tables in one go (docs/decisions/025): balances once, entries of ledger
// and log in bulk, and of reservations only those that are still open.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { REPLACE_WINDOW, WINDOW_SHEET } from "#server/money/limit-row-codec.ts";
import {
  EVENT_SHEET,
  EVENT_TAIL,
  ORDER_SHEET,
  REFUND_SHEET,
  REFUND_TAIL,
} from "#server/money/order-books.ts";

import { CODE_SHEET, COMMISSION_SHEET, PARTNER_LEDGER_SHEET } from "#server/money/partner-row-codec.ts";
import {
  NEW_PERIOD_SHEET,
  PERIOD_SHEET,
  PLAN_LEDGER_SHEET,
  PLANNED_SHEET,
} from "#server/money/plan-row-codec.ts";
import {
  LEDGER_SHEET,
  LOG_SHEET,
  RESERVATION_SHEET,
  SEEN_SHEET,
  type Sheet,
  TOKEN_SHEET,
  USER_SHEET,
} from "#server/money/row-codec.ts";
import {
  type Changes,
  type LedgerEntry,
  noChanges,
  type PartnerEntry,
  type PlanEntry,
  type Reservation,
} from "#server/money/rows.ts";
import { addRollups, sumsOf } from "#server/money/rules-sums.ts";
import { addToSums, ROLLUP_SHEET, SUM_SHEET } from "#server/money/sum-row-codec.ts";
import type { NewLog } from "#server/store/logs.ts";
import { spanOf } from "#server/store/span.ts";
import { insertSql, Rows, rowOf, updateSql } from "./insert.ts";

const SQL = {
  updateUser: updateSql(USER_SHEET),
  updateToken: updateSql(TOKEN_SHEET),
  updateChannel: "UPDATE channels SET used_quota = used_quota + ? WHERE id = ?",
  updateReservation: updateSql(SEEN_SHEET),
  deleteReservation: "DELETE FROM reservations WHERE request_id = ?",
  updateCommission: updateSql(COMMISSION_SHEET),
  updateCode: updateSql(CODE_SHEET),
  updateOrder: updateSql(ORDER_SHEET),
  upsertRefund: insertSql(REFUND_SHEET, { tail: REFUND_TAIL }),
  insertEvent: insertSql(EVENT_SHEET, { tail: EVENT_TAIL }),
  updatePeriod: updateSql(PERIOD_SHEET),
  insertPeriod: insertSql(NEW_PERIOD_SHEET),
  updatePlanned: updateSql(PLANNED_SHEET),
  upsertWindow: insertSql(WINDOW_SHEET, { tail: REPLACE_WINDOW }),
  upsertSum: insertSql(SUM_SHEET, { tail: addToSums(SUM_SHEET) }),
  upsertRollup: insertSql(ROLLUP_SHEET, { tail: addToSums(ROLLUP_SHEET) }),
  lastId: "SELECT last_insert_rowid() AS id",
  upsertSpan: `INSERT INTO log_spans (span, first_id, last_id) VALUES (?, ?, ?) ON CONFLICT (span) DO UPDATE SET
    first_id = min(first_id, excluded.first_id), last_id = max(last_id, excluded.last_id)`,
} as const;

export class WriteBuffer {
  readonly #statements: Record<keyof typeof SQL, StatementSync>;
  readonly #reservations: Rows<Reservation>;
  readonly #ledger: Rows<LedgerEntry>;
  readonly #partnerLedger: Rows<PartnerEntry>;
  readonly #planLedger: Rows<PlanEntry>;
  readonly #logs: Rows<NewLog>;
  /** Of the rows of the log, in their order: how many of each span follow each other. */
  #logSpans: { readonly span: number; count: number }[] = [];
  #changes = noChanges();

  constructor(database: DatabaseSync) {
    const entries = Object.entries(SQL).map(([name, sql]) => [name, database.prepare(sql)] as const);
    // The names are those of SQL.
    this.#statements = Object.fromEntries(entries) as Record<keyof typeof SQL, StatementSync>;
    this.#reservations = new Rows(database, RESERVATION_SHEET);
    this.#ledger = new Rows(database, LEDGER_SHEET);
    this.#partnerLedger = new Rows(database, PARTNER_LEDGER_SHEET);
    this.#planLedger = new Rows(database, PLAN_LEDGER_SHEET);
    this.#logs = new Rows(database, LOG_SHEET);
  }

  /** Entries of the ledger that are not in its table yet. */
  get entries(): number {
    return this.#ledger.count + this.#planLedger.count;
  }

  /** Adds what a group changed. Throws what storing it would: RangeError, TypeError. */
  add(group: Changes): void {
    const all = this.#changes;
    addAll(all.users, group.users, USER_SHEET);
    addAll(all.tokens, group.tokens, TOKEN_SHEET);
    addAll(all.commissions, group.commissions, COMMISSION_SHEET);
    addAll(all.codes, group.codes, CODE_SHEET);
    addAll(all.orders, group.orders, ORDER_SHEET);
    addAll(all.refunds, group.refunds, REFUND_SHEET);
    all.orderEvents.push(...group.orderEvents);
    addAll(all.windows, group.windows, WINDOW_SHEET);
    addAll(all.inserted, group.inserted, RESERVATION_SHEET);
    addAll(all.updated, group.updated, SEEN_SHEET);
    addAll(all.periods, group.periods, PERIOD_SHEET);
    addAll(all.planned, group.planned, PLANNED_SHEET);
    all.newPeriods.push(...group.newPeriods);
    for (const closed of group.deleted) {
      all.updated.delete(closed);
      all.planned.delete(closed);
      // One that was never written need not be removed.
      if (!all.inserted.delete(closed)) all.deleted.add(closed);
    }
    for (const [id, quota] of group.channels) all.channels.set(id, (all.channels.get(id) ?? 0n) + quota);
    addRollups(all.rollups, group.rollups);
    for (const entry of group.ledger) {
      if (entry.kind === "consume" && entry.amount > 0n) throw new RangeError("a call cannot bring quota");
      this.#ledger.add(entry);
    }
    for (const entry of group.planLedger) this.#planLedger.add(entry);
    for (const entry of group.partnerLedger) this.#partnerLedger.add(entry);
    for (const log of group.logs) this.#addLog(log);
  }

  #addLog(log: NewLog): void {
    this.#logs.add(log);
    const span = spanOf(log.created_at);
    const last = this.#logSpans.at(-1);
    if (last?.span === span) last.count += 1;
    else this.#logSpans.push({ span, count: 1 });
  }

  /** Writes everything. Runs inside a transaction; when that fails this object is of no use any more. */
  store(): void {
    const { users, tokens, windows, channels, inserted, updated, deleted } = this.#changes;
    const { commissions, codes, rollups } = this.#changes;
    const { updateUser, updateToken, updateChannel, updateReservation, deleteReservation } = this.#statements;
    const { updateCommission, updateCode, upsertWindow, upsertSum, upsertRollup } = this.#statements;
    write(updateUser, USER_SHEET, users);
    write(updateToken, TOKEN_SHEET, tokens);
    for (const [id, quota] of channels) updateChannel.get(quota, id);
    write(upsertWindow, WINDOW_SHEET, windows);
    // An id that was given back may be set aside again.
    for (const { requestId } of deleted) deleteReservation.get(requestId);
    for (const reservation of inserted) this.#reservations.add(reservation);
    this.#reservations.store();
    write(updateReservation, SEEN_SHEET, updated);
    this.#storePlans();
    this.#ledger.store();
    write(updateCommission, COMMISSION_SHEET, commissions);
    write(updateCode, CODE_SHEET, codes);
    this.#storeOrders();
    this.#partnerLedger.store();
    this.#storeLogs();
    write(upsertSum, SUM_SHEET, sumsOf(rollups.values()));
    write(upsertRollup, ROLLUP_SHEET, rollups.values());
    this.#changes = noChanges();
  }

  #storePlans(): void {
    const { periods, newPeriods, planned } = this.#changes;
    write(this.#statements.updatePeriod, PERIOD_SHEET, periods);
    write(this.#statements.insertPeriod, NEW_PERIOD_SHEET, newPeriods);
    write(this.#statements.updatePlanned, PLANNED_SHEET, planned);
    this.#planLedger.store();
  }

  #storeOrders(): void {
    const { orders, refunds, orderEvents } = this.#changes;
    write(this.#statements.updateOrder, ORDER_SHEET, orders);
    write(this.#statements.upsertRefund, REFUND_SHEET, refunds);
    write(this.#statements.insertEvent, EVENT_SHEET, orderEvents);
  }

  #storeLogs(): void {
    const { count } = this.#logs;
    if (count === 0) return;
    this.#logs.store();
    const { lastId, upsertSpan } = this.#statements;
    // Rows are numbered in their order and without gaps, since there is no other writer.
    let firstId = Number(lastId.get()?.["id"]) - count + 1;
    for (const part of this.#logSpans) {
      upsertSpan.get(part.span, firstId, firstId + part.count - 1);
      firstId += part.count;
    }
    this.#logSpans = [];
  }
}

/** Adds items whose values fit their columns. What they hold when they are written is as they were last seen here. */
function addAll<Item>(all: Set<Item>, items: Iterable<Item>, sheet: Sheet<Item>): void {
  for (const item of items) {
    rowOf(sheet, item);
    all.add(item);
  }
}

// `get` makes no answer of a statement that has none; `run` builds an object for each.
function write<Item>(statement: StatementSync, sheet: Sheet<Item>, items: Iterable<Item>): void {
  for (const item of items) statement.get(...sheet.values(item));
}
