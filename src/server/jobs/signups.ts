// Job: gifts of registrations that could not be booked when the account was made.
import { grantPromised } from "#server/money/signup.ts";
import type { Job } from "./job.ts";

const MINUTE_MS = 60_000;

export const signups: Job = {
  name: "signups",
  periodMs: () => MINUTE_MS,
  run: async (ctx) => `${await grantPromised(ctx)} booked`,
};
