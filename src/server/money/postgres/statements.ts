// The ledger's statements on PostgreSQL, and how its session plans them. Plans are kept as long as the connection is open, and statistics
// of a new or growing table are wrong for long: so every statement names its rows by `ANY` of their key, and scans of whole tables are
// refused.

import {
  LIMIT_COLUMNS,
  REPLACE_WINDOW,
  WINDOW_COLUMNS,
  WINDOW_SHEET,
} from "#server/money/limit-row-codec.ts";
import {
  EVENT_SHEET,
  EVENT_TAIL,
  ORDER_COLUMNS,
  ORDER_SHEET,
  REFUND_COLUMNS,
  REFUND_SHEET,
  REFUND_TAIL,
} from "#server/money/order-books.ts";

import {
  CODE_COLUMNS,
  CODE_SHEET,
  COMMISSION_COLUMNS,
  COMMISSION_SHEET,
  PARTNER_LEDGER_SHEET,
} from "#server/money/partner-row-codec.ts";
import {
  NEW_PERIOD_SHEET,
  PERIOD_COLUMNS,
  PERIOD_SHEET,
  PLAN_LEDGER_SHEET,
  PLANNED_SHEET,
} from "#server/money/plan-row-codec.ts";
import {
  BOOKED_COLUMNS,
  type ColumnType,
  columnNames,
  LEDGER_SHEET,
  LOG_SHEET,
  RESERVATION_COLUMNS,
  RESERVATION_SHEET,
  SEEN_SHEET,
  type Sheet,
  TOKEN_COLUMNS,
  TOKEN_SHEET,
  USER_COLUMNS,
  USER_SHEET,
} from "#server/money/row-codec.ts";
import { addToSums, ROLLUP_SHEET, SUM_SHEET } from "#server/money/sum-row-codec.ts";

/**
 * For the ledger backend's session alone, set in it, not when it connects: poolers refuse that, and options in the operator's URL
 * would win. One plan for all calls, without planning each; the rows found by index are joined with what they become by their hashes,
 * since a nested loop over two lists of a whole group is the square of it.
 */
export const SESSION_SETTINGS = [
  "SET plan_cache_mode = force_generic_plan",
  "SET enable_seqscan = off",
  "SET enable_nestloop = off",
  "SET enable_mergejoin = off",
  "SET jit = off",
].join("; ");

function array(type: ColumnType, index: number): string {
  return `$${index + 1}::${type === "text" ? "text" : "bigint"}[]`;
}

/** One parameter per column: an array of that column's values. */
function unnest(sheet: Sheet<never>): string {
  return `unnest(${sheet.columns.map(([, type], index) => array(type, index)).join(", ")})`;
}

function insertSql(sheet: Sheet<never>, tail = ""): string {
  return `INSERT INTO ${sheet.table} (${columnNames(sheet)}) SELECT * FROM ${unnest(sheet)} ${tail}`;
}

/** Its rows are named twice: with `ANY` they are found by index however they are then joined with their new values. */
function updateSql(sheet: Sheet<never>): string {
  const [[key, type] = ["", "int" as const], ...rest] = sheet.columns;
  const sets = rest.map(([name]) => `${name} = given.${name}`).join(", ");
  return `UPDATE ${sheet.table} SET ${sets} FROM ${unnest(sheet)} AS given (${columnNames(sheet)})
    WHERE ${sheet.table}.${key} = given.${key} AND ${sheet.table}.${key} = ANY(${array(type, 0)})`;
}

const SPAN = `$${LOG_SHEET.columns.length + 1}::bigint`;

