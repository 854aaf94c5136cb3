// Handlers: the usage log and its sums (contract 3.9).
import type { LogEntry, logApi } from "#contract/log.ts";
import { statLogs } from "#server/store/log-stats.ts";
import { countLogs, type ListedLog, type LogFilter, listLogs } from "#server/store/logs.ts";
import { getUser } from "#server/store/users.ts";
import type { Handlers } from "./call.ts";

export const log: Handlers<{ log: typeof logApi }>["log"] = {
  async list(ctx, { query }) {
    const filter = { ...filterOf(query), username: query.username, channelId: query.channel };
    const rows = await listLogs(ctx.db, filter, { page: query.p, size: query.size });
    return { data: rows.map(present), total: await countLogs(ctx.db, filter) };
  },

  async listSelf(ctx, { actor, query }) {
    const filter = { ...filterOf(query), userId: actor.id };
    const rows = await listLogs(ctx.db, filter, { page: query.p, size: query.size });
    return { data: rows.map(withoutChannel), total: await countLogs(ctx.db, filter) };
  },

  async stat(ctx, { query }) {
    const { quota, tokens, requests } = await statLogs(ctx.db, {
      ...filterOf(query),
      username: query.username,
      channelId: query.channel,
    });
    return { quota, token: tokens, request: requests };
  },

  async statSelf(ctx, { actor, query }) {
    const { quota, tokens, requests } = await statLogs(ctx.db, { ...filterOf(query), userId: actor.id });
    return { quota, token: tokens, request: requests };
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
function filterOf(query: Filters): LogFilter {
  return {
    type: query.type,
    tokenName: query.token_name,
    modelName: query.model_name,
    start: query.start_timestamp,
    end: query.end_timestamp,
  };
}

function present(row: ListedLog): LogEntry {
  return { ...row, channel: row.channel_id, is_stream: row.is_stream === 1, estimated: row.estimated === 1 };
}

/** Users do not learn which upstream served them (reliability P06). */
function withoutChannel(row: ListedLog): LogEntry {
  return { ...present(row), channel: 0, channel_name: "" };
}
