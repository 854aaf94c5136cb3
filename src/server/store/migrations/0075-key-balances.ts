// What the provider says is left of a key's account, in which currency if it says so, and when it was told and last asked (seconds).
import type { Migration } from "./migration.ts";

function statements({ int, real }: Record<"int" | "real", string>): string[] {
  return [
    `ALTER TABLE channel_keys ADD COLUMN balance ${real} NOT NULL DEFAULT 0`,
    "ALTER TABLE channel_keys ADD COLUMN balance_currency text NOT NULL DEFAULT ''",
    `ALTER TABLE channel_keys ADD COLUMN balance_updated_time ${int} NOT NULL DEFAULT 0`,
    `ALTER TABLE channel_keys ADD COLUMN balance_asked_time ${int} NOT NULL DEFAULT 0`,
  ];
}

export const keyBalances: Migration = {
  name: "0075-key-balances",
  sqlite: statements({ int: "integer", real: "real" }),
  postgres: statements({ int: "bigint", real: "double precision" }),
};
