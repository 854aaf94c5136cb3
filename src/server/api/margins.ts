// Handlers: 毛利, from the sums by hour (requirements X10).
import {
  MARGIN_BY,
  MARGIN_ORDERS,
  type MarginRow,
  type MarginSums,
  type marginApi,
} from "#contract/margin.ts";
import type { Context } from "#server/context.ts";
import { marginOf, type QuotaWorth, revenueOf } from "#server/money/earned.ts";
import { channelNames } from "#server/store/logs.ts";
import { type CostSums, type NamedCosts, sumCostDays, sumCosts } from "#server/store/margins.ts";
import { nameUsers } from "#server/store/usage.ts";
import type { Handlers } from "./call.ts";
import { spanOf } from "./usage.ts";

export const margin: Handlers<{ margin: typeof marginApi }>["margin"] = {
  async list(ctx, { query }) {
    const by = MARGIN_BY.find((name) => name === query.by) ?? "model";
    const span = spanOf(ctx, undefined, query);
    const found =
      by === "day" ? await sumCostDays(ctx.db, span, query.offset * 60) : await sumCosts(ctx.db, span, by);
    const worth = worthOf(ctx);
    const nameOf = await namesOf(ctx, by, found);
    const rows = found.map(({ name, ...sums }) => ({ ...nameOf(name), ...sumsOf(sums, worth) }));
    const words = query.keyword.toLowerCase();
    const wanted = rows.filter(({ name }) => name.toLowerCase().includes(words));
    const { p, size } = query;
    return {
      data: sorted(wanted, query)
        .slice(p * size, (p + 1) * size)
        .map((row, index) => ({ id: p * size + index + 1, ...row })),
      total: wanted.length,
      sums: wanted.reduce<MarginSums>((sum, row) => plus(sum, row), NOTHING),
    };
  },
};

export function worthOf({ options }: Pick<Context, "options">): QuotaWorth {
  return { quotaPerUnit: options.get("QuotaPerUnit"), soldYuan: options.get("SoldDollarYuan") };
}

type Row = Omit<MarginRow, "id">;

/** What stands for a key: ids become names. */
async function namesOf(
  ctx: Context,
  by: (typeof MARGIN_BY)[number],
  found: readonly NamedCosts[],
): Promise<(key: string) => Pick<Row, "name" | "subject_id">> {
  if (by !== "channel" && by !== "user") return (name) => ({ name, subject_id: 0 });
  const ids = found.map(({ name }) => Number(name)).filter((id) => id > 0);
  const names = by === "channel" ? await channelNames(ctx.db, ids) : await nameUsers(ctx.db, ids);
  return (key) => ({ name: names.get(Number(key)) ?? "", subject_id: Number(key) });
}

function sumsOf(sums: CostSums, worth: QuotaWorth): MarginSums {
  const { requests, prompt_tokens, cached_tokens, saved } = sums;
  return {
    ...marginOf(sums, worth),
    requests,
    uncosted: revenueOf(sums.quota - sums.costed_quota, worth),
    prompt_tokens,
    cached_tokens,
    saved,
  };
}

const NOTHING: MarginSums = {
  requests: 0,
  revenue: 0,
  cost: 0,
  fees: 0,
  commission: 0,
  margin: 0,
  uncosted: 0,
  prompt_tokens: 0,
  cached_tokens: 0,
  saved: 0,
};

function plus(sum: MarginSums, row: MarginSums): MarginSums {
  return {
    requests: sum.requests + row.requests,
    revenue: sum.revenue + row.revenue,
    cost: sum.cost + row.cost,
    fees: sum.fees + row.fees,
    commission: sum.commission + row.commission,
    margin: sum.margin + row.margin,
    uncosted: sum.uncosted + row.uncosted,
    prompt_tokens: sum.prompt_tokens + row.prompt_tokens,
    cached_tokens: sum.cached_tokens + row.cached_tokens,
    saved: sum.saved + row.saved,
  };
}

/** By a column of numbers, or by name; days as they are; at first what earned most. */
function sorted(
  rows: readonly Row[],
  { order, desc, by }: { order: string; desc?: boolean | undefined; by: string },
): readonly Row[] {
  const column = MARGIN_ORDERS.find((name) => name === order);
  if (column === undefined && (order === "name" || by === "day")) {
    const named = rows.toSorted((one, other) => one.name.localeCompare(other.name));
    return desc === true || (by === "day" && order === "") ? named.toReversed() : named;
  }
  const key = column ?? "revenue";
  const upwards = rows.toSorted((one, other) => one[key] - other[key]);
  return column !== undefined && desc !== true ? upwards : upwards.toReversed();
}
