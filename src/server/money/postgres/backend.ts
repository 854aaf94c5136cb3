// The ledger backend for PostgreSQL: each group is one transaction on a connection of its own, two round trips. Rows are locked in
// the order users, tokens, channels, limits, redemption codes, merchant accounts, orders, each by id, so that groups of several nodes cannot
// deadlock; a node that holds a user's lock is alone with that user's reservations and ledger entries.
import type { Client } from "pg";
import type { LedgerBackend } from "#server/money/backend.ts";
import {
  type LimitRow,
  limitBook,
  limitsOf,
  plansOf,
  WINDOW_SHEET,
  type WindowRow,
  windowBook,
} from "#server/money/limit-row-codec.ts";
import type { Batch, Outcome } from "#server/money/operations.ts";
import {
  EVENT_SHEET,
  ORDER_SHEET,
  type OrderRow,
  orderBook,
  REFUND_SHEET,
  type RefundRow,
  refundBook,
} from "#server/money/order-books.ts";
import { tradeKey } from "#server/money/order-rows.ts";
import {
  CODE_SHEET,
  COMMISSION_SHEET,
  type CodeRow,
  type CommissionRow,
  codeBook,
  codeOf,
  commissionBook,
  furtherIdsOf,
  orderKeysOf,
  PARTNER_LEDGER_SHEET,
  usersOf,
} from "#server/money/partner-row-codec.ts";
import {
  NEW_PERIOD_SHEET,
  PERIOD_SHEET,
  type PeriodRow,
  PLAN_LEDGER_SHEET,
  PLANNED_SHEET,
  periodBook,
} from "#server/money/plan-row-codec.ts";
import {
  type BookedRow,
  bookedEntry,
  LEDGER_SHEET,
  LOG_SHEET,
  RESERVATION_SHEET,
  type ReservationRow,
  reservationBook,
  SEEN_SHEET,
  type Sheet,
  TOKEN_SHEET,
  type TokenRow,
  tokenBook,
  toNumber,
  USER_SHEET,
  type UserRow,
  userBook,
} from "#server/money/row-codec.ts";
import {
  addWindow,
  type Books,
  type Changes,
  type LimitBooks,
  noLimits,
  type Reservation,
  windowKey,
} from "#server/money/rows.ts";
import { applyOperations, isPartnerOperation } from "#server/money/rules.ts";
import { rollupRows, sumsOf } from "#server/money/rules-sums.ts";
import { ROLLUP_SHEET, SUM_SHEET } from "#server/money/sum-row-codec.ts";
import type { PostgresStore } from "#server/store/db.ts";
import { StoreError } from "#server/store/fault.ts";
import { spanOf } from "#server/store/span.ts";
import { createLiveness, type Liveness } from "./liveness.ts";
import { SESSION_SETTINGS, SQL } from "./statements.ts";

export function createPostgresBackend(store: PostgresStore, node: string): LedgerBackend {
  const liveness = createLiveness(store, node);
  const connection = new LedgerConnection(store, liveness);
  return {
    async run(batch, tell) {
      const outcomes = await connection.run(batch);
      for (const [index, outcome] of outcomes.entries()) tell(index, outcome);
    },
    async renewLease(_, leaseSec) {
      await connection.hold();
      await liveness.renewLease(leaseSec);
    },
    dropLease: () => liveness.dropLease(),
    expireLeases: () => liveness.expireLeases(),
    close: () => connection.close(),
  };
}

type Send = <Row>(name: keyof typeof SQL, values: readonly unknown[]) => Promise<Row[]>;

/** How soon a lost connection is made anew, so that no other node takes this process for dead. */
const RECONNECT_MS = 250;

/**
 * The ledger backend's own connection: statements go out without waiting for each other's answers. It holds the lock that says that
 * this process is alive: a process that cannot reach the database through it can book nothing, and the other way round.
 */
class LedgerConnection {
  readonly #store: PostgresStore;
  readonly #liveness: Liveness;
  #client: Client | undefined;
  #connecting: Promise<Client> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Whether the process has a lease, and so must show that it is alive. */
  #isHeld = false;
  #isClosed = false;

  constructor(store: PostgresStore, liveness: Liveness) {
    this.#store = store;
    this.#liveness = liveness;
  }

  /** Connects, and from now on again whenever the connection is lost. */
  async hold(): Promise<void> {
    this.#isHeld = true;
    await this.#ready();
  }

