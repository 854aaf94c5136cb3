// Handlers: tasks of upstreams as their owners and administrators see them.
import type { Language } from "#contract/language.ts";
import type { Task, taskApi } from "#contract/task.ts";
import { faults } from "#server/errors.ts";
import { say } from "#server/locale/sentences.ts";
import {
  countTasks,
  findTask,
  hasEnded,
  listTasks,
  type NamedTask,
  type TaskRow,
} from "#server/store/tasks.ts";
import { batchFactsOf } from "#server/tasks/batch/facts.ts";
import { cancelTask } from "#server/tasks/cancel.ts";
import { factsOf } from "#server/tasks/end.ts";
import { audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";

export const task: Handlers<{ task: typeof taskApi }>["task"] = {
  async list(ctx, { query, language }) {
    const filter = { isOpen: query.open };
    const rows = await listTasks(ctx.db, filter, { page: query.p, size: query.size });
    return { data: rows.map((row) => present(row, language)), total: await countTasks(ctx.db, filter) };
  },

  async listSelf(ctx, { actor, query, language }) {
    const filter = { userId: actor.id, isOpen: query.open };
    const rows = await listTasks(ctx.db, filter, { page: query.p, size: query.size });
    return {
      data: rows.map((row) => withoutChannel(row, language)),
      total: await countTasks(ctx.db, filter),
    };
  },

  async cancelSelf(ctx, { actor, params }) {
    const row = await findTask(ctx.db, params.id);
    if (row?.user_id !== actor.id || row.deleted_at > 0) throw faults.notFound("找不到该任务");
    if (hasEnded(row)) throw faults.refused("该任务已经结束");
    const outcome = await cancelTask(ctx, row);
    if (outcome === false) throw faults.refused("上游不支持取消该任务，它会继续进行");
    if (outcome !== true) throw faults.refused("连接不上上游，任务没有取消", outcome.detail);
    return null;
  },

  async cancel(ctx, call) {
    const row = await findTask(ctx.db, call.params.id);
    if (row === undefined) throw faults.notFound("找不到该任务");
    if (hasEnded(row)) throw faults.refused("该任务已经结束");
    await cancelTask(ctx, row, true);
    const { user_id, model, channel_id } = row;
    const detail = { task: row.task_id, user: user_id, model, channel: channel_id };
    await audit(ctx, ctx.db, call, { action: "task.cancel", target: row.id, detail });
    return null;
  },
};

function present(row: NamedTask, language: Language): Task {
  const isEnded = hasEnded(row);
  return {
    id: row.id,
    task_id: row.task_id,
    kind: row.kind,
    user_id: row.user_id,
    username: row.username,
    model: row.model,
    // Until it is booked it runs.
    state: isEnded || row.outcome === "" ? row.state : "in_progress",
    progress: row.progress,
    asked: askedOf(row, language),
    quota: isEnded && row.outcome === "charge" ? row.charge : 0,
    is_ended: isEnded,
    code: row.code,
    message: say(row.message, language),
    channel: row.channel_id,
    channel_name: row.channel_name ?? "",
    created_at: row.created_at,
    ended_at: row.ended_at,
  };
}

function askedOf(row: TaskRow, language: Language): string {
  if (row.kind === "batch") {
    const { lines, completed, failed } = batchFactsOf(row);
    return say(
      failed === 0 ? `${completed}/${lines} 行` : `${completed}/${lines} 行，失败 ${failed}`,
      language,
    );
  }
  const { seconds, size, resolution } = factsOf(row);
  if (row.kind === "response") return "Responses";
  return [`${seconds} s`, size || resolution].filter((part) => part !== "").join(" · ");
}

function withoutChannel(row: NamedTask, language: Language): Task {
  return { ...present(row, language), channel: 0, channel_name: "" };
}
