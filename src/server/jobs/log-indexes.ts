// Job: builds indexes of the log that are missing, on PostgreSQL, where a migration must not hold up calls; soon after the start.
import { buildLogIndexes } from "#server/store/log-indexes.ts";
import type { Job } from "./job.ts";

const DAY_MS = 86_400_000;

export const logIndexes: Job = {
  name: "log-indexes",
  periodMs: ({ databaseUrl }) => (databaseUrl === undefined ? 0 : DAY_MS),
  firstMs: 5_000,
  run: async ({ store }) => `${(await buildLogIndexes(store.patient)).length} built`,
};
