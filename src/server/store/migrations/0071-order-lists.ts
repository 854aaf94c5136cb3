// Indexes of the lists of orders: by state, by account, and in each order that a list can be read in. Among a million orders a page is read
// along one of them; they take some seconds to build.
import type { Migration } from "./migration.ts";

const INDEXES = [
  "CREATE INDEX orders_status ON orders (status, id)",
  "CREATE INDEX orders_account ON orders (instance_id, id)",
  "CREATE INDEX orders_amount ON orders (amount_minor, id)",
  "CREATE INDEX orders_quota ON orders (quota, id)",
  "CREATE INDEX orders_created ON orders (created_at, id)",
];

export const orderLists: Migration = {
  name: "0071-order-lists",
  sqlite: INDEXES,
  postgres: INDEXES,
};
