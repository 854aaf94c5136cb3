// Time limits of calls with one of several keys; 0 = the channel's (requirements C41).
import type { Migration } from "./migration.ts";

const COLUMNS = ["connect_ms", "first_byte_ms", "idle_ms", "total_ms"];

function statements(int: string): string[] {
  return COLUMNS.map((column) => `ALTER TABLE channel_keys ADD COLUMN ${column} ${int} NOT NULL DEFAULT 0`);
}

export const keyTimes: Migration = {
  name: "0074-key-times",
  sqlite: statements("integer"),
  postgres: statements("bigint"),
};
