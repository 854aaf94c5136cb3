// Handlers: the usage log and its sums (requirements W3.9).
import type { Language } from "#contract/language.ts";
import { CLEARED_LOG_TYPES, type LogEntry, type logApi } from "#contract/log.ts";
import { may } from "#server/accounts/may.ts";
import { faults } from "#server/errors.ts";
import { say } from "#server/locale/sentences.ts";
import { type QuotaWorth, revenueOf } from "#server/money/earned.ts";
import type { LogFilter } from "#server/store/log-filter.ts";
import { statLogs } from "#server/store/log-stats.ts";
import { clearLogs, countLogs, type ListedLog, listLogs, searchLogs } from "#server/store/logs.ts";
import { getUser } from "#server/store/users.ts";
import { audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { worthOf } from "./margins.ts";

export const log: Handlers<{ log: typeof logApi }>["log"] = {
  async list(ctx, { actor, query, language }) {
    const worth = may(actor, "money.read") ? worthOf(ctx) : undefined;
    const filter = {
      ...filterOf(query),
      username: query.username,
      channelId: query.channel,
      projectId: query.project,
    };
    const rows = await listLogs(ctx.db, filter, { page: query.p, size: query.size });
    const data = rows.map((row) => present(row, language, worth));
    return { data, total: await countLogs(ctx.db, filter) };
  },

  async listSelf(ctx, { actor, query, language }) {
    const filter = { ...filterOf(query), userId: actor.id };
    const rows = await listLogs(ctx.db, filter, { page: query.p, size: query.size });
    return { data: rows.map((row) => withoutChannel(row, language)), total: await countLogs(ctx.db, filter) };
  },

  async stat(ctx, { query }) {
    const { quota, tokens, requests } = await statLogs(ctx.db, {
      ...filterOf(query),
      username: query.username,
      channelId: query.channel,
      projectId: query.project,
    });
    return { quota, token: tokens, request: requests };
  },

  async statSelf(ctx, { actor, query }) {
    const { quota, tokens, requests } = await statLogs(ctx.db, { ...filterOf(query), userId: actor.id });
    return { quota, token: tokens, request: requests };
  },

  async search(ctx, { actor, query, language }) {
    const worth = may(actor, "money.read") ? worthOf(ctx) : undefined;
    const rows = await searchLogs(ctx.db, { keyword: query.keyword });
    return { data: rows.map((row) => present(row, language, worth)), total: rows.length };
  },

  async searchSelf(ctx, { actor, query, language }) {
    const rows = await searchLogs(ctx.db, { keyword: query.keyword, userId: actor.id });
    return { data: rows.map((row) => withoutChannel(row, language)), total: rows.length };
  },

  async clear(ctx, call) {
    const before = call.query.target_timestamp;
    if (before === 0) throw faults.refused("请指定清理的截止时间");
    const count = await ctx.coord.lock("log-clearing", async () => {
      // Batches are transactions of their own: the act is logged before the first, its outcome after the last.
      await audit(ctx, ctx.db, call, { action: "log.clear", target: before });
      const cleared = await clearLogs(ctx.db, before, CLEARED_LOG_TYPES);
      await audit(ctx, ctx.db, call, {
        action: "log.cleared",
        target: before,
        detail: { count: cleared },
      });
      return cleared;
    });
    if (count === undefined) throw faults.refused("已有清理任务在执行");
    return count;
  },

  async history(ctx, { actor }) {
    const user = await getUser(ctx.db, actor.id);
    return { usage: user.used_quota, request: user.request_count };
  },
};

interface Filters {
  type: number;
  token_name: string;
  model_name: string;
  start_timestamp: number;
  end_timestamp: number;
}

/** Zero and empty text stay: the store reads them as "not filtered". */
export function filterOf(query: Filters): LogFilter {
  return {
    type: query.type,
    tokenName: query.token_name,
    modelName: query.model_name,
    start: query.start_timestamp,
    end: query.end_timestamp,
  };
}

/** `worth` = what quota brings in, for who may know it. */
function present(row: ListedLog, language: Language, worth?: QuotaWorth): LogEntry {
  const isKnown = worth !== undefined && row.cost >= 0 && row.model_name !== "";
  return {
    ...row,
    cost: isKnown ? row.cost : -1,
    revenue: isKnown ? revenueOf(row.quota, worth) : -1,
    content: say(row.content, language),
    channel: row.channel_id,
    is_stream: row.is_stream === 1,
    estimated: row.estimated === 1,
    trail: row.trail.map(({ channelId, channelName, error, said }) => ({
      channel: channelId,
      channel_name: channelName,
      error,
      said,
    })),
  };
}

/** Users do not learn which upstream served their calls (requirements P06). */
export function withoutChannel(row: ListedLog, language: Language): LogEntry {
  return { ...present(row, language), channel: 0, channel_name: "", trail: [] };
}
