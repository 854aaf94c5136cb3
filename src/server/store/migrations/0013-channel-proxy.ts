// How a channel is reached: by which outbound proxy, and whether connections serve again (requirements C08, C19). The defaults are for the
// channels that are there and for nodes that still run the program before this one.
import type { Migration } from "./migration.ts";

const STATEMENTS = [
  "ALTER TABLE channels ADD COLUMN proxy_sealed text NOT NULL DEFAULT ''",
  "ALTER TABLE channels ADD COLUMN reuse text NOT NULL DEFAULT 'auto'",
];

export const channelProxy: Migration = {
  name: "0013-channel-proxy",
  sqlite: STATEMENTS,
  postgres: STATEMENTS,
};
