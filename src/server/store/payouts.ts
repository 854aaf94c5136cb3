// Payouts that users ask for, and what of their commission is too new to be paid out. Balances are not touched.
import { type Selectable, sql } from "kysely";
import type { PayoutState } from "#contract/payout.ts";
import { changesOne } from "./change.ts";
import { type Db, sumInt } from "./db.ts";
import { bounds, countRows, type Page } from "./page.ts";
import type { PayoutsTable } from "./tables-payouts.ts";

export type PayoutRow = Selectable<PayoutsTable>;

/** With the name of its user, and what that one owes of commission. */
export type NamedPayout = PayoutRow & { readonly username: string; readonly commission_debt_micro: number };

const OPEN: readonly PayoutState[] = ["requested", "paying"];

/** Throws: an error that `isTaken` recognises when the user has one that is open. */
export async function insertPayout(db: Db, row: Omit<PayoutRow, "id">): Promise<number> {
  const { id } = await db.insertInto("payouts").values(row).returning("id").executeTakeFirstOrThrow();
  return id;
}

function named(db: Db) {
  return db
    .selectFrom("payouts")
    .innerJoin("users", "users.id", "payouts.user_id")
    .selectAll("payouts")
    .select(["users.username", "users.commission_debt_micro"]);
}

export function findPayout(db: Db, id: number): Promise<NamedPayout | undefined> {
  return named(db).where("payouts.id", "=", id).executeTakeFirst();
}

/** The newest of a user. */
export function listPayoutsOf(db: Db, userId: number, limit: number): Promise<NamedPayout[]> {
  return named(db).where("payouts.user_id", "=", userId).orderBy("payouts.id", "desc").limit(limit).execute();
}

/** A page of all, newest first, or of the open ones in their turn. */
export function listPayouts(db: Db, isOpen: boolean, page: Page): Promise<NamedPayout[]> {
  const { limit, offset } = bounds(page);
  const rows = isOpen
    ? named(db).where("payouts.state", "in", OPEN).orderBy("payouts.id")
    : named(db).orderBy("payouts.id", "desc");
  return rows.limit(limit).offset(offset).execute();
}

export function countPayouts(db: Db, isOpen: boolean): Promise<number> {
  const rows = db.selectFrom("payouts");
  return countRows(isOpen ? rows.where("state", "in", OPEN) : rows);
}

/** The open ones in their turn. */
export function listOpenPayouts(db: Db, limit: number): Promise<NamedPayout[]> {
  return named(db).where("payouts.state", "in", OPEN).orderBy("payouts.id").limit(limit).execute();
}

/** What of a user is open, millionths of a yuan. */
export async function sumOpenPayouts(db: Db, userId: number): Promise<number> {
  const { micro } = await db
    .selectFrom("payouts")
    .select((row) => sumInt(row.ref("micro")).as("micro"))
    .where("user_id", "=", userId)
    .where("state", "in", OPEN)
    .executeTakeFirstOrThrow();
  return micro;
}

/** Changes one that is in one of these states. Returns whether it was. */
export function movePayout(
  db: Db,
  { id, from }: { readonly id: number; readonly from: readonly PayoutState[] },
  change: Partial<Pick<PayoutRow, "state" | "note" | "actor_id" | "decided_at">>,
): Promise<boolean> {
  return changesOne(db.updateTable("payouts").set(change).where("id", "=", id).where("state", "in", from));
}

/** Whether the ledger has an entry under this key. */
export async function hasEntry(db: Db, requestId: string): Promise<boolean> {
  const row = await db
    .selectFrom("ledger")
    .select("id")
    .where("request_id", "=", requestId)
    .executeTakeFirst();
  return row !== undefined;
}

/** Forgets where a deleted user was to be paid; what is open ends. */
export async function erasePayoutsOf(tx: Db, userId: number): Promise<void> {
  await tx
    .updateTable("payouts")
    .set({ state: "cancelled" })
    .where("user_id", "=", userId)
    .where("state", "=", "requested")
    .execute();
  await tx
    .updateTable("payouts")
    .set({ account_sealed: "", name_sealed: "" })
    .where("user_id", "=", userId)
    .execute();
}

/**
 * Commission of online payments that was credited after a moment, without what refunds and disputes took of it: millionths of a yuan. Read
 * along ledger_yuan, which has the few entries of the partner plan.
 */
export async function sumHeldCommission(db: Db, userId: number, after: number): Promise<number> {
  const { rows } = await sql<{ micro: number }>`
    SELECT cast(coalesce(sum(orders.credited_micro - orders.taken_micro), 0) as bigint) AS micro
    FROM ledger JOIN orders ON orders.order_no = substr(ledger.request_id, 7, length(ledger.request_id) - 14)
    WHERE ledger.user_id = ${userId} AND ledger.yuan_micro <> 0 AND ledger.kind = 'commission'
      AND ledger.created_at > ${after}
      AND ledger.request_id LIKE 'order/%/inviter'`.execute(db);
  return rows[0]?.micro ?? 0;
}
