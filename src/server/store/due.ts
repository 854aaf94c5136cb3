// What is to be asked about at a time that its own row says; 0 = never.
import type { Selectable } from "kysely";
import type { Db } from "./db.ts";
import type { Tables } from "./tables.ts";

/** Rows whose question is due, the longest waiting first. */
export async function listDue<Name extends "orders" | "order_refunds" | "plan_renewals">(
  db: Db,
  table: Name,
  nowSec: number,
  limit: number,
): Promise<Selectable<Tables[Name]>[]> {
  const due = db
    .selectFrom<"orders" | "order_refunds" | "plan_renewals">(table)
    .selectAll()
    .where("next_check", ">", 0)
    .where("next_check", "<=", nowSec)
    .orderBy("next_check")
    .limit(limit);
  return (await due.execute()) as Selectable<Tables[Name]>[]; // of the table that was named
}
