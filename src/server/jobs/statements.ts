// Job: closes the month that has ended, account by account, so that a user who opens a statement does not wait (requirements Y59).
import { lastClosedMonth } from "#contract/month.ts";
import { closeMonths, styleNow } from "#server/money/statement.ts";
import { findOption, saveOption } from "#server/store/options.ts";
import { findUnclosed } from "#server/store/statements.ts";
import type { Job } from "./job.ts";

const HOUR_MS = 3_600_000;
/** Accounts looked at by one statement of the database. */
const PAGE = 500;
/** Where the job keeps the month that it has closed for all. */
const CLOSED = "StatementsClosed";

export const statements: Job = {
  name: "statements",
  periodMs: () => HOUR_MS,
  firstMs: 120_000,
  async run({ db, clock, options, stopping }) {
    const month = lastClosedMonth(clock.seconds());
    if ((await findOption(db, CLOSED)) === month) return `${month} is closed`;
    let closed = 0;
    for (let after: number | undefined = 0; after !== undefined; ) {
      const { ids, last } = await findUnclosed(db, { month, after, limit: PAGE });
      for (const userId of ids) {
        if (stopping.aborted) return `${closed} accounts, interrupted`;
        const style = styleNow(options);
        const maxEntries = Number.MAX_SAFE_INTEGER;
        await closeMonths(db, { userId, nowSec: clock.seconds(), maxEntries, style });
        closed += 1;
      }
      after = last;
    }
    await saveOption(db, CLOSED, month);
    return `${closed} accounts`;
  },
};
