// Job: finds invoices that refunds have made too much, should a process have died between the refund and its note (requirements Y62).
import type { Context } from "#server/context.ts";
import { judgeAllReversals } from "#server/payments/invoices.ts";
import type { Job } from "./job.ts";

const MINUTE_MS = 60_000;

export const invoices: Job = {
  name: "invoices",
  periodMs: () => 10 * MINUTE_MS,
  run: async (ctx: Context) => `${await judgeAllReversals(ctx)} accounts`,
};
