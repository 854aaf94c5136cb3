// Orders against the ledger, and what each merchant account brought by them (requirements E15, Y64): kept by thousands of orders, so that a look
// reads those alone in which something was heard of since the look before. The first look of a process and one a day read all. Reads only.
import { sql } from "kysely";
import type { Db } from "#server/store/db.ts";
import type { Mismatch } from "./rows.ts";

/** Orders that are read by one statement. */
const BLOCK = 1_000;
/** On PostgreSQL an event may become visible after so many with a higher id: far more than transactions that run at once. */
const LATE_EVENTS = 1_000;

/** What was paid to an account and went back, minor units. */
export interface OrderSums {
  readonly instance_id: number;
  readonly orders: number;
  readonly paid_minor: number;
  readonly refunded_minor: number;
  readonly disputed_minor: number;
}

interface Block {
  readonly mismatches: readonly Mismatch[];
  readonly sums: readonly OrderSums[];
}

interface Seen {
  /** By their place: orders 0 to 999, 1,000 to 1,999 and so on. */
  readonly blocks: readonly Block[];
  /** The events up to this one are in them. */
  readonly eventId: number;
}

const looks = new WeakMap<Db, Seen>();

/** Looks at orders that changed, or at all of them. A block that differs is looked at again each time. */
export async function lookAtOrders(db: Db, basis: "entries" | "sums"): Promise<Block> {
  const before = basis === "sums" ? looks.get(db) : undefined;
  // First: what happens while blocks are read is read again by the next look.
  const newest = await newestIds(db);
  const changed = before ? await changedSince(db, before) : new Set<number>();
  const blocks: Block[] = [];
  for (let place = 0; place <= newest.order / BLOCK; place++) {
    const known = before?.blocks[place];
    const isLast = place + 1 >= (before?.blocks.length ?? 0);
    const isKept = known && known.mismatches.length === 0 && !isLast && !changed.has(place);
    blocks.push(isKept ? known : await readBlock(db, place * BLOCK));
  }
  looks.set(db, { blocks, eventId: newest.event });
  return { mismatches: blocks.flatMap(({ mismatches }) => mismatches), sums: summed(blocks) };
}

/** The next look reads all of them again. */
export function forgetOrders(db: Db): void {
  looks.delete(db);
}

async function newestIds(db: Db): Promise<{ order: number; event: number }> {
  const { rows } = await sql<{ order: number; event: number }>`SELECT
    (SELECT coalesce(max(id), 0) FROM orders) AS "order", (SELECT coalesce(max(id), 0) FROM payment_events) AS event`.execute(
    db,
  );
  return rows[0] ?? { order: 0, event: 0 };
}

/** The places of blocks: what changes an order writes an event of it, in the same transaction. */
async function changedSince(db: Db, { eventId }: Seen): Promise<ReadonlySet<number>> {
  const rows = await db
    .selectFrom("payment_events")
    .innerJoin("orders", "orders.order_no", "payment_events.order_no")
    .where("payment_events.id", ">", eventId - LATE_EVENTS)
    .select("orders.id")
    .execute();
  return new Set(rows.map(({ id }) => Math.floor(id / BLOCK)));
}

async function readBlock(db: Db, first: number): Promise<Block> {
  const range = sql`orders.id BETWEEN ${first} AND ${first + BLOCK - 1}`;
  const differing = await sql<Pick<Mismatch, "id" | "stored" | "expected">>`
    SELECT orders.id AS id, orders.credited_quota AS stored, cast(coalesce(booked.amount, 0) as bigint) AS expected
    FROM orders LEFT JOIN ledger AS booked ON booked.request_id = 'order/' || orders.order_no || '/credit'
    WHERE ${range} AND (orders.credited_quota <> coalesce(booked.amount, 0)
      OR (orders.status = 'credited') <> (booked.id IS NOT NULL)
      OR (booked.id IS NOT NULL AND (booked.user_id <> orders.user_id
        OR booked.kind <> CASE WHEN orders.plan_sale = '' THEN 'pay' ELSE 'plan' END)))
    ORDER BY orders.id`.execute(db);
  const sums = await sql<OrderSums>`
    SELECT instance_id, count(*) AS orders, cast(sum(paid_minor) as bigint) AS paid_minor,
      cast(sum(refunded_minor) as bigint) AS refunded_minor, cast(sum(disputed_minor) as bigint) AS disputed_minor
    FROM orders WHERE ${range} AND paid_minor > 0 GROUP BY instance_id`.execute(db);
  const mismatches = differing.rows.map(
    (row) => ({ table: "orders", column: "credited_quota", ...row }) as const,
  );
  return { mismatches, sums: sums.rows };
}

/** By account. */
function summed(blocks: readonly Block[]): readonly OrderSums[] {
  const sums = new Map<number, OrderSums>();
  for (const one of blocks.flatMap((block) => block.sums)) {
    const { instance_id, orders, paid_minor, refunded_minor, disputed_minor } = one;
    const so = sums.get(instance_id) ?? { orders: 0, paid_minor: 0, refunded_minor: 0, disputed_minor: 0 };
    sums.set(instance_id, {
      instance_id,
      orders: so.orders + orders,
      paid_minor: so.paid_minor + paid_minor,
      refunded_minor: so.refunded_minor + refunded_minor,
      disputed_minor: so.disputed_minor + disputed_minor,
    });
  }
  return [...sums.values()];
}
