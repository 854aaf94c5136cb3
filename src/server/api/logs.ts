// Handlers: the usage log and its sums (requirements W3.9).
import type { Language } from "#contract/language.ts";
import { CLEARED_LOG_TYPES, type LogEntry, type logApi } from "#contract/log.ts";
import { may } from "#server/accounts/may.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { say } from "#server/locale/sentences.ts";
import { boughtOf } from "#server/money/bought.ts";
import { marginOf, type QuotaWorth } from "#server/money/earned.ts";
import type { LogFilter } from "#server/store/log-filter.ts";
import { statLogs } from "#server/store/log-stats.ts";
import { byToken, MOST_TAGGED } from "#server/store/log-tags.ts";
import { clearLogs, countLogs, type ListedLog, listLogs, searchLogs } from "#server/store/logs.ts";
import { getUser } from "#server/store/users.ts";
import { audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { worthOf } from "./margins.ts";

export const log: Handlers<{ log: typeof logApi }>["log"] = {
  async list(ctx, { actor, query, language }) {
    const worth = may(actor, "money.read") ? worthOf(ctx) : undefined;
    const filter = await filterOf(ctx, query, {
      username: query.username,
      channelId: query.channel,
      projectId: query.project,
    });
    const rows = await listLogs(ctx.db, filter, { page: query.p, size: query.size });
    const data = rows.map((row) => present(row, language, worth));
    return { data, total: await countLogs(ctx.db, filter) };
  },

  async listSelf(ctx, { actor, query, language }) {
    const filter = await filterOf(ctx, query, { userId: actor.id });
    const rows = await listLogs(ctx.db, filter, { page: query.p, size: query.size });
    return { data: rows.map((row) => withoutChannel(row, language)), total: await countLogs(ctx.db, filter) };
  },

  async stat(ctx, { query }) {
    const filter = await filterOf(ctx, query, {
      username: query.username,
      channelId: query.channel,
      projectId: query.project,
    });
    const { quota, tokens, requests } = await statLogs(ctx.db, filter);
    return { quota, token: tokens, request: requests };
  },

  async statSelf(ctx, { actor, query }) {
    const filter = await filterOf(ctx, query, { userId: actor.id });
    const { quota, tokens, requests } = await statLogs(ctx.db, filter);
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
  tag: string;
  model_name: string;
  start_timestamp: number;
  end_timestamp: number;
}

/**
 * The filter of a query, and `beside` it; zero and empty text stay: the store reads them as "not filtered". Throws: when more tokens have the
 * tag than the log can be read by.
 */
export async function filterOf(
  { db }: Pick<Context, "db">,
  query: Filters,
  beside: LogFilter,
): Promise<LogFilter> {
  const filter = {
    type: query.type,
    tokenName: query.token_name,
    tag: query.tag,
    modelName: query.model_name,
    start: query.start_timestamp,
    end: query.end_timestamp,
    ...beside,
  };
  if (query.tag !== "" && (await byToken(db, filter)) === undefined)
    throw faults.refused(`有该标签的令牌超过 ${MOST_TAGGED} 个，请换一个标签，或同时按用户筛选`);
  return filter;
}

/** `worth` = what quota brings in, for who may know it. */
function present(row: ListedLog, language: Language, worth?: QuotaWorth): LogEntry {
  const { earned, ...shown } = row;
  const isKnown = worth !== undefined && row.cost >= 0 && row.model_name !== "";
  return {
    ...shown,
    ...(isKnown ? earnedOf(row, worth) : UNKNOWN),
    content: say(row.content, language),
    channel: row.channel_id,
    is_stream: row.is_stream === 1,
    estimated: row.estimated === 1,
    trail: row.trail.map(({ channelId, channelName, error, said }) => ({
      channel: channelId,
      channel_name: channelName,
      error,
      said: say(said, language),
    })),
  };
}

const UNKNOWN = { cost: -1, revenue: -1, fees: 0, commission: 0 } as const;

function earnedOf({ quota, cost, earned }: ListedLog, worth: QuotaWorth) {
  const bought = boughtOf(earned);
  const priced_quota = Number(bought.quota);
  const [income, fees, commission] = [Number(bought.income), Number(bought.fees), Number(bought.commission)];
  const { revenue } = marginOf({ costed_quota: quota, cost, priced_quota, income, fees, commission }, worth);
  return { cost, revenue, fees, commission };
}

/** Users do not learn which upstream served their calls (requirements P06). */
export function withoutChannel(row: ListedLog, language: Language): LogEntry {
  return { ...present(row, language), channel: 0, channel_name: "", trail: [] };
}
