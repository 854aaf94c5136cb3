// Days whose payments were compared with the provider's list (requirements Y43), and the index that finds the orders of a day. No call reads
// or writes orders, and a million of them are indexed in a second or two.
import type { Migration } from "./migration.ts";

function statements({ int, strict }: Record<"int" | "strict", string>): string[] {
  return [
    `CREATE TABLE payment_days (
      instance_id ${int} NOT NULL,
      day text NOT NULL,
      listed ${int} NOT NULL,
      brought ${int} NOT NULL,
      missing ${int} NOT NULL,
      problem text NOT NULL,
      compared_at ${int} NOT NULL,
      PRIMARY KEY (instance_id, day)
    )${strict}`,
    "CREATE INDEX orders_paid ON orders (instance_id, paid_at) WHERE trade_no <> ''",
  ];
}

export const paymentDays: Migration = {
  name: "0070-payment-days",
  sqlite: statements({ int: "integer", strict: " STRICT" }),
  postgres: statements({ int: "bigint", strict: "" }),
};
