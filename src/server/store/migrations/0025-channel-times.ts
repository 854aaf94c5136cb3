// Time limits of a channel's calls; 0 = the default (requirements C41).
import type { Migration } from "./migration.ts";

const COLUMNS = ["connect_ms", "first_byte_ms", "idle_ms", "total_ms"];

function statements(int: string): string[] {
  return COLUMNS.map((column) => `ALTER TABLE channels ADD COLUMN ${column} ${int} NOT NULL DEFAULT 0`);
}

export const channelTimes: Migration = {
  name: "0025-channel-times",
  sqlite: statements("integer"),
  postgres: statements("bigint"),
};
