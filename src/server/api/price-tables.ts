// The price tables as versions: what they hold for a model, and one transaction that changes them, stores the version and its audit
// entry (requirements X03, X04). It judges no price.
import type { ModelPrice, PricePublication, PriceVersion } from "#contract/price-list.ts";
import { builtInRatios, completionRatioRule } from "#contract/prices.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { sixDecimals } from "#server/money/prices/draft.ts";
import { exactText, parseRational } from "#server/money/rational.ts";
import { OptionError } from "#server/options.ts";
import type { Db } from "#server/store/db.ts";
import { isTaken } from "#server/store/fault.ts";
import {
  findNewestPriceVersion,
  insertPriceVersion,
  type PriceVersionRow,
} from "#server/store/price-versions.ts";
import { type ActCall, audit } from "./audit-log.ts";

/** Column of a price → its option. */
export const PRICE_TABLES = {
  model_ratio: "ModelRatio",
  completion_ratio: "CompletionRatio",
  cache_ratio: "CacheRatio",
  cache_write_ratio: "CacheWriteRatio",
  audio_ratio: "AudioRatio",
  audio_completion_ratio: "AudioCompletionRatio",
  image_ratio: "ImageRatio",
  image_completion_ratio: "ImageCompletionRatio",
} as const;
export type PriceColumn = keyof typeof PRICE_TABLES;

// The keys of PRICE_TABLES are exactly its columns.
export const PRICE_COLUMNS = Object.keys(PRICE_TABLES) as PriceColumn[];

/** What the tables hold for a name; null = no row. */
export type PriceRow = Readonly<Record<PriceColumn, string | null>>;
/** By name; columns that are absent stay as they are, "" and null take a row out. */
export type PriceChanges = Readonly<
  Record<string, { readonly before: Partial<PriceRow>; readonly after: Partial<PriceRow> }>
>;
export type PriceTables = Readonly<Record<PriceColumn, Readonly<Record<string, number>>>>;

/** What the operator set, without the built-in rows. */
export function ownTables({ options }: Pick<Context, "options">): PriceTables {
  return eachColumn((column) => options.get(PRICE_TABLES[column]));
}

function eachColumn<T>(make: (column: PriceColumn) => T): Record<PriceColumn, T> {
  // Every column is among them.
  return Object.fromEntries(PRICE_COLUMNS.map((column) => [column, make(column)])) as Record<PriceColumn, T>;
}

/** With the built-in rows beneath the operator's. */
export function shownTables(own: PriceTables): PriceTables {
  return eachColumn((column) => ({ ...builtInRatios[PRICE_TABLES[column]], ...own[column] }));
}

/** One name in all tables, as exact decimals. */
export function priceRowOf(tables: PriceTables, name: string): PriceRow {
  return eachColumn((column) => {
    const ratio = Object.hasOwn(tables[column], name) ? tables[column][name] : undefined;
    return ratio === undefined ? null : exactText(parseRational(ratio));
  });
}

/** What a model costs now as drafts print it, six decimals at most; where no table has its output, the rule for its name. */
export function listPriceOf(tables: PriceTables, model: string): ModelPrice | undefined {
  const { model_ratio, completion_ratio, cache_ratio, cache_write_ratio } = priceRowOf(tables, model);
  if (model_ratio === null) return undefined;
  const text = (ratio: string | null) => (ratio === null ? "" : sixDecimals(parseRational(ratio)));
  return {
    model_ratio: text(model_ratio),
    completion_ratio: text(completion_ratio ?? completionRatioRule(model)),
    cache_ratio: text(cache_ratio),
    cache_write_ratio: text(cache_write_ratio),
  };
}

/** What stands where a version wrote nothing; "" = the rule for the name. */
function builtInText(column: PriceColumn, model: string): string {
  const table: Readonly<Record<string, number>> = builtInRatios[PRICE_TABLES[column]];
  const ratio = Object.hasOwn(table, model) ? table[model] : undefined;
  return ratio === undefined ? "" : exactText(parseRational(ratio));
}

