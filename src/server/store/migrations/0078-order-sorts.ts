// Indexes of the lists of orders that are narrowed and sorted: most orders are in one state, and a few accounts and users hold them all, so
// that sorting what is left takes as long as sorting all of them. No call reads or writes orders; among a million they take some seconds to
// build.
import type { Migration } from "./migration.ts";

const SORTS: Readonly<Record<string, readonly string[]>> = {
  status: ["user_id", "amount_minor", "quota", "created_at"],
  instance_id: ["user_id", "amount_minor", "quota", "created_at"],
  user_id: ["amount_minor", "quota", "created_at"],
};

const INDEXES = [
  ...Object.entries(SORTS).flatMap(([narrowed, sorts]) =>
    sorts.map((sorted) => `CREATE INDEX orders_${narrowed}_${sorted} ON orders (${narrowed}, ${sorted}, id)`),
  ),
  "CREATE INDEX orders_account_status ON orders (instance_id, status, id)",
  "CREATE INDEX orders_account_review ON orders (instance_id, id) WHERE review <> ''",
];

export const orderSorts: Migration = {
  name: "0078-order-sorts",
  sqlite: INDEXES,
  postgres: INDEXES,
};
