// Orders and what was heard about them. What brings or takes quota is written by `money` only; every change of state here is conditional.
import { type Insertable, type Selectable, sql } from "kysely";
import { changesOne } from "./change.ts";
import type { Db } from "./db.ts";
import {
  bounds,
  countRows,
  type Made,
  madeBetween,
  type Page,
  pageOf,
  type SortedPage,
  totalOf,
} from "./page.ts";
import type { OrderStatus, OrdersTable, PaymentEventsTable } from "./tables-payments.ts";

export type OrderRow = Selectable<OrdersTable>;
export type EventRow = Selectable<PaymentEventsTable>;
export type NewOrder = Insertable<OrdersTable>;

export async function insertOrder(db: Db, order: NewOrder): Promise<void> {
  await db.insertInto("orders").values(order).execute();
}

/** The same for an order whose number follows from what it is for: one that stands already stays as it is. */
export async function insertOrderOnce(db: Db, order: NewOrder): Promise<void> {
  await db
    .insertInto("orders")
    .values(order)
    .onConflict((conflict) => conflict.column("order_no").doNothing())
    .execute();
}

export function findOrder(db: Db, orderNo: string): Promise<OrderRow | undefined> {
  return db.selectFrom("orders").selectAll().where("order_no", "=", orderNo).executeTakeFirst();
}

/** The order that an instance knows by its payment; for notices that name no order number. */
export function findOrderByTrade(db: Db, instanceId: number, tradeNo: string): Promise<OrderRow | undefined> {
  return db
    .selectFrom("orders")
    .selectAll()
    .where("instance_id", "=", instanceId)
    .where("trade_no", "=", tradeNo)
    .where("trade_no", "<>", "")
    .executeTakeFirst();
}

/** Orders of an account that were paid for in a span, oldest first. Unit: seconds. */
export function listPaidOrders(
  db: Db,
  instanceId: number,
  { fromSec, beforeSec }: { readonly fromSec: number; readonly beforeSec: number },
): Promise<OrderRow[]> {
  return db
    .selectFrom("orders")
    .selectAll()
    .where("instance_id", "=", instanceId)
    .where("trade_no", "<>", "")
    .where("paid_at", ">=", fromSec)
    .where("paid_at", "<", beforeSec)
    .orderBy("id")
    .execute();
}

const OPEN: readonly OrderStatus[] = ["created", "pending"];

/** Orders of a user that wait for a payment, newest first. */
export function listOpenOrders(db: Db, userId: number): Promise<OrderRow[]> {
  return db
    .selectFrom("orders")
    .selectAll()
    .where("user_id", "=", userId)
    .where("status", "in", OPEN)
    .orderBy("id", "desc")
    .execute();
}

/** What the orders of plans of a user sell that were paid, or can be paid still; one that ended waits for the provider's word alone. */
export async function listSales(db: Db, userId: number, nowSec: number): Promise<string[]> {
  const rows = await db
    .selectFrom("orders")
    .select("plan_sale")
    .where("user_id", "=", userId)
    .where("plan_sale", "!=", "")
    .where("status", "!=", "closed")
    .where((where) => where.or([where("status", "not in", OPEN), where("expires_at", ">", nowSec)]))
    .execute();
  return rows.map(({ plan_sale }) => plan_sale);
}

export interface OrderFilter extends Made {
  /** 0 = of any user. */
  readonly userId?: number;
  readonly instanceId?: number;
  readonly status?: string;
  /** Only those a person has to look at. */
  readonly isInReview?: boolean;
  /** Order number or the provider's number, whole. */
  readonly keyword?: string;
}

function filtered(db: Db, filter: OrderFilter) {
  let query = madeBetween(db.selectFrom("orders"), "created_at", filter);
  if (filter.userId) query = query.where("user_id", "=", filter.userId);
  if (filter.instanceId) query = query.where("instance_id", "=", filter.instanceId);
  // A text that is no status finds nothing.
  if (filter.status) query = query.where("status", "=", filter.status as OrderStatus);
  if (filter.isInReview) query = query.where("review", "<>", "");
  const { keyword } = filter;
  if (keyword)
    query = query.where((where) =>
      where.or([
        where("order_no", "=", keyword),
        // Along orders_trade, which knows a number by its account.
        where.and([
          where("instance_id", "in", db.selectFrom("payment_instances").select("id")),
          where("trade_no", "=", keyword),
          where("trade_no", "<>", ""),
        ]),
      ]),
    );
  return query;
}

/** Columns a list of orders can be sorted by. */
const SORT_COLUMNS = [
  "user_id",
  "amount_minor",
  "quota",
  "created_at",
] as const satisfies readonly (keyof OrderRow)[];

/** A page of orders, newest first unless sorted otherwise. */
export function listOrders(db: Db, filter: OrderFilter, page: SortedPage): Promise<OrderRow[]> {
  const isOfSpan = (filter.start ?? 0) > 0 || (filter.end ?? 0) > 0;
  // What a span of time holds is read along the time, or all of it would be sorted for a page.
  const place =
    isOfSpan && page.before === undefined && !SORT_COLUMNS.some((column) => column === page.order)
      ? { ...page, order: "created_at", desc: true }
      : page;
  return pageOf(filtered(db, filter).selectAll(), place, SORT_COLUMNS).execute();
}

export async function countOrders(db: Db, filter: OrderFilter): Promise<number> {
  const bound = await withoutIdleBounds(db, filter);
  return totalOf(db, `orders ${JSON.stringify(bound)}`, () => countRows(filtered(db, bound)));
}