/** Whether the tables still hold what a version wrote for a name. */
export function isAsWritten(now: PriceRow, name: string, after: Partial<PriceRow>): boolean {
  return PRICE_COLUMNS.filter((column) => Object.hasOwn(after, column)).every((column) => {
    const stands = now[column] ?? "";
    const written = after[column] || builtInText(column, name);
    return stands === "" || written === "" ? stands === written : Number(stands) === Number(written);
  });
}

/** Only the columns that a change names. */
export function columnsOf(row: PriceRow, named: Partial<PriceRow>): Partial<PriceRow> {
  return Object.fromEntries(Object.entries(row).filter(([column]) => Object.hasOwn(named, column)));
}

export interface NewPriceVersion extends Pick<PricePublication, "base" | "source" | "reason" | "listed"> {
  readonly changes: PriceChanges;
  readonly undoes: number;
  /** Names whose rows are stored also where they equal the built-in ones (see Options.write). */
  readonly kept?: ReadonlySet<string>;
  /** More that the audit log tells of it. */
  readonly told?: { readonly detail: Readonly<Record<string, unknown>>; readonly before: object };
  /** What is written in the same transaction. */
  readonly beside?: (tx: Db) => Promise<void>;
}

/** Writes the tables, the version and the audit entry in one transaction; a version that came in between refuses. Throws: AppError. */
export async function writePrices(ctx: Context, call: ActCall, made: NewPriceVersion): Promise<PriceVersion> {
  const { changes, base, kept, told, beside, ...fields } = made;
  const row: PriceVersionRow = {
    id: base + 1,
    created_at: ctx.clock.seconds(),
    user_id: call.actor.id,
    username: call.actor.username,
    reason: fields.reason,
    source: fields.source,
    listed: fields.listed,
    undoes: fields.undoes,
    models: Object.keys(changes).length,
    changes: JSON.stringify(changes),
  };
  const own = ownTables(ctx);
  const touched = PRICE_COLUMNS.filter((column) =>
    Object.values(changes).some(({ after }) => Object.hasOwn(after, column)),
  );
  try {
    await ctx.db.transaction().execute(async (tx) => {
      const newest = await findNewestPriceVersion(tx);
      if ((newest?.id ?? 0) !== base) throw new Superseded();
      await insertPriceVersion(tx, row);
      for (const column of touched) {
        const text = JSON.stringify(changed(own[column], changes, column));
        await ctx.options.write(tx, PRICE_TABLES[column], text, kept);
      }
      const { id, source, models, reason } = row;
      const action = row.undoes === 0 ? "price.publish" : "price.undo";
      await beside?.(tx);
      const detail = { source, models, reason, ...told?.detail };
      await audit(ctx, tx, call, { action, target: id, detail, ...(told && { before: told.before }) });
    });
  } catch (error) {
    if (error instanceof Superseded || isTaken(error))
      throw faults.refused("价格已被别的版本修改，请重新比较后再发布");
    throw error instanceof OptionError ? faults.invalid(error.message) : error;
  }
  await ctx.options.announce();
  for (const column of touched)
    ctx.events.optionChanged({ option: PRICE_TABLES[column], actorId: call.actor.id });
  return presentVersion(row, row.id);
}

class Superseded extends Error {
  override readonly name = "Superseded";
}

/** A table with the changed rows; "" and null leave a model to the rule for its name. */
function changed(
  table: Readonly<Record<string, number>>,
  changes: PriceChanges,
  column: PriceColumn,
): Record<string, number> {
  const next = new Map(Object.entries(table));
  for (const [model, { after }] of Object.entries(changes)) {
    if (!Object.hasOwn(after, column)) continue;
    const text = after[column] ?? "";
    if (text === "") next.delete(model);
    else next.set(model, Number(text));
  }
  return Object.fromEntries(next);
}

export function presentVersion(row: Omit<PriceVersionRow, "changes">, newestId: number): PriceVersion {
  const { id, created_at, user_id, username, reason, source, models, undoes } = row;
  const can_undo = id === newestId && undoes === 0;
  return { id, created_at, user_id, username, reason, source, models, undoes, can_undo };
}
