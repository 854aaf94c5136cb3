// Handlers: 模型与价格, a row for each model (requirements X07, X08). A row is saved as a version of the prices, so that it can be taken back.

import { unitOf } from "#contract/charged-unit.ts";
import type { Language } from "#contract/language.ts";
import { makerOf } from "#contract/model-kinds.ts";
import {
  type ModelPriceChange,
  type ModelPriceRow,
  type modelPriceApi,
  PRICE_VIEWS,
  type PriceView,
} from "#contract/model-price.ts";
import { isTierName, tierName } from "#contract/price-sheet.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { say } from "#server/locale/sentences.ts";
import { MOST_RATIO } from "#server/money/prices/guards.ts";
import { OptionError } from "#server/options.ts";
import { listGoneModels } from "#server/store/price-drafts.ts";
import { audit } from "./audit-log.ts";
import type { Call, Handlers } from "./call.ts";
import {
  type ModelPrices,
  markOf,
  modelPrices,
  originsOf,
  ownTierNames,
  presentModel,
} from "./model-price-rows.ts";
import {
  columnsOf,
  newestVersion,
  PRICE_COLUMNS,
  type PriceChanges,
  type PriceRow,
  priceRowOf,
  writePrices,
} from "./price-tables.ts";

export const modelPrice: Handlers<{ modelPrice: typeof modelPriceApi }>["modelPrice"] = {
  async list(ctx, { query, language }) {
    const { p, size, order, desc, keyword, maker } = query;
    const all = modelPrices(ctx);
    const gone = await listGoneModels(ctx.db);
    const view = PRICE_VIEWS.find((name) => name === query.view) ?? "";
    const words = keyword.toLowerCase().split(/\s+/);
    const found = all.models.filter((model) => {
      const name = say(makerOf(model), language);
      const text = `${model} ${makerOf(model)} ${name}`.toLowerCase();
      const isNamed = words.every((word) => text.includes(word));
      return isNamed && (maker === "" || name === maker) && isIn(view, { all, gone }, model);
    });
    const sorted =
      order === "channels" ? found.toSorted((one, other) => offered(all, one) - offered(all, other)) : found;
    const rows = desc === true ? sorted.toReversed() : sorted;
    const quotaPerUnit = ctx.options.get("QuotaPerUnit");
    const facts = { origins: await originsOf(ctx), gone, quotaPerUnit, language };
    return {
      data: rows
        .slice(p * size, (p + 1) * size)
        .map((model, index) => presentModel(all, model, { id: p * size + index + 1, ...facts })),
      total: rows.length,
      unpriced: all.models.filter((model) => isIn("unpriced", { all, gone }, model)).length,
      makers: makersOf(all.models).map((name) => say(name, language)),
    };
  },

  find: (ctx, { query, language }) => present(ctx, query.model, language),

  async save(ctx, call) {
    const { body } = call;
    const base = (await newestVersion(ctx))?.id ?? 0;
    const all = modelPrices(ctx);
    if (isTierName(body.model)) throw faults.refused("模型名称不能以“>数字”结尾，阶梯请填在模型里");
    if (body.mark !== "" && body.mark !== markOf(all, body.model))
      throw faults.refused("这个模型的价格刚被修改过，请刷新后再编辑");
    refuseImpossible(body);
    const changes = changesOf(all, body);
    const isMoved = body.last_day !== all.lastDayOf(body.model);
    if (Object.keys(changes).length > 0) await savePrice(ctx, call, { base, all, changes, isMoved });
    else if (isMoved) await saveLastDay(ctx, call);
    return present(ctx, body.model, call.language);
  },
};

function offered(all: ModelPrices, model: string): number {
  return all.channelsOf(model).length;
}

interface Known {
  readonly all: ModelPrices;
  readonly gone: ReadonlyMap<string, unknown>;
}

function isIn(view: PriceView, { all, gone }: Known, model: string): boolean {
  if (view === "unlisted") return gone.has(model);
  if (view === "served") return offered(all, model) > 0;
  if (view === "unpriced") return offered(all, model) > 0 && isUnpriced(all, model);
  if (view === "changed")
    return [...PRICE_COLUMNS, "unit" as const].some((column) => Object.hasOwn(all.own[column], model));
  return view === "" || all.lastDayOf(model) !== "";
}

/** That the fallback's ratio stands for it is no price of its own. */
function isUnpriced(all: ModelPrices, model: string): boolean {
  const price = all.priceOf(model);
  return price === undefined || price.isFallback === true;
}

/** The one with the most models first. */
function makersOf(models: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const model of models) counts.set(makerOf(model), (counts.get(makerOf(model)) ?? 0) + 1);
  return [...counts].toSorted(([, one], [, other]) => other - one).map(([maker]) => maker);
}

async function present(ctx: Context, model: string, language: Language): Promise<ModelPriceRow> {
  const facts = {
    id: 1,
    origins: await originsOf(ctx),
    gone: await listGoneModels(ctx.db),
    quotaPerUnit: ctx.options.get("QuotaPerUnit"),
    language,
  };
  return presentModel(modelPrices(ctx), model, facts);
}

