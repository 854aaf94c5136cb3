// Invoices that users ask for, the money that they may be about, and whom they are made out to. Writes no order and no balance.
import { type Selectable, sql } from "kysely";
import type { InvoiceState } from "#contract/invoice.ts";
import type { TeamRole } from "#contract/team-words.ts";
import { changesOne } from "./change.ts";
import { type Db, sumInt } from "./db.ts";
import { bounds, countRows, type Page } from "./page.ts";
import type { InvoicesTable } from "./tables-invoices.ts";

export type InvoiceRow = Selectable<InvoicesTable>;

/** With the name of its user. */
export type NamedInvoice = InvoiceRow & { readonly username: string };

/** States that count against what was paid. */
const COUNTED: readonly InvoiceState[] = ["requested", "issued"];

export async function insertInvoice(db: Db, row: Omit<InvoiceRow, "id">): Promise<number> {
  const { id } = await db.insertInto("invoices").values(row).returning("id").executeTakeFirstOrThrow();
  return id;
}

function named(db: Db) {
  return db
    .selectFrom("invoices")
    .innerJoin("users", "users.id", "invoices.user_id")
    .selectAll("invoices")
    .select("users.username");
}

export function findInvoice(db: Db, id: number): Promise<NamedInvoice | undefined> {
  return named(db).where("invoices.id", "=", id).executeTakeFirst();
}

/** The newest of a user. */
export function listInvoicesOf(db: Db, userId: number, limit: number): Promise<NamedInvoice[]> {
  return named(db)
    .where("invoices.user_id", "=", userId)
    .orderBy("invoices.id", "desc")
    .limit(limit)
    .execute();
}

/** What an administrator has to do something about; as the index invoices_queue has it. */
const open = sql<boolean>`(invoices.state = 'requested' OR invoices.reverse_asked_at > 0)`;

export interface InvoiceFilter {
  readonly isOpen: boolean;
  /** undefined = any. */
  readonly state: InvoiceState | undefined;
  /** 0 = any user's. */
  readonly userId: number;
}

function filtered({ isOpen, state, userId }: InvoiceFilter) {
  const conditions = [
    ...(isOpen ? [open] : []),
    ...(state === undefined ? [] : [sql<boolean>`invoices.state = ${state}`]),
    ...(userId === 0 ? [] : [sql<boolean>`invoices.user_id = ${userId}`]),
  ];
  return conditions.reduce((all, one) => sql<boolean>`${all} AND ${one}`, sql<boolean>`1 = 1`);
}

/** A page of those that fit, newest first; open ones in their turn. */
export function listInvoices(db: Db, filter: InvoiceFilter, page: Page): Promise<NamedInvoice[]> {
  const { limit, offset } = bounds(page);
  return named(db)
    .where(filtered(filter))
    .orderBy("invoices.id", filter.isOpen ? "asc" : "desc")
    .limit(limit)
    .offset(offset)
    .execute();
}

export function countInvoices(db: Db, filter: InvoiceFilter): Promise<number> {
  return countRows(db.selectFrom("invoices").where(filtered(filter)));
}

/** Changes one that is in this state. Returns whether it was. */
export function moveInvoice(
  db: Db,
  { id, from }: { readonly id: number; readonly from: InvoiceState },
  change: Partial<Omit<InvoiceRow, "id" | "user_id" | "currency" | "amount_minor">>,
): Promise<boolean> {
  return changesOne(db.updateTable("invoices").set(change).where("id", "=", id).where("state", "=", from));
}

/** Money of an account in one currency, minor units. */
export interface PaidSum {
  readonly currency: string;
  readonly paid: number;
  /** Refunds, also those under way, and disputes. */
  readonly back: number;
  /** Asked for or issued. */
  readonly invoiced: number;
}

