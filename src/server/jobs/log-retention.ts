// Job: removes entries about calls and tests that are older than LOG_RETENTION_DAYS. Top-ups, acts of administrators, sums and
// the ledger stay.
import { LogType } from "#contract/log.ts";
import { clearLogs } from "#server/store/logs.ts";
import type { Job } from "./job.ts";

const HOUR_MS = 3_600_000;

export const logRetention: Job = {
  name: "log-retention",
  periodMs: ({ logRetentionSec }) => (logRetentionSec > 0 ? HOUR_MS : 0),
  firstMs: 60_000,
  async run({ config, clock, db }) {
    const cleared = await clearLogs(db, clock.seconds() - config.logRetentionSec, [
      LogType.consume,
      LogType.test,
    ]);
    return `${cleared} entries removed`;
  },
};