/** Throws: AppError for prices that no table can hold, or that a slip made. */
function refuseImpossible({ ratios, tiers, model }: ModelPriceChange): void {
  if (ratios === null) {
    if (tiers.length > 0) throw faults.invalid("恢复内置价格时不能同时填写阶梯");
    return;
  }
  if (ratios.model_ratio === "") throw faults.invalid("请填写输入价格", model);
  if ([ratios, ...tiers].some(({ model_ratio }) => Number(model_ratio) > MOST_RATIO))
    throw faults.invalid("价格超过每百万 10,000 美元，请检查单位");
  if (tiers.some(({ model_ratio }) => model_ratio === "")) throw faults.invalid("请填写阶梯的输入价格");
  const bounds = tiers.map(({ above }) => above);
  if (new Set(bounds).size !== bounds.length) throw faults.invalid("同一个阶梯出现了两次");
}

/** What has to be written: only names whose rows become others. */
function changesOf(all: ModelPrices, change: ModelPriceChange): PriceChanges {
  const { model, ratios, tiers } = change;
  const kept = new Set(tiers.map(({ above }) => tierName(model, above)));
  const none: Partial<PriceRow> = Object.fromEntries(PRICE_COLUMNS.map((column) => [column, ""]));
  const rows: (readonly [string, Partial<PriceRow>])[] = [
    [model, { ...(ratios ?? none), ...unitChange(all, change) }],
    ...tiers.map(({ above, ...tier }) => [tierName(model, above), tier] as const),
    ...ownTierNames(all.own, model)
      .filter((name) => !kept.has(name))
      .map((name) => [name, none] as const),
  ];
  return Object.fromEntries(
    rows.flatMap(([name, after]) => {
      const [own, shown] = [priceRowOf(all.own, name), priceRowOf(all.shown, name)];
      // A tier that equals the built-in one follows its model unless it has a row of its own.
      const stands = ratios === null || kept.has(name) ? own : shown;
      const isSame =
        !Object.hasOwn(after, "unit") &&
        PRICE_COLUMNS.every(
          (column) => !Object.hasOwn(after, column) || isSameRatio(stands[column] ?? "", after[column] ?? ""),
        );
      return isSame ? [] : [[name, { before: columnsOf(own, after), after }]];
    }),
  );
}

/** The operator's word for what the price counts, where it becomes another one; what is built in needs none. */
function unitChange(all: ModelPrices, { model, ratios, unit }: ModelPriceChange): { unit?: string } {
  if (ratios !== null && unit === undefined) return {};
  const builtIn = unitOf(model, {});
  const wanted = ratios === null || unit === builtIn ? "" : (unit ?? "");
  return wanted === (priceRowOf(all.own, model).unit ?? "") ? {} : { unit: wanted };
}

function isSameRatio(one: string, other: string): boolean {
  return one === "" || other === "" ? one === other : Number(one) === Number(other);
}

interface SavedPrice {
  /** The version it is written over. */
  readonly base: number;
  readonly all: ModelPrices;
  readonly changes: PriceChanges;
  readonly isMoved: boolean;
}

type SaveCall = Call<(typeof modelPriceApi)["save"]>;

async function savePrice(
  ctx: Context,
  call: SaveCall,
  { base, all, changes, isMoved }: SavedPrice,
): Promise<void> {
  const { model, reason, ratios, tiers } = call.body;
  await writePrices(ctx, call, {
    base,
    source: "",
    listed: 0,
    reason: reason === "" ? `${ratios === null ? "恢复内置价格" : "修改"}：${model}`.slice(0, 200) : reason,
    changes,
    undoes: 0,
    kept: new Set(tiers.map(({ above }) => tierName(model, above))),
    told: { detail: { model, ...ratios }, before: priceRowOf(all.shown, model) },
    ...(isMoved ? { beside: (tx) => writeLastDay(ctx, tx, call) } : {}),
  });
}

async function saveLastDay(ctx: Context, call: SaveCall): Promise<void> {
  try {
    await ctx.db.transaction().execute((tx) => writeLastDay(ctx, tx, call));
  } catch (error) {
    throw error instanceof OptionError ? faults.invalid(error.message) : error;
  }
  await ctx.options.announce();
}

async function writeLastDay(ctx: Context, tx: Context["db"], call: SaveCall): Promise<void> {
  const { model, last_day } = call.body;
  const before = ctx.options.get("ModelLastDays");
  const days = new Map(Object.entries(before));
  if (last_day === "") days.delete(model);
  else days.set(model, last_day);
  await ctx.options.write(tx, "ModelLastDays", JSON.stringify(Object.fromEntries(days)));
  const detail = { [model]: last_day };
  await audit(ctx, tx, call, { action: "option.update", target: "ModelLastDays", detail, before });
}
