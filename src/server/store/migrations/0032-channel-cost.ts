// What a channel costs, as a multiple of its models' prices (requirements C43).
import type { Migration } from "./migration.ts";

function statement(number: string): string {
  return `ALTER TABLE channels ADD COLUMN cost_ratio ${number} NOT NULL DEFAULT 1`;
}

export const channelCost: Migration = {
  name: "0032-channel-cost",
  sqlite: [statement("real")],
  postgres: [statement("double precision")],
};
