// Jobs: look after tasks of upstreams that are under way, and forget those that ended long ago.
import type { Context } from "#server/context.ts";
import { forgetTasks, pollTasks } from "#server/tasks/poll.ts";
import type { Job } from "./job.ts";

const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;

export const taskPolls: Job = {
  name: "task-polls",
  periodMs: () => 3 * SECOND_MS,
  run: async (ctx: Context) => `${await pollTasks(ctx)} looked after`,
};

export const taskRetention: Job = {
  name: "task-retention",
  periodMs: () => DAY_MS,
  firstMs: 25 * 60 * SECOND_MS,
  run: async (ctx: Context) => `${await forgetTasks(ctx)} forgotten`,
};
