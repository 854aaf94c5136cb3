// Job: builds indexes that are missing, on PostgreSQL, where a migration must not hold up calls; soon after the start, and within an hour when that
// run was cut short.
import { SLOT_INDEX } from "#server/coord/leases.ts";
import { buildIndexes } from "#server/store/late-indexes.ts";
import { buildLogIndexes } from "#server/store/log-indexes.ts";
import type { Job } from "./job.ts";

const HOUR_MS = 3_600_000;

export const lateIndexes: Job = {
  name: "late-indexes",
  periodMs: ({ databaseUrl }) => (databaseUrl === undefined ? 0 : HOUR_MS),
  firstMs: 5_000,
  async run({ store: { patient } }) {
    const built = [...(await buildIndexes(patient, [SLOT_INDEX])), ...(await buildLogIndexes(patient))];
    return `${built.length} built`;
  },
};