/** By currency; only those in which something was paid. */
export async function sumPaid(db: Db, userId: number): Promise<readonly PaidSum[]> {
  const orders = await db
    .selectFrom("orders")
    .select((row) => [
      "currency",
      sumInt(row.ref("paid_minor")).as("paid"),
      sumInt(sql<number>`refunded_minor + disputed_minor`).as("back"),
    ])
    .where("user_id", "=", userId)
    .where("status", "=", "credited")
    .groupBy("currency")
    .orderBy("currency")
    .execute();
  const invoiced = await db
    .selectFrom("invoices")
    .select((row) => ["currency", sumInt(row.ref("amount_minor")).as("amount")])
    .where("user_id", "=", userId)
    .where("state", "in", COUNTED)
    .groupBy("currency")
    .execute();
  const byCurrency = new Map(invoiced.map(({ currency, amount }) => [currency, amount]));
  return orders.map((row) => ({ ...row, invoiced: byCurrency.get(row.currency) ?? 0 }));
}

/** Those of a user that are issued, newest first. */
export function listIssued(
  db: Db,
  userId: number,
  currency: string,
): Promise<Pick<InvoiceRow, "id" | "amount_minor" | "reverse_asked_at">[]> {
  return db
    .selectFrom("invoices")
    .select(["id", "amount_minor", "reverse_asked_at"])
    .where("user_id", "=", userId)
    .where("currency", "=", currency)
    .where("state", "=", "issued")
    .orderBy("id", "desc")
    .execute();
}

/** Accounts whose issued invoices are more than what they paid and did not get back, and those with one that waits to be reversed. */
export async function listOverInvoiced(
  db: Db,
): Promise<readonly { readonly user_id: number; readonly currency: string }[]> {
  const { rows } = await sql<{ user_id: number; currency: string }>`
    SELECT user_id, currency FROM invoices WHERE state = 'issued'
    GROUP BY user_id, currency
    HAVING max(reverse_asked_at) > 0 OR sum(amount_minor) > (
      SELECT coalesce(sum(paid_minor - refunded_minor - disputed_minor), 0) FROM orders
      WHERE orders.user_id = invoices.user_id AND orders.currency = invoices.currency AND orders.status = 'credited')
    ORDER BY user_id, currency`.execute(db);
  return rows;
}

/** "" = none is saved. */
export async function findInvoiceProfile(db: Db, userId: number): Promise<string> {
  const row = await db
    .selectFrom("invoice_profiles")
    .select("profile_sealed")
    .where("user_id", "=", userId)
    .executeTakeFirst();
  return row?.profile_sealed ?? "";
}

export async function saveInvoiceProfile(
  db: Db,
  row: { readonly user_id: number; readonly profile_sealed: string; readonly updated_at: number },
): Promise<void> {
  const { user_id: _, ...change } = row;
  await db
    .insertInto("invoice_profiles")
    .values(row)
    .onConflict((conflict) => conflict.column("user_id").doUpdateSet(change))
    .execute();
}

/** Who is told of an account's invoices, where the mail is known: its user, or those of a team who have one of these roles. */
export async function listInvoiceReaders(
  db: Db,
  userId: number,
  roles: readonly TeamRole[],
): Promise<readonly { readonly email: string; readonly team_id: number }[]> {
  const own = await db
    .selectFrom("users")
    .select("email")
    .where("id", "=", userId)
    .where("is_wallet", "=", 0)
    .where("email", "<>", "")
    .execute();
  const members = await db
    .selectFrom("teams")
    .innerJoin("team_members", "team_members.team_id", "teams.id")
    .innerJoin("users", "users.id", "team_members.user_id")
    .select(["users.email", "teams.id as team_id"])
    .where("teams.wallet_id", "=", userId)
    .where("teams.closed_at", "=", 0)
    .where("team_members.role", "in", roles)
    .where("users.email", "<>", "")
    .orderBy("users.id")
    .execute();
  return [...own.map((row) => ({ ...row, team_id: 0 })), ...members];
}

/** Of a deleted user or a closed team: what was not issued ends, and whom it was for is forgotten. Issued ones stay, as the operator's books need them. */
export async function eraseInvoicesOf(tx: Db, userId: number): Promise<void> {
  await tx.deleteFrom("invoice_profiles").where("user_id", "=", userId).execute();
  await tx
    .updateTable("invoices")
    .set({ state: "cancelled" })
    .where("user_id", "=", userId)
    .where("state", "=", "requested")
    .execute();
  await tx
    .updateTable("invoices")
    .set({ profile_sealed: "" })
    .where("user_id", "=", userId)
    .where("state", "in", ["cancelled", "refused"])
    .execute();
}
