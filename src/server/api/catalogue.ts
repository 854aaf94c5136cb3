// Handlers: the public catalogue, models and prices of a group (requirements X05, X06). Prices are those that calls are charged by.
import type { CatalogueModel, catalogueApi } from "#contract/catalogue.ts";
import type { Language } from "#contract/language.ts";
import { abilityOf, makerOf } from "#contract/model-kinds.ts";
import { dayOf } from "#contract/month.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { say } from "#server/locale/sentences.ts";
import { moneyOf } from "#server/money/dollars.ts";
import type { Handlers } from "./call.ts";
import { dearestPrice } from "./dearest-price.ts";
import { openGroups } from "./token-groups.ts";

/** The groups of a visitor who has no account. */
const GUEST = { default: { desc: "" } };

export const catalogue: Handlers<{ catalogue: typeof catalogueApi }>["catalogue"] = {
  async list(ctx, { actor, query, language }) {
    if (actor === undefined && !ctx.options.get("CatalogueForGuestsEnabled")) throw faults.notSignedIn();
    const open = actor === undefined ? GUEST : await openGroups(ctx, actor.id);
    const groups = Object.entries(open).map(([name, { desc }]) => ({ name, text: desc }));
    const group = query.group || (groups[0]?.name ?? "default");
    if (!groups.some(({ name }) => name === group)) throw faults.refused(`不能查看分组“${group}”的价格`);
    return { group, groups, models: modelsOf(ctx, group, language) };
  },
};

/** Models that a call of the group would be served; those whose last day is over are not shown any more. */
function modelsOf(ctx: Context, group: string, language: Language): CatalogueModel[] {
  const { options, clock, candidates } = ctx;
  const lastDays = options.get("ModelLastDays");
  const today = dayOf(clock.seconds());
  const book = ctx.prices();
  return candidates.models(group).flatMap((model) => {
    const last_day = Object.hasOwn(lastDays, model) ? (lastDays[model] ?? "") : "";
    const upstream = candidates.find(group, model).map(({ mapping }) => mapping.get(model) ?? model);
    const price = dearestPrice(book, model, upstream, group);
    if (price === undefined || (last_day !== "" && last_day < today)) return [];
    const money = moneyOf(price, options.get("QuotaPerUnit"));
    const maker = say(makerOf(model), language);
    return [{ model, maker, ability: abilityOf(model), ...money, last_day }];
  });
}
