// Periodic work: a table of jobs, a clock that starts them, and a leader per run among all processes of the installation.

import { startRun } from "#server/channels/run.ts";
import type { Context } from "#server/context.ts";
import { alertWatch, channelBalances } from "./alert-watch.ts";
import { channelProbes } from "./channel-probes.ts";
import { channelTests } from "./channel-tests.ts";
import { invoices } from "./invoices.ts";
import type { Job } from "./job.ts";
import { keyBalances } from "./key-balances.ts";
import { keyProbes } from "./key-probes.ts";
import { lateIndexes } from "./late-indexes.ts";
import { limitWarnings } from "./limit-warnings.ts";
import { logRetention } from "./log-retention.ts";
import { marginWatch } from "./margin-watch.ts";
import { modelEndings } from "./model-endings.ts";
import { names } from "./names.ts";
import { optimize } from "./optimize.ts";
import { paymentBodies, paymentComparison, paymentQuestions } from "./payments.ts";
import { planReminders } from "./plan-reminders.ts";
import { fullLedgerCheck, reconcile } from "./reconcile.ts";
import { renewalLetters } from "./renewal-letters.ts";
import { signups } from "./signups.ts";
import { statements } from "./statements.ts";
import { taskPolls, taskRetention } from "./tasks.ts";
import { teamWallets } from "./team-wallets.ts";
import { upstreamModels } from "./upstream-models.ts";

/** Every job there is. To add one: a file and a row here. */
export const jobs: readonly Job[] = [
  reconcile,
  fullLedgerCheck,
  channelTests,
  channelBalances,
  alertWatch,
  keyBalances,
  keyProbes,
  channelProbes,
  upstreamModels,
  logRetention,
  signups,
  names,
  lateIndexes,
  paymentQuestions,
  paymentComparison,
  paymentBodies,
  invoices,
  limitWarnings,
  marginWatch,
  modelEndings,
  teamWallets,
  taskPolls,
  taskRetention,
  statements,
  planReminders,
  renewalLetters,
  optimize,
];

const TICK_MS = 1_000;

/** Starts the clock; returns the function that stops it. What runs at that moment ends by itself. */
export function startJobs(ctx: Context, table: readonly Job[] = jobs, tickMs = TICK_MS): () => void {
  const startMs = ctx.clock.now();
  const due = table.flatMap((job) => {
    const periodMs = job.periodMs(ctx.config);
    return periodMs > 0 ? [{ job, periodMs, atMs: startMs + (job.firstMs ?? periodMs) }] : [];
  });
  const timer = setInterval(() => {
    const nowMs = ctx.clock.now();
    for (const entry of due) {
      // After a step back of the clock no job waits until the time is what it was (requirements F08).
      entry.atMs = Math.min(entry.atMs, nowMs + Math.max(entry.periodMs, entry.job.firstMs ?? 0));
      if (entry.atMs > nowMs) continue;
      entry.atMs = nowMs + entry.periodMs;
      runOnce(ctx, entry.job, entry.periodMs).catch((error: unknown) => {
        if (!ctx.stopping.aborted) ctx.events.backgroundFailed({ task: entry.job.name, error });
      });
    }
  }, tickMs).unref();
  return () => clearInterval(timer);
}

/** One process takes the run; the others see that it was taken, also a moment after it has ended. */
async function runOnce(ctx: Context, job: Job, periodMs: number): Promise<void> {
  const isOurs = await ctx.coord.remember(`job:${job.name}`, periodMs - Math.min(periodMs / 10, 5_000));
  if (isOurs) await startRun(ctx, { name: `job:${job.name}`, work: () => job.run(ctx) });
}
