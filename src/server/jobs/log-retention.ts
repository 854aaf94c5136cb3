// Job: removes entries about calls and tests that are older than LOG_RETENTION_DAYS. Top-ups, acts of administrators, sums and
// the ledger stay. What is gone is gone, so a clock that leapt removes nothing (requirements F08).
import { CLEARED_LOG_TYPES } from "#contract/log.ts";
import { DAY_SEC } from "#server/clock.ts";
import type { Context } from "#server/context.ts";
import { clearLogs } from "#server/store/logs.ts";
import { findOption, saveOption } from "#server/store/options.ts";
import type { Job } from "./job.ts";

const HOUR_MS = 3_600_000;
/** Where the job keeps the time of its last look and since when no two looks lay more than a day apart, in seconds. */
const LOOKS = "LogRetentionLooks";

export const logRetention: Job = {
  name: "log-retention",
  periodMs: ({ logRetentionSec }) => (logRetentionSec > 0 ? HOUR_MS : 0),
  firstMs: 60_000,
  async run(ctx) {
    const nowSec = ctx.clock.seconds();
    if (nowSec - (await evenSince(ctx, nowSec)) < DAY_SEC)
      return "waits for a day without a leap of the clock";
    const before = nowSec - ctx.config.logRetentionSec;
    return `${await clearLogs(ctx.db, before, CLEARED_LOG_TYPES)} entries removed`;
  },
};

/**
 * Since when the clock runs without a leap. One of an hour or two is none: it clears the log that much early. A machine that was off for
 * days looks the same from here and has to wait as well. Unit: seconds.
 */
async function evenSince({ db, events }: Context, nowSec: number): Promise<number> {
  const [seenSec, sinceSec] = ((await findOption(db, LOOKS)) ?? "").split(" ").map(Number);
  const isEven =
    seenSec !== undefined &&
    sinceSec !== undefined &&
    Math.abs(nowSec - seenSec) <= DAY_SEC &&
    sinceSec <= nowSec;
  const evenSec = isEven ? sinceSec : nowSec;
  await saveOption(db, LOOKS, `${nowSec} ${evenSec}`);
  if (!isEven && seenSec) events.clockLeapt({ task: "log-retention", seconds: nowSec - seenSec });
  return evenSec;
}
