// Whose calls the log shows, and what the server is asked for them: one's own, those of all users, or a team's as far as the role sees them.
import { call, type Query, query } from "#console/base/call.ts";
import type { FetchPage } from "#console/base/export.ts";
import type { ListAnswer } from "#console/ui/resource-table.tsx";
import type { ListInput } from "#console/ui/table-state.ts";
import { type LogEntry, type LogStat, logApi } from "#contract/log.ts";
import { teamApi } from "#contract/team.ts";
import type { LogQuery } from "./filters.ts";

export type LogSource =
  | { readonly kind: "own" | "all" }
  /** `seesAll` = the calls of all its members, too. */
  | { readonly kind: "team"; readonly id: number; readonly seesAll: boolean };

/** An entry as it is listed: of a team with who called. */
export type ListedEntry = LogEntry & { readonly member_id?: number; readonly member_name?: string };

/** What each may filter by. */
function partsOf({ username, channel, project, member, ...own }: LogQuery) {
  return {
    own,
    all: { ...own, username, channel, project },
    team: { ...own, user_id: member, project_id: project },
  };
}

/** Loads a page of the list. */
export function logsFrom(source: LogSource, filter: LogQuery) {
  const parts = partsOf(filter);
  return ({ keyword: _keyword, ...page }: ListInput): Query<ListAnswer<ListedEntry>> => {
    if (source.kind === "team")
      return query(teamApi.logs, { params: { id: source.id }, query: { ...page, ...parts.team } });
    return source.kind === "all"
      ? query(logApi.list, { query: { ...page, ...parts.all } })
      : query(logApi.listSelf, { query: { ...page, ...parts.own } });
  };
}

/** Loads the sums of the same calls. */
export function statFrom(source: LogSource, filter: LogQuery): Query<LogStat> {
  const parts = partsOf(filter);
  if (source.kind === "team") return query(teamApi.logStat, { params: { id: source.id }, query: parts.team });
  return source.kind === "all"
    ? query(logApi.stat, { query: parts.all })
    : query(logApi.statSelf, { query: parts.own });
}

/** Fetches pages of the log up to now as this user may see it, newest first. */
export function logPages(
  source: LogSource,
  filter: LogQuery,
  { nowSec, signal }: { readonly nowSec: number; readonly signal: AbortSignal },
): FetchPage<ListedEntry> {
  // Entries that come while we read would push others to the next page: the end of the range is fixed.
  const parts = partsOf({ ...filter, end_timestamp: Math.min(filter.end_timestamp, nowSec) });
  return (p, size) => {
    if (source.kind === "team") {
      const params = { id: source.id };
      return call(teamApi.logs, { params, query: { ...parts.team, p, size } }, signal);
    }
    return source.kind === "all"
      ? call(logApi.list, { query: { ...parts.all, p, size } }, signal)
      : call(logApi.listSelf, { query: { ...parts.own, p, size } }, signal);
  };
}
