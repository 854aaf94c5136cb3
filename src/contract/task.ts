// Tasks (任务): what upstreams do in the background for calls, such as videos (requirements C52). Amounts are quota.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { TASK_STATES } from "./video.ts";
import { IdParams, ListBeside, ListQuery, Nothing, Quota, query, rowsOf } from "./wire.ts";

export const Task = z.object({
  id: z.int(),
  /** What clients know it by. */
  task_id: z.string(),
  kind: z.enum(["video", "response", "batch"]),
  user_id: z.int(),
  username: z.string(),
  model: z.string(),
  state: z.enum(TASK_STATES),
  /** Percent. */
  progress: z.int(),
  /** What was asked for, e.g. `5 s · 1080p`. */
  asked: z.string(),
  /** What it cost; while it runs what is going to be charged is not known, and it is 0. */
  quota: Quota,
  /** Nothing changes in it any more. */
  is_ended: z.boolean(),
  /** Why it failed; "" = it did not. */
  code: z.string(),
  message: z.string(),
  /** 0 and "" for users: they do not learn which upstream serves them (requirements P06). */
  channel: z.int(),
  channel_name: z.string(),
  created_at: z.int(),
  /** Seconds; 0 = it has not ended. */
  ended_at: z.int(),
});
export type Task = z.output<typeof Task>;

const TaskQuery = ListQuery.extend({ open: query.flag });

export const taskApi = {
  list: endpoint({
    method: "GET",
    path: "/api/task/",
    level: "admin",
    permission: "log.read",
    summary: "所有任务，新的在前；open=true 只列进行中的。结束的任务保留 30 天",
    query: TaskQuery,
    data: rowsOf(Task),
    beside: ListBeside,
  }),
  listSelf: endpoint({
    method: "GET",
    path: "/api/task/self/",
    level: "user",
    summary: "我的任务，规则同上",
    query: TaskQuery,
    data: rowsOf(Task),
    beside: ListBeside,
  }),
  cancelSelf: endpoint({
    method: "POST",
    path: "/api/task/self/:id/cancel",
    level: "user",
    summary: "取消我的任务：上游接受取消时全额退回，否则任务继续",
    params: IdParams,
    data: Nothing,
  }),
  cancel: endpoint({
    method: "POST",
    path: "/api/task/:id/cancel",
    level: "admin",
    permission: "channel.write",
    summary: "取消任务并全额退回用户，上游是否接受取消都一样",
    params: IdParams,
    data: Nothing,
  }),
};
