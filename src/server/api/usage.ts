// Handlers: the reports of the dashboard, from the sums by hour.
import { NAMED_MODELS, type SiteUsage, type UsageReport, type usageApi } from "#contract/usage.ts";
import { DAY_SEC } from "#server/clock.ts";
import type { Context } from "#server/context.ts";
import { channelNames } from "#server/store/logs.ts";
import { listChannelTraffic, listTrafficDays, type Outcomes } from "#server/store/traffic.ts";
import {
  listUsageDays,
  listUsageWeek,
  nameUsers,
  rankUsage,
  type Span,
  sumUsage,
} from "#server/store/usage.ts";
import type { Handlers } from "./call.ts";

/** Rows of a ranking. */
const TOP = 10;

export const usage: Handlers<{ usage: typeof usageApi }>["usage"] = {
  async own(ctx, { actor, query }) {
    const span = spanOf(ctx, actor.id, query);
    const [report, tokens] = await Promise.all([
      reportOf(ctx, span, query),
      rankUsage(ctx.db, span, { by: "token", count: TOP }),
    ]);
    return { ...report, tokens: tokens.map(({ name, ...sums }) => ({ token_name: name, ...sums })) };
  },

  async site(ctx, { query }) {
    const span = spanOf(ctx, undefined, query);
    const [report, users, channels] = await Promise.all([
      reportOf(ctx, span, query),
      rankUsage(ctx.db, span, { by: "user", count: TOP }),
      rankUsage(ctx.db, span, { by: "channel", count: TOP }),
    ]);
    const names = await nameUsers(
      ctx.db,
      users.map(({ name }) => Number(name)),
    );
    return {
      ...report,
      users: users.map(({ name, ...sums }) => ({
        user_id: Number(name),
        username: names.get(Number(name)) ?? "",
        ...sums,
      })),
      channels: await withOutcomes(ctx, span, channels),
    };
  },
};

interface Wanted {
  readonly days: number;
  /** Minutes. */
  readonly offset: number;
}

/** From the start of the first day on. */
export function spanOf({ clock }: Context, userId: number | undefined, { days, offset }: Wanted): Span {
  const nowSec = clock.seconds();
  const today = nowSec - ((nowSec + offset * 60) % DAY_SEC);
  return { userId, start: today - (days - 1) * DAY_SEC, before: today + DAY_SEC };
}

export async function reportOf(ctx: Context, span: Span, { days, offset }: Wanted): Promise<UsageReport> {
  // The counts of this process show at once; those of other processes follow within seconds.
  await ctx.traffic.flush();
  const offsetSec = offset * 60;
  const [daily, weekly, previous, outcomes] = await Promise.all([
    listUsageDays(ctx.db, span, offsetSec),
    listUsageWeek(ctx.db, span, offsetSec),
    // The same stretch of time, one report length earlier: up to now only, since the last day is not over.
    sumUsage(ctx.db, {
      ...span,
      start: span.start - days * DAY_SEC,
      before: ctx.clock.seconds() - days * DAY_SEC,
    }),
    listTrafficDays(ctx.db, { userId: span.userId, start: span.start, offsetSec }),
  ]);
  return {
    start: span.start,
    days,
    previous,
    daily: namedOnly(daily),
    weekly,
    outcomes: outcomes.map((row) => ({ day: row.day, ...summary(row) })),
  };
}

type DayRow = UsageReport["daily"][number];

/** Keeps the names of the models that cost most; the others become one sum a day, so that a report stays small. */
function namedOnly(rows: readonly DayRow[]): DayRow[] {
  const spent = new Map<string, number>();
  for (const { model_name, quota } of rows) spent.set(model_name, (spent.get(model_name) ?? 0) + quota);
  if (spent.size <= NAMED_MODELS) return [...rows];
  const named = new Set(
    [...spent]
      .sort(([, one], [, other]) => other - one)
      .slice(0, NAMED_MODELS)
      .map(([name]) => name),
  );
  const others = new Map<number, DayRow>();
  for (const row of rows) if (!named.has(row.model_name)) others.set(row.day, plus(others.get(row.day), row));
  return [...rows.filter((row) => named.has(row.model_name)), ...others.values()];
}

function plus(sum: DayRow | undefined, row: DayRow): DayRow {
  return {
    day: row.day,
    model_name: "",
    quota: (sum?.quota ?? 0) + row.quota,
    prompt_tokens: (sum?.prompt_tokens ?? 0) + row.prompt_tokens,
    completion_tokens: (sum?.completion_tokens ?? 0) + row.completion_tokens,
    requests: (sum?.requests ?? 0) + row.requests,
  };
}

function summary({ calls, failures, streams, first_byte_ms }: Outcomes) {
  return { calls, failures, first_byte_ms: streams === 0 ? 0 : Math.round(first_byte_ms / streams) };
}

const NOTHING: Outcomes = { calls: 0, failures: 0, streams: 0, first_byte_ms: 0 };

/** The channels that earned most, and those that only failed after them. */
async function withOutcomes(
  { db }: Context,
  { start }: Span,
  ranked: Awaited<ReturnType<typeof rankUsage>>,
): Promise<SiteUsage["channels"]> {
  const traffic = await listChannelTraffic(db, start);
  const idle = traffic
    .filter(({ id, failures }) => failures > 0 && !ranked.some(({ name }) => name === String(id)))
    .sort((one, other) => other.failures - one.failures)
    .map(({ id }) => ({ name: String(id), quota: 0, prompt_tokens: 0, completion_tokens: 0, requests: 0 }));
  const shown = [...ranked, ...idle].slice(0, TOP);
  const names = await channelNames(
    db,
    shown.map(({ name }) => Number(name)),
  );
  const outcomes = new Map(traffic.map((row) => [row.id, row]));
  return shown.map(({ name, ...sums }) => {
    const id = Number(name);
    return { channel_id: id, name: names.get(id) ?? "", ...sums, ...summary(outcomes.get(id) ?? NOTHING) };
  });
}
