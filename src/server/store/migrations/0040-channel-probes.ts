// When a channel that was disabled by itself was asked again for the last time, and how often that was in vain (requirements C64).
import type { Migration } from "./migration.ts";

function statements(int: string): string[] {
  return [
    `ALTER TABLE channels ADD COLUMN probe_time ${int} NOT NULL DEFAULT 0`,
    "ALTER TABLE channels ADD COLUMN probes integer NOT NULL DEFAULT 0",
  ];
}

export const channelProbes: Migration = {
  name: "0040-channel-probes",
  sqlite: statements("integer"),
  postgres: statements("bigint"),
};