  async run(batch: Batch): Promise<readonly Outcome[]> {
    const client = await this.#ready();
    const send: Send = async (name, values) => {
      const result = await client.query({ name: `ledger_${name}`, text: SQL[name], values: [...values] });
      return result.rows;
    };
    try {
      const begun = client.query("BEGIN");
      const [books] = await Promise.all([load(send, batch), begun]);
      const { outcomes, changes } = applyOperations(books, batch);
      const stored = writesOf(changes, batch.nowSec).map(([name, values]) => send(name, values));
      const [ended] = await Promise.all([client.query("COMMIT"), ...stored]);
      // A transaction that failed answers COMMIT with ROLLBACK.
      if (ended.command !== "COMMIT") throw new StoreError("busy", "the transaction was undone");
      return outcomes;
    } catch (error) {
      await this.#undo(client);
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const client = this.#client ?? (await this.#connecting?.catch(() => undefined));
    await client?.end();
  }

  #ready(): Promise<Client> {
    if (this.#client) return Promise.resolve(this.#client);
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #connect(): Promise<Client> {
    const client = this.#store.createClient("tollgate ledger");
    let isLost = false;
    const lose = () => {
      isLost = true;
      this.#forget(client);
    };
    client.on("error", lose).on("end", lose);
    await client.connect();
    try {
      await client.query(SESSION_SETTINGS);
      await this.#liveness.lock(client);
      // The lease went over another connection: meanwhile this one may have ended, and its lock with it.
      if (isLost) throw new StoreError("lost", "the ledger's connection was lost as it began");
    } catch (error) {
      void client.end().catch(() => undefined);
      throw error;
    }
    this.#client = client;
    return client;
  }

  #forget(client: Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#liveness.doubtSightings();
    this.#reconnect();
  }

  #reconnect(): void {
    if (!this.#isHeld || this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#ready().catch(() => this.#reconnect());
    }, RECONNECT_MS).unref();
  }

  /** Leaves no transaction open; a connection that cannot even do that is thrown away. */
  async #undo(client: Client): Promise<void> {
    try {
      await client.query("ROLLBACK");
    } catch {
      this.#forget(client);
      void client.end().catch(() => undefined);
    }
  }
}

function sorted(ids: Iterable<number>): number[] {
  return [...new Set(ids)].filter((id) => id !== 0).sort((a, b) => a - b);
}

/** The channel an operation may book on. */
function channelOf(operation: Batch["operations"][number]): number {
  return operation.kind === "settle" || operation.kind === "recover" ? operation.channelId : 0;
}

/** Locks and reads in one round trip: each statement sees what was committed before it got its locks. */
async function load(send: Send, { operations }: Batch): Promise<Books> {
  const requestIds = [...new Set(operations.map((operation) => operation.requestId))];
  const partners = operations.filter(isPartnerOperation);
  const partnerIds = sorted(partners.flatMap(usersOf));
  const tokenIds = sorted(operations.map((operation) => operation.tokenId));
  const channelIds = sorted(operations.map(channelOf));
  const orderKeys = orderKeysOf(operations);
  const periodIds = sorted(operations.flatMap(plansOf));
  const [users, tokens, , limits, reservations, booked, codes, commissions, payments, named] =
    await Promise.all([
      send<UserRow>("users", [sorted([...operations.map((operation) => operation.userId), ...partnerIds])]),
      tokenIds.length > 0 ? send<TokenRow>("tokens", [tokenIds]) : [],
      channelIds.length > 0 ? send("channels", [channelIds]) : [],
      loadLimits(send, operations),
      send<ReservationRow>("reservations", [requestIds]),
      send<BookedRow>("booked", [[...requestIds, ...partners.flatMap(furtherIdsOf)]]),
      partners.length === 0 ? [] : send<CodeRow>("codes", [sorted(partners.map(codeOf))]),
      partners.length === 0 ? [] : send<CommissionRow>("commissions", [partnerIds]),
      orderKeys.orderNos.length === 0 ? noOrders() : loadOrders(send, orderKeys),
      periodIds.length === 0 ? [] : send<PeriodRow>("periods", [periodIds]),
    ]);
  const open = reservations.map(reservationBook);
  await loadHolds(send, limits, open);
  return {
    users: new Map(users.map((row) => [row.id, userBook(row)])),
    tokens: new Map(tokens.map((row) => [row.id, tokenBook(row)])),
    reservations: new Map(open.map((held) => [held.requestId, held])),
    booked: new Map(booked.map((row) => [row.request_id ?? "", bookedEntry(row)])),
    commissions: new Map(commissions.map((row) => [row.id, commissionBook(row)])),
    codes: new Map(codes.map((row) => [row.id, codeBook(row)])),
    ...payments,
    limits,
    periods: new Map([...named, ...payments.periods].map((row) => [row.id, periodBook(row)])),
  };
}

type OrderBooks = Pick<Books, "orders" | "trades" | "refunds"> & { readonly periods: readonly PeriodRow[] };
const noOrders = (): OrderBooks => ({
  orders: new Map(),
  trades: new Map(),
  refunds: new Map(),
  periods: [],
});