export const SQL = {
  users: `SELECT ${USER_COLUMNS} FROM users WHERE id = ANY($1::bigint[]) ORDER BY id FOR NO KEY UPDATE`,
  tokens: `SELECT ${TOKEN_COLUMNS} FROM tokens WHERE id = ANY($1::bigint[]) ORDER BY id FOR NO KEY UPDATE`,
  channels: "SELECT id FROM channels WHERE id = ANY($1::bigint[]) ORDER BY id FOR NO KEY UPDATE",
  // Who holds a limit's lock is alone with its windows, those that are still to be made included.
  limits: `SELECT ${LIMIT_COLUMNS} FROM limits WHERE id = ANY($1::bigint[]) ORDER BY id FOR NO KEY UPDATE`,
  currentWindows: `SELECT ${WINDOW_COLUMNS} FROM limit_windows
    WHERE limit_id = ANY($1::bigint[]) AND holder = ANY($2::bigint[]) AND is_current = 1`,
  windows: `SELECT ${WINDOW_COLUMNS} FROM limit_windows
    WHERE limit_id = ANY($1::bigint[]) AND holder = ANY($2::bigint[]) AND start = ANY($3::bigint[])`,
  // Read after their user is locked: no other node can change them until the end.
  periods: `SELECT ${PERIOD_COLUMNS} FROM plan_periods WHERE id = ANY($1::bigint[])`,
  userPeriods: `SELECT ${PERIOD_COLUMNS} FROM plan_periods WHERE user_id = ANY($1::bigint[])`,
  reservations: `SELECT ${RESERVATION_COLUMNS} FROM reservations WHERE request_id = ANY($1::text[])`,
  booked: `SELECT ${BOOKED_COLUMNS} FROM ledger WHERE request_id = ANY($1::text[])`,
  codes: `SELECT ${CODE_COLUMNS} FROM redemptions WHERE id = ANY($1::bigint[]) ORDER BY id FOR NO KEY UPDATE`,
  // Of one merchant account one payment is brought in at a time, so that none can complete two orders.
  instances: "SELECT id FROM payment_instances WHERE id = ANY($1::bigint[]) ORDER BY id FOR NO KEY UPDATE",
  orders: `SELECT ${ORDER_COLUMNS} FROM orders WHERE order_no = ANY($1::text[]) ORDER BY id FOR NO KEY UPDATE`,
  trades: `SELECT instance_id, trade_no, order_no FROM orders WHERE instance_id = ANY($1::bigint[])
    AND trade_no = ANY($2::text[]) AND trade_no <> ''`,
  refunds: `SELECT ${REFUND_COLUMNS} FROM order_refunds WHERE refund_no = ANY($1::text[])`,
  // Read after their users are locked: no other node can change them until the end.
  commissions: `SELECT ${COMMISSION_COLUMNS} FROM users WHERE id = ANY($1::bigint[])`,
  updateUsers: updateSql(USER_SHEET),
  updateTokens: updateSql(TOKEN_SHEET),
  updateChannels: `UPDATE channels SET used_quota = used_quota + given.quota
    FROM unnest($1::bigint[], $2::bigint[]) AS given (id, quota)
    WHERE channels.id = given.id AND channels.id = ANY($1::bigint[])`,
  upsertWindows: insertSql(WINDOW_SHEET, REPLACE_WINDOW),
  insertReservations: insertSql(RESERVATION_SHEET),
  updateReservations: updateSql(SEEN_SHEET),
  updatePlanned: updateSql(PLANNED_SHEET),
  updatePeriods: updateSql(PERIOD_SHEET),
  insertPeriods: insertSql(NEW_PERIOD_SHEET),
  insertPlanLedger: insertSql(PLAN_LEDGER_SHEET),
  deleteReservations: "DELETE FROM reservations WHERE request_id = ANY($1::text[])",
  insertLedger: insertSql(LEDGER_SHEET),
  updateCommissions: updateSql(COMMISSION_SHEET),
  updateCodes: updateSql(CODE_SHEET),
  updateOrders: updateSql(ORDER_SHEET),
  upsertRefunds: insertSql(REFUND_SHEET, REFUND_TAIL),
  insertEvents: insertSql(EVENT_SHEET, EVENT_TAIL),
  insertPartnerLedger: insertSql(PARTNER_LEDGER_SHEET),
  // Rows that all users share: always in the same order, so that nodes wait for each other and do not deadlock.
  upsertSums: insertSql(SUM_SHEET, `ORDER BY 1, 2, 3 ${addToSums(SUM_SHEET)}`),
  upsertRollups: insertSql(ROLLUP_SHEET, addToSums(ROLLUP_SHEET)),
  insertLogs: `WITH written AS (${insertSql(LOG_SHEET, "RETURNING id")})
    INSERT INTO log_spans (span, first_id, last_id) SELECT ${SPAN}, min(id), max(id) FROM written
    ON CONFLICT (span) DO UPDATE SET first_id = least(log_spans.first_id, excluded.first_id),
      last_id = greatest(log_spans.last_id, excluded.last_id)`,
} as const;
