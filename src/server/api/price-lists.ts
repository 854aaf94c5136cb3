// Handlers: prices from published lists, as versions (requirements X01–X04). Running calls keep the price they were reserved at.
import type { PriceDraft, priceListApi } from "#contract/price-list.ts";
import type { Context } from "#server/context.ts";
import { fetchText } from "#server/egress/fetch-text.ts";
import { faults } from "#server/errors.ts";
import { draftRows, listWarning, type ModelUse } from "#server/money/prices/draft.ts";
import { PriceListError, readPriceList } from "#server/money/prices/lists.ts";
import {
  findNewestPriceVersion,
  findPriceVersionFrom,
  listPriceVersions,
} from "#server/store/price-versions.ts";
import { sumModels } from "#server/store/usage.ts";
import type { Handlers } from "./call.ts";
import {
  columnsOf,
  isAsWritten,
  listPriceOf,
  ownTables,
  type PriceChanges,
  presentVersion,
  priceRowOf,
  shownTables,
  writePrices,
} from "./price-tables.ts";

export const priceList: Handlers<{ priceList: typeof priceListApi }>["priceList"] = {
  async draft(ctx, { body }): Promise<PriceDraft> {
    const text = body.address === "" ? body.text : await fetchList(ctx, body.address);
    if (text.trim() === "") throw faults.refused("请填写价目表的地址，或粘贴其内容");
    const { format, list } = read(text, body.format === "" ? undefined : body.format);
    const uses = await usesOf(ctx);
    const [newest, last] = await Promise.all([
      findNewestPriceVersion(ctx.db),
      findPriceVersionFrom(ctx.db, body.address || format),
    ]);
    const tables = shownTables(ownTables(ctx));
    const rows = draftRows({
      models: [...ctx.candidates.all()]
        .flatMap(({ models }) => [...models])
        .concat(Object.keys(tables.model_ratio)),
      list,
      priceOf: (model) => listPriceOf(tables, model),
      callsOf: (model) => uses.get(model),
    });
    const warning = listWarning(rows, list.size, last?.listed ?? 0);
    return { format, rows, listed: list.size, warning, base: newest?.id ?? 0 };
  },

  async publish(ctx, call) {
    const { body } = call;
    const names = body.rows.map(({ model }) => model);
    if (new Set(names).size !== names.length) throw faults.invalid("同一个模型出现了两次");
    const own = ownTables(ctx);
    const changes = Object.fromEntries(
      body.rows.map(({ model, ...after }) => [
        model,
        { before: columnsOf(priceRowOf(own, model), after), after },
      ]),
    );
    return writePrices(ctx, call, { ...body, changes, undoes: 0 });
  },

  async versions(ctx, { query }) {
    const newest = await findNewestPriceVersion(ctx.db);
    const rows = await listPriceVersions(ctx.db, query.before);
    return rows.map((row) => presentVersion(row, newest?.id ?? 0));
  },

  async undo(ctx, call) {
    const newest = await findNewestPriceVersion(ctx.db);
    const isLast = newest !== undefined && newest.id === call.params.id && newest.undoes === 0;
    if (!isLast) throw faults.refused("只能撤销最新的价格版本");
    // Written by `writePrices`.
    const made = JSON.parse(newest.changes) as PriceChanges;
    const own = ownTables(ctx);
    const shown = shownTables(own);
    // A price that was edited since is the editor's.
    const left = Object.entries(made).filter(([model, { after }]) =>
      isAsWritten(priceRowOf(shown, model), model, after),
    );
    if (left.length === 0) throw faults.refused("这个版本的价格之后都已被修改，没有可以撤销的");
    const changes = Object.fromEntries(
      left.map(([model, { before }]) => [
        model,
        { before: columnsOf(priceRowOf(own, model), before), after: before },
      ]),
    );
    const { source, listed } = newest;
    const { reason } = call.body;
    const kept = new Set(Object.keys(changes));
    return writePrices(ctx, call, {
      base: newest.id,
      source,
      listed,
      reason,
      changes,
      kept,
      undoes: newest.id,
    });
  },
};

const LIMIT_BYTES = 20 * 1024 * 1024;
const TIMEOUT_MS = 20_000;

async function fetchList({ egress }: Context, address: string): Promise<string> {
  const judged = egress.judge(address);
  if ("refusal" in judged) throw faults.refused(`价目表的地址：${judged.refusal}`);
  const result = await fetchText(egress, {
    method: "GET",
    url: address,
    headers: ["accept", "application/json", "user-agent", "Tollgate"],
    timeoutMs: TIMEOUT_MS,
    limitBytes: LIMIT_BYTES,
  });
  if (result.kind === "fault") throw faults.refused("取不到价目表，请检查地址与网络", result.detail);
  if (result.status !== 200) throw faults.refused(`取不到价目表：对方返回 ${result.status}`);
  return result.text;
}

function read(text: string, format: PriceDraft["format"] | undefined) {
  try {
    return readPriceList(text, format);
  } catch (error) {
    throw error instanceof PriceListError ? faults.refused(error.message) : error;
  }
}

const DAY_SEC = 86_400;

/** What models were used for lately, by name. */
async function usesOf({ db, clock }: Context): Promise<ReadonlyMap<string, ModelUse>> {
  const before = clock.seconds() + 3_600;
  const [month, week] = await Promise.all([
    sumModels(db, { userId: undefined, start: before - 30 * DAY_SEC, before }),
    sumModels(db, { userId: undefined, start: before - 7 * DAY_SEC, before }),
  ]);
  const weeks = new Map(week.map((row) => [row.name, row]));
  return new Map(
    month.map(({ name, requests }) => {
      const sums = weeks.get(name);
      const { quota = 0, prompt_tokens = 0, completion_tokens = 0 } = sums ?? {};
      return [
        name,
        {
          calls: requests,
          week: { quota, promptTokens: prompt_tokens, completionTokens: completion_tokens },
        },
      ];
    }),
  );
}
