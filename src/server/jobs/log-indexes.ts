// Job: builds indexes of the log that are missing, on PostgreSQL, where a migration must not hold up calls; soon after the start,
// and within an hour when that run was cut short.
import { buildLogIndexes } from "#server/store/log-indexes.ts";
import type { Job } from "./job.ts";

const HOUR_MS = 3_600_000;

export const logIndexes: Job = {
  name: "log-indexes",
  periodMs: ({ databaseUrl }) => (databaseUrl === undefined ? 0 : HOUR_MS),
  firstMs: 5_000,
  run: async ({ store }) => `${(await buildLogIndexes(store.patient)).length} built`,
};