async function loadOrders(send: Send, keys: ReturnType<typeof orderKeysOf>): Promise<OrderBooks> {
  const instanceIds = sorted(keys.instanceIds);
  const [, orders, trades, refunds, periods] = await Promise.all([
    send("instances", [instanceIds]),
    send<OrderRow>("orders", [keys.orderNos]),
    send<{ instance_id: number; trade_no: string; order_no: string }>("trades", [instanceIds, keys.tradeNos]),
    send<RefundRow>("refunds", [keys.refundNos]),
    send<PeriodRow>("userPeriods", [sorted(keys.userIds)]),
  ]);
  return {
    orders: new Map(orders.map((row) => [row.order_no, orderBook(row)])),
    trades: new Map(trades.map((row) => [tradeKey(row.instance_id, row.trade_no), row.order_no])),
    refunds: new Map(refunds.map((row) => [row.refund_no, refundBook(row)])),
    periods,
  };
}

/** The limits that calls are counted in, locked, and their newest windows. */
async function loadLimits(send: Send, operations: Batch["operations"]): Promise<LimitBooks> {
  const limits = noLimits();
  const refs = operations.flatMap(limitsOf);
  if (refs.length === 0) return limits;
  const ids = sorted(refs.map(({ limitId }) => limitId));
  const holders = [...new Set(refs.map(({ holder }) => holder))];
  const [rules, windows] = await Promise.all([
    send<LimitRow>("limits", [ids]),
    send<WindowRow>("currentWindows", [ids, holders]),
  ]);
  for (const rule of rules.map(limitBook)) if (rule) limits.rules.set(rule.id, rule);
  for (const window of windows) addWindow(limits, windowBook(window));
  return limits;
}

/** The windows that open calls were reserved in and that are over: seldom any. */
async function loadHolds(send: Send, limits: LimitBooks, open: readonly Reservation[]): Promise<void> {
  const holds = open.flatMap(({ holds }) => holds).filter((hold) => !limits.windows.has(windowKey(hold)));
  if (holds.length === 0) return;
  const ids = sorted(holds.map(({ limitId }) => limitId));
  // Locked already, unless who closes the call is not who reserved it.
  const [, rows] = await Promise.all([
    send("limits", [ids]),
    send<WindowRow>("windows", [
      ids,
      [...new Set(holds.map(({ holder }) => holder))],
      [...new Set(holds.map(({ start }) => start))],
    ]),
  ]);
  for (const row of rows) {
    const book = windowBook(row);
    if (!limits.windows.has(windowKey(book))) addWindow(limits, book);
  }
}

type Statement = readonly [name: keyof typeof SQL, values: readonly unknown[]];

/** The writes that there are, in the order of locking. Throws before anything is sent. */
function writesOf(changes: Changes, nowSec: number): Statement[] {
  const writes: Statement[] = [];
  const add = <Item>(
    name: keyof typeof SQL,
    sheet: Sheet<Item>,
    items: Iterable<Item>,
    more: unknown[] = [],
  ) => {
    const rows = Array.from(items, (item) => sheet.values(item));
    if (rows.length === 0) return;
    writes.push([name, [...sheet.columns.map((_, index) => rows.map((row) => row[index])), ...more]]);
  };
  add("updateUsers", USER_SHEET, changes.users);
  add("updateTokens", TOKEN_SHEET, changes.tokens);
  if (changes.channels.size > 0) {
    writes.push([
      "updateChannels",
      [[...changes.channels.keys()], Array.from(changes.channels.values(), toNumber)],
    ]);
  }
  add("upsertWindows", WINDOW_SHEET, changes.windows);
  add("insertReservations", RESERVATION_SHEET, changes.inserted);
  add("updateReservations", SEEN_SHEET, changes.updated);
  add("updatePlanned", PLANNED_SHEET, changes.planned);
  add("updatePeriods", PERIOD_SHEET, changes.periods);
  add("insertPeriods", NEW_PERIOD_SHEET, changes.newPeriods);
  add("insertPlanLedger", PLAN_LEDGER_SHEET, changes.planLedger);
  if (changes.deleted.size > 0) {
    writes.push(["deleteReservations", [Array.from(changes.deleted, (held) => held.requestId)]]);
  }
  add("insertLedger", LEDGER_SHEET, changes.ledger);
  add("updateCommissions", COMMISSION_SHEET, changes.commissions);
  add("updateCodes", CODE_SHEET, changes.codes);
  add("updateOrders", ORDER_SHEET, changes.orders);
  add("upsertRefunds", REFUND_SHEET, changes.refunds);
  add("insertEvents", EVENT_SHEET, changes.orderEvents);
  add("insertPartnerLedger", PARTNER_LEDGER_SHEET, changes.partnerLedger);
  add("upsertSums", SUM_SHEET, sumsOf(changes.rollups.values()));
  add("upsertRollups", ROLLUP_SHEET, rollupRows(changes.rollups.values()));
  add("insertLogs", LOG_SHEET, changes.logs, [spanOf(nowSec)]);
  return writes;
}
