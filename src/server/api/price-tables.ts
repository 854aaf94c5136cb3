// The price tables as versions: what they hold for a model, and one transaction that changes them, stores the version and its audit
// entry (requirements X03, X04). It judges no price.
import type { PriceVersion } from "#contract/price-list.ts";
import type { PriceUnit } from "#contract/price-unit.ts";
import { builtInRatios } from "#contract/prices.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
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

/** What is told of a model beside its ratios → its option. */
export const TEXT_TABLES = { last_day: "ModelLastDays", unit: "ModelUnits" } as const;
type TextColumn = keyof typeof TEXT_TABLES;
// The keys of TEXT_TABLES are exactly its columns.
export const TEXT_COLUMNS = Object.keys(TEXT_TABLES) as TextColumn[];

// The keys of PRICE_TABLES are exactly its columns.
export const PRICE_COLUMNS = Object.keys(PRICE_TABLES) as PriceColumn[];

/** What the tables hold for a name; null = no row. */
export type PriceRow = Readonly<Record<PriceColumn | TextColumn, string | null>>;
/** By name; columns that are absent stay as they are, "" and null take a row out. */
export type PriceChanges = Readonly<
  Record<string, { readonly before: Partial<PriceRow>; readonly after: Partial<PriceRow> }>
>;
export type PriceTables = Readonly<Record<PriceColumn, Readonly<Record<string, number>>>> & {
  readonly last_day: Readonly<Record<string, string>>;
  readonly unit: Readonly<Record<string, PriceUnit>>;
};

/** What the operator set, without the built-in rows. */
export function ownTables({ options }: Pick<Context, "options">): PriceTables {
  const ratios = eachColumn((column) => options.get(PRICE_TABLES[column]));
  return { ...ratios, last_day: options.get("ModelLastDays"), unit: options.get("ModelUnits") };
}

function eachColumn<T>(make: (column: PriceColumn) => T): Record<PriceColumn, T> {
  // Every column is among them.
  return Object.fromEntries(PRICE_COLUMNS.map((column) => [column, make(column)])) as Record<PriceColumn, T>;
}

/** With the built-in rows beneath the operator's. */
export function shownTables(own: PriceTables): PriceTables {
  const ratios = eachColumn((column) => ({ ...builtInRatios[PRICE_TABLES[column]], ...own[column] }));
  return { ...ratios, last_day: own.last_day, unit: own.unit };
}

/** One name in all tables, as exact decimals. */
export function priceRowOf(tables: PriceTables, name: string): PriceRow {
  const ratios = eachColumn((column) => {
    const ratio = Object.hasOwn(tables[column], name) ? tables[column][name] : undefined;
    return ratio === undefined ? null : exactText(parseRational(ratio));
  });
  return { ...ratios, last_day: textIn(tables.last_day, name), unit: textIn(tables.unit, name) };
}

function textIn(table: Readonly<Record<string, string>>, name: string): string | null {
  return Object.hasOwn(table, name) ? (table[name] ?? null) : null;
}

/** What stands where a version wrote nothing; "" = the rule for the name. */
function builtInText(column: PriceColumn, model: string): string {
  const table: Readonly<Record<string, number>> = builtInRatios[PRICE_TABLES[column]];
  const ratio = Object.hasOwn(table, model) ? table[model] : undefined;
  return ratio === undefined ? "" : exactText(parseRational(ratio));
}

/** Whether the tables still hold the prices that a version wrote for a name. */
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

/**
 * The newest version, undefined = there is none. The tables are read anew after it: what is judged and written over it is then never older
 * than it, whichever process published it.
 */
export async function newestVersion({
  db,
  options,
}: Pick<Context, "db" | "options">): Promise<PriceVersionRow | undefined> {
  const newest = await findNewestPriceVersion(db);
  await options.reload();
  return newest;
}

export interface NewPriceVersion {
  /** The version it is written over. */
  readonly base: number;
  readonly source: string;
  readonly reason: string;
  /** How many models the list named. */
  readonly listed: number;
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
  const texts = TEXT_COLUMNS.filter((column) =>
    Object.values(changes).some(({ after }) => Object.hasOwn(after, column)),
  );
  try {
    await ctx.db.transaction().execute(async (tx) => {
      const newest = await findNewestPriceVersion(tx);
      if ((newest?.id ?? 0) !== base) throw new Superseded();
      await insertPriceVersion(tx, row);
      for (const column of touched) {
        const text = JSON.stringify(changedTable(own[column], { changes, column, cellOf: Number }));
        await ctx.options.write(tx, PRICE_TABLES[column], text, kept);
      }
      for (const column of texts)
        await ctx.options.write(
          tx,
          TEXT_TABLES[column],
          JSON.stringify(changedTable(own[column], { changes, column, cellOf: String })),
        );
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
  const written = [
    ...touched.map((column) => PRICE_TABLES[column]),
    ...texts.map((column) => TEXT_TABLES[column]),
  ];
  for (const option of written) ctx.events.optionChanged({ option, actorId: call.actor.id });
  return presentVersion(row, row.id);
}

class Superseded extends Error {
  override readonly name = "Superseded";
}

interface TableChange<Cell> {
  readonly changes: PriceChanges;
  readonly column: PriceColumn | TextColumn;
  readonly cellOf: (text: string) => Cell;
}

/** A table with the changed rows; "" and null leave a model to the rule for its name. */
function changedTable<Cell>(
  table: Readonly<Record<string, Cell>>,
  { changes, column, cellOf }: TableChange<Cell>,
): Record<string, Cell> {
  const next = new Map(Object.entries(table));
  for (const [model, { after }] of Object.entries(changes)) {
    if (!Object.hasOwn(after, column)) continue;
    const text = after[column] ?? "";
    if (text === "") next.delete(model);
    else next.set(model, cellOf(text));
  }
  return Object.fromEntries(next);
}

export function presentVersion(row: Omit<PriceVersionRow, "changes">, newestId: number): PriceVersion {
  const { id, created_at, user_id, username, reason, source, models, undoes } = row;
  const can_undo = id === newestId && undoes === 0;
  return { id, created_at, user_id, username, reason, source, models, undoes, can_undo };
}
