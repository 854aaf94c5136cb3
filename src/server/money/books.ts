// All books at a glance, for a person: totals of the ledger and of the balances from one moment of the database, what is set aside, and what
// the checker finds. Reads only (requirements Y64).
import { sql } from "kysely";
import { verifyAudit } from "#server/store/audit.ts";
import type { Db } from "#server/store/db.ts";
import { checkLedger } from "./ledger-check.ts";
import { lookAtOrders, type OrderSums } from "./orders-look.ts";
import type { Mismatch } from "./rows.ts";

/** Rows that are named. */
const NAMED = 20;

/** A sum that is larger than a number can tell exactly is told as this. */
const MOST = Number.MAX_SAFE_INTEGER;

export interface BookTotals {
  readonly entries: number;
  readonly reserved: number;
  readonly balances: number;
  /** entries − reserved − balances, exact whatever they are. */
  readonly difference: number;
  readonly debt: number;
  readonly open_count: number;
}

export interface InstanceTotals extends OrderSums {
  readonly name: string;
  readonly currency: string;
  readonly in_review: number;
}

export interface BooksSeen extends BookTotals {
  readonly open: Awaited<ReturnType<typeof oldest>>;
  readonly mismatches: readonly Mismatch[];
  readonly checked: number;
  readonly brokenId: number;
  readonly payments: readonly InstanceTotals[];
}

/** The look under way: it reads every balance, so who asks meanwhile is told what that one finds. */
const running = new WeakMap<Db, Promise<BooksSeen>>();

/** Looks at all books. Units: quota, minor units of money. */
export function readBooks(db: Db): Promise<BooksSeen> {
  const look = running.get(db) ?? readAll(db).finally(() => running.delete(db));
  running.set(db, look);
  return look;
}

async function readAll(db: Db): Promise<BooksSeen> {
  const sums = await totals(db);
  const mismatches = await checkLedger(db, "sums");
  const { checked, brokenId } = await verifyAudit(db);
  return { ...sums, open: await oldest(db), mismatches, checked, brokenId, payments: await payments(db) };
}

/** One statement, so that a call that is booked meanwhile is in all of the sums or in none. */
async function totals(db: Db): Promise<BookTotals> {
  const whole = (query: string) => sql.raw(`cast(coalesce((${query}), 0) as bigint)`);
  const told = (sum: string) =>
    sql.raw(`CASE WHEN ${sum} > ${MOST} THEN ${MOST} WHEN ${sum} < -${MOST} THEN -${MOST} ELSE ${sum} END`);
  const { rows } = await sql<BookTotals>`WITH sums AS (SELECT
    ${whole("SELECT sum(credit) FROM ledger_sums WHERE scope = 'user'")}
      + ${whole("SELECT sum(amount) FROM ledger WHERE user_id <> 0 AND id > (SELECT last_id FROM ledger_sums_head)")} AS entries,
    ${whole("SELECT sum(amount - plan_amount) FROM reservations")} AS reserved,
    ${whole("SELECT sum(quota) FROM users")} AS balances,
    ${whole("SELECT sum(debt_quota) FROM users")} AS debt,
    ${whole("SELECT count(*) FROM reservations")} AS open_count)
    SELECT ${told("entries")} AS entries, ${told("reserved")} AS reserved, ${told("balances")} AS balances,
      ${told("(entries - reserved - balances)")} AS difference, ${told("debt")} AS debt, open_count FROM sums`.execute(
    db,
  );
  return rows[0] ?? { entries: 0, reserved: 0, balances: 0, difference: 0, debt: 0, open_count: 0 };
}

function oldest(db: Db) {
  return db
    .selectFrom("reservations")
    .select(["request_id", "user_id", "model_name", "amount", "created_at"])
    .orderBy("created_at")
    .orderBy("request_id")
    .limit(NAMED)
    .execute();
}

/** The sums of all orders are those of the look a moment ago and what changed since; those that wait for a person are few, and have an index. */
async function payments(db: Db): Promise<readonly InstanceTotals[]> {
  const { sums } = await lookAtOrders(db, "sums");
  const byInstance = new Map(sums.map(({ instance_id, ...rest }) => [instance_id, rest]));
  const waiting = await db
    .selectFrom("orders")
    .where("review", "<>", sql.lit(""))
    .groupBy("instance_id")
    .select(["instance_id", sql<number>`count(*)`.as("in_review")])
    .execute();
  const inReview = new Map(waiting.map(({ instance_id, in_review }) => [instance_id, in_review]));
  const none = { orders: 0, paid_minor: 0, refunded_minor: 0, disputed_minor: 0 };
  const instances = await db
    .selectFrom("payment_instances")
    .select(["id as instance_id", "name", "currency"])
    .orderBy("id")
    .execute();
  return instances.map((instance) => ({
    ...instance,
    ...none,
    ...byInstance.get(instance.instance_id),
    in_review: inReview.get(instance.instance_id) ?? 0,
  }));
}
