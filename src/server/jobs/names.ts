// Job: enters user names that are missing in the table of names that must differ; soon after the start, since what was there before an
// upgrade or came by an import is entered by nothing else.
import { enterNames } from "#server/store/names.ts";
import type { Job } from "./job.ts";

const HOUR_MS = 3_600_000;

export const names: Job = {
  name: "names",
  periodMs: () => HOUR_MS,
  firstMs: 1_000,
  run: async ({ db }) => `${await enterNames(db)} missing`,
};
