// Handlers: versions of the prices, and the way back from the newest (requirements X04). Running calls keep the price they were reserved at.
import type { priceListApi } from "#contract/price-list.ts";
import { faults } from "#server/errors.ts";
import { findNewestPriceVersion, listPriceVersions } from "#server/store/price-versions.ts";
import type { Handlers } from "./call.ts";
import {
  columnsOf,
  isAsWritten,
  newestVersion,
  ownTables,
  type PriceChanges,
  presentVersion,
  priceRowOf,
  shownTables,
  TEXT_COLUMNS,
  writePrices,
} from "./price-tables.ts";

export const priceList: Handlers<{ priceList: typeof priceListApi }>["priceList"] = {
  async versions(ctx, { query }) {
    const newest = await findNewestPriceVersion(ctx.db);
    const rows = await listPriceVersions(ctx.db, query.before);
    return rows.map((row) => presentVersion(row, newest?.id ?? 0));
  },

  async undo(ctx, call) {
    const newest = await newestVersion(ctx);
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
      left.map(([model, { before, after }]) => {
        const now = priceRowOf(own, model);
        // So is a last day, and what the price counts.
        const isEdited = (column: string) =>
          TEXT_COLUMNS.some((one) => one === column && (now[one] ?? "") !== (after[one] ?? ""));
        const back = Object.fromEntries(Object.entries(before).filter(([column]) => !isEdited(column)));
        return [model, { before: columnsOf(now, back), after: back }];
      }),
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
