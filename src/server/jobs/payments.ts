// Jobs: asks providers about orders and refunds that are due, compares days with their lists, and forgets what callbacks held as they came.
import type { Context } from "#server/context.ts";
import { compareDue } from "#server/payments/compare.ts";
import { forgetOldBodies, pollDue } from "#server/payments/poller.ts";
import type { Job } from "./job.ts";

const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;

export const paymentQuestions: Job = {
  name: "payment-questions",
  periodMs: () => 5 * SECOND_MS,
  run: async (ctx: Context) => `${await pollDue(ctx)} asked`,
};

/** Every hour, so that a provider that was unclear is asked again; a day is compared once. */
export const paymentComparison: Job = {
  name: "payment-comparison",
  periodMs: () => 3_600 * SECOND_MS,
  firstMs: 10 * 60 * SECOND_MS,
  run: (ctx: Context) => compareDue(ctx),
};

export const paymentBodies: Job = {
  name: "payment-bodies",
  periodMs: () => DAY_MS,
  firstMs: 20 * 60 * SECOND_MS,
  run: async (ctx: Context) => `${await forgetOldBodies(ctx)} forgotten`,
};
