// Job: alerts of models that a channel served at a loss in the last 24 hours, until they are not (requirements X11). Calls whose cost is
// not known say nothing, nor does quota that was given.
import { DAY_SEC } from "#server/clock.ts";
import type { Context } from "#server/context.ts";
import { soldMargin } from "#server/money/earned.ts";
import { channelNames } from "#server/store/logs.ts";
import { sumCosts } from "#server/store/margins.ts";
import type { Notice } from "#server/tools.ts";
import { compare } from "./alert-watch.ts";
import type { Job } from "./job.ts";

const PERIOD_MS = 600_000;
const BILLION = 1_000_000_000;
/** Smaller losses are rounding, and no reason to wake an operator: a cent. */
const LEAST_LOSS = BILLION / 100;
/** The largest losses of one look; more would only bury them. */
const MOST = 20;

export const marginWatch: Job = {
  name: "margin-watch",
  periodMs: () => PERIOD_MS,
  async run(ctx) {
    const losses = await lossesOf(ctx);
    const told = await compare(ctx, ["margin_low"], losses);
    return `${losses.length} losses, ${told} begin or end`;
  },
};

async function lossesOf(ctx: Context): Promise<Notice[]> {
  const now = ctx.clock.seconds();
  const span = { start: now - DAY_SEC, before: now + 1 };
  const worth = {
    quotaPerUnit: ctx.options.get("QuotaPerUnit"),
    soldYuan: ctx.options.get("SoldDollarYuan"),
  };
  const routes = (await sumCosts(ctx.db, span, "model-channel"))
    .map(({ name, ...sums }) => ({ name, ...soldMargin(sums, worth) }))
    .filter(({ margin }) => -margin >= LEAST_LOSS)
    .toSorted((one, other) => one.margin - other.margin)
    .slice(0, MOST)
    .map((route) => ({ ...route, ...partsOf(route.name) }));
  const names = await channelNames(
    ctx.db,
    routes.map(({ channelId }) => channelId),
  );
  return routes.map(({ model, channelId, cost, revenue, fees, commission, margin }) => ({
    event: "margin_low",
    about: `route ${channelId} ${model}`,
    title: `模型 ${model} 在渠道 #${channelId} ${names.get(channelId) ?? ""} 上亏损`,
    content: `最近 24 小时（赠送额度除外）收入 ${dollars(revenue)}，成本 ${dollars(cost)}，手续费与返现 ${dollars(fees + commission)}，亏损 ${dollars(-margin)}。`,
  }));
}

/** The key of a model at a channel, as the sums have it. */
function partsOf(key: string): { model: string; channelId: number } {
  const at = key.lastIndexOf("\n");
  return { model: key.slice(0, at), channelId: Number(key.slice(at + 1)) };
}

function dollars(nano: number): string {
  return `$${(nano / BILLION).toFixed(2)}`;
}
