// How calls went, by hour, for the dashboard; and a way to the sums of the last days that does not read all that ever was.
import type { Migration } from "./migration.ts";

function statements(int: string, bare: string): string[] {
  return [
    `CREATE TABLE traffic_hours (
      scope text NOT NULL,
      id ${int} NOT NULL,
      hour ${int} NOT NULL,
      calls ${int} NOT NULL,
      failures ${int} NOT NULL,
      streams ${int} NOT NULL,
      first_byte_ms ${int} NOT NULL,
      PRIMARY KEY (scope, id, hour)
    )${bare}`,
    "CREATE INDEX traffic_hours_hour ON traffic_hours (scope, hour)",
    // Written once an hour for each user, model and channel: additions to a sum do not change these columns.
    "CREATE INDEX log_sums_hour ON log_sums (dimension, hour)",
  ];
}

export const traffic: Migration = {
  name: "0008-traffic",
  sqlite: statements("integer", " STRICT, WITHOUT ROWID"),
  postgres: statements("bigint", ""),
};
