// What the upstreams of channels say they have, and what of it was new when it was last asked for (requirements C46).
import type { Migration } from "./migration.ts";

function statements(int: string, strict: string): string[] {
  return [
    `CREATE TABLE model_lists (
      channel_id ${int} PRIMARY KEY,
      source text NOT NULL,
      checked_time ${int} NOT NULL,
      total integer NOT NULL,
      problem text NOT NULL,
      known text NOT NULL,
      fresh text NOT NULL,
      gone text NOT NULL
    )${strict}`,
  ];
}

export const modelLists: Migration = {
  name: "0041-model-lists",
  sqlite: statements("integer", " STRICT"),
  postgres: statements("bigint", ""),
};