/** Bounds that every order is inside of take nothing away: what is kept of the total without them is told. */
async function withoutIdleBounds(
  db: Db,
  { start = 0, end = 0, ...others }: OrderFilter,
): Promise<OrderFilter> {
  if (start === 0 && end === 0) return others;
  const [oldest, newest] = await Promise.all([madeFirst(db, "asc"), madeFirst(db, "desc")]);
  return { ...others, ...(start > oldest && { start }), ...(end > 0 && end < newest && { end }) };
}

/** When the oldest or newest order was made, along the index of it; 0 = there is none. */
async function madeFirst(db: Db, direction: "asc" | "desc"): Promise<number> {
  const row = await db
    .selectFrom("orders")
    .select("created_at")
    .orderBy("created_at", direction)
    .limit(1)
    .executeTakeFirst();
  return row?.created_at ?? 0;
}

/** What the provider answered to a new order. An order that was paid or closed meanwhile stays so. */
export async function setPending(db: Db, orderNo: string, providerRef: string): Promise<void> {
  await db
    .updateTable("orders")
    .set({
      status: sql`CASE WHEN status = 'created' THEN 'pending' ELSE status END`,
      provider_ref: providerRef,
    })
    .where("order_no", "=", orderNo)
    .execute();
}

/** Closes an order that waits. Returns whether it did. */
export function closeOrder(
  db: Db,
  orderNo: string,
  { nowSec, nextCheck }: { nowSec: number; nextCheck: number },
): Promise<boolean> {
  return changesOne(
    db
      .updateTable("orders")
      .set({ status: "closed", closed_at: nowSec, next_check: nextCheck, checks: 0 })
      .where("order_no", "=", orderNo)
      .where("status", "in", OPEN),
  );
}

/** Takes the right to ask the provider about an order: once per `everySec`, of all processes. */
export function takeQuestion(
  db: Db,
  orderNo: string,
  { nowSec, everySec }: { nowSec: number; everySec: number },
): Promise<boolean> {
  return changesOne(
    db
      .updateTable("orders")
      .set({ asked_at: nowSec })
      .where("order_no", "=", orderNo)
      .where((where) =>
        where.or([where("asked_at", "<=", nowSec - everySec), where("asked_at", ">", nowSec)]),
      ),
  );
}

/** When an order is asked about next; 0 = never. One that was paid meanwhile is not. */
export async function scheduleCheck(
  db: Db,
  orderNo: string,
  { nextCheck, checks }: { nextCheck: number; checks: number },
): Promise<void> {
  await db
    .updateTable("orders")
    .set({ next_check: nextCheck, checks })
    .where("order_no", "=", orderNo)
    .where("status", "not in", ["credited", "paid"])
    .execute();
}

/** Ends what a person had to look at. */
export async function clearReview(db: Db, orderNo: string): Promise<void> {
  await db.updateTable("orders").set({ review: "" }).where("order_no", "=", orderNo).execute();
}

/** Writes to the history; what is known under this key already is not written again. Returns whether it was new. */
export async function insertEvent(db: Db, event: Insertable<PaymentEventsTable>): Promise<boolean> {
  const result = await db
    .insertInto("payment_events")
    .values(event)
    .onConflict((conflict) => conflict.columns(["instance_id", "event_key"]).doNothing())
    .executeTakeFirst();
  return (result.numInsertedOrUpdatedRows ?? 0n) > 0n;
}

/** What was decided about the event of a key; undefined = there is none. */
export async function verdictOf(db: Db, instanceId: number, eventKey: string): Promise<string | undefined> {
  const row = await db
    .selectFrom("payment_events")
    .select("verdict")
    .where("instance_id", "=", instanceId)
    .where("event_key", "=", eventKey)
    .executeTakeFirst();
  return row?.verdict;
}

export function listEvents(db: Db, orderNo: string): Promise<EventRow[]> {
  return db
    .selectFrom("payment_events")
    .selectAll()
    .where("order_no", "=", orderNo)
    .orderBy("id")
    .limit(200)
    .execute();
}

/** What a person has to look at and has not, oldest first. */
export function listOpenEvents(db: Db, page: Page): Promise<EventRow[]> {
  const { limit, offset } = bounds(page);
  return db
    .selectFrom("payment_events")
    .selectAll()
    .where("is_open", "=", 1)
    .orderBy("id")
    .limit(limit)
    .offset(offset)
    .execute();
}

export async function countOpenEvents(db: Db): Promise<number> {
  const row = await db
    .selectFrom("payment_events")
    .where("is_open", "=", 1)
    .select(sql<number>`count(*)`.as("total"))
    .executeTakeFirstOrThrow();
  return row.total;
}

export function findEvent(db: Db, id: number): Promise<EventRow | undefined> {
  return db.selectFrom("payment_events").selectAll().where("id", "=", id).executeTakeFirst();
}

/** The verdict of a payment vouched for by an administrator that waits for another one (requirements Y39). */
export const AWAITS_SECOND = "awaits_second";

/** An administrator has looked. What waits for another one is settled by its id alone. Returns whether it was still open. */
export async function settleEvents(db: Db, which: { id: number } | { orderNo: string }): Promise<boolean> {
  const query = db.updateTable("payment_events").set({ is_open: 0 }).where("is_open", "=", 1);
  const chosen =
    "id" in which
      ? query.where("id", "=", which.id)
      : query.where("order_no", "=", which.orderNo).where("verdict", "<>", AWAITS_SECOND);
  return (await chosen.executeTakeFirst()).numUpdatedRows > 0n;
}

/** Forgets raw bodies that are older than this. Returns how many. */
export async function forgetBodies(db: Db, beforeSec: number): Promise<number> {
  const result = await db
    .updateTable("payment_events")
    .set({ body_sealed: "" })
    .where("body_sealed", "<>", "")
    .where("created_at", "<", beforeSec)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}
