// Handlers: prices from published lists, as versions (requirements X01–X04). Running calls keep the price they were reserved at.
import type {
  ModelPrice,
  PriceDraft,
  PricePublication,
  PriceVersion,
  priceListApi,
} from "#contract/price-list.ts";
import { builtInRatios, completionRatioRule } from "#contract/prices.ts";
import type { Context } from "#server/context.ts";
import { fetchText } from "#server/egress/fetch-text.ts";
import { faults } from "#server/errors.ts";
import { draftRows, listWarning, type ModelUse, sixDecimals } from "#server/money/prices/draft.ts";
import { PriceListError, readPriceList } from "#server/money/prices/lists.ts";
import { parseRational } from "#server/money/rational.ts";
import { OptionError } from "#server/options.ts";
import { isTaken } from "#server/store/fault.ts";
import {
  findNewestPriceVersion,
  findPriceVersionFrom,
  insertPriceVersion,
  listPriceVersions,
  type PriceVersionRow,
} from "#server/store/price-versions.ts";
import { sumModels } from "#server/store/usage.ts";
import { type ActCall, audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";

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
    const tables = tablesOf(ctx);
    const rows = draftRows({
      models: [...ctx.candidates.all()]
        .flatMap(({ models }) => [...models])
        .concat(Object.keys(tables.shown.ModelRatio)),
      list,
      priceOf: (model) => priceOf(tables.shown, model),
      callsOf: (model) => uses.get(model),
    });
    const warning = listWarning(rows, list.size, last?.listed ?? 0);
    return { format, rows, listed: list.size, warning, base: newest?.id ?? 0 };
  },

  async publish(ctx, call) {
    const { body } = call;
    const names = body.rows.map(({ model }) => model);
    if (new Set(names).size !== names.length) throw faults.invalid("同一个模型出现了两次");
    const { own } = tablesOf(ctx);
    const changes = Object.fromEntries(
      body.rows.map(({ model, ...after }) => [model, { before: rowOf(own, model), after }]),
    );
    return write(ctx, call, { ...body, changes, undoes: 0 });
  },

  async versions(ctx, { query }) {
    const newest = await findNewestPriceVersion(ctx.db);
    const rows = await listPriceVersions(ctx.db, query.before);
    return rows.map((row) => present(row, newest?.id ?? 0));
  },

  async undo(ctx, call) {
    const newest = await findNewestPriceVersion(ctx.db);
    const isLast = newest !== undefined && newest.id === call.params.id && newest.undoes === 0;
    if (!isLast) throw faults.refused("只能撤销最新的价格版本");
    // Written by `publish`.
    const made = JSON.parse(newest.changes) as Changes;
    const { own, shown } = tablesOf(ctx);
    // A price that was edited since is the editor's.
    const left = Object.entries(made).filter(([model, { after }]) => {
      const now = rowOf(shown, model);
      return COLUMNS.every((column) => (now[column] ?? "") === (after[column] || builtInText(column, model)));
    });
    if (left.length === 0) throw faults.refused("这个版本的价格之后都已被修改，没有可以撤销的");
    const changes = Object.fromEntries(
      left.map(([model, { before }]) => [model, { before: rowOf(own, model), after: before }]),
    );
    const { source, listed } = newest;
    const { reason } = call.body;
    return write(ctx, call, { base: newest.id, source, listed, reason, changes, undoes: newest.id });
  },
};

/** What each of the four tables holds for a model; null = no row of the operator's. */
type Row = Readonly<Record<keyof ModelPrice, string | null>>;
type Changes = Readonly<Record<string, { readonly before: Row; readonly after: Partial<Row> }>>;

const TABLES = {
  model_ratio: "ModelRatio",
  completion_ratio: "CompletionRatio",
  cache_ratio: "CacheRatio",
  cache_write_ratio: "CacheWriteRatio",
} as const;
type TableName = (typeof TABLES)[keyof typeof TABLES];
type Tables = Readonly<Record<TableName, Readonly<Record<string, number>>>>;

// The keys of TABLES are exactly those of a price.
const COLUMNS = Object.keys(TABLES) as (keyof ModelPrice)[];

/** `own` = what the operator set; `shown` = with the built-in rows beneath. */
function tablesOf({ options }: Pick<Context, "options">): { own: Tables; shown: Tables } {
  const texts = new Map(options.list().map(({ key, value }) => [key, value]));
  const each = (of: (name: TableName) => Readonly<Record<string, number>>): Tables => ({
    ModelRatio: of("ModelRatio"),
    CompletionRatio: of("CompletionRatio"),
    CacheRatio: of("CacheRatio"),
    CacheWriteRatio: of("CacheWriteRatio"),
  });
  return {
    own: each((name) => options.get(name)),
    // Printed by the options themselves, complete.
    shown: each((name) => JSON.parse(texts.get(name) || "{}") as Record<string, number>),
  };
}

function rowOf(tables: Tables, model: string): Row {
  const text = (name: TableName) => {
    const ratio = Object.hasOwn(tables[name], model) ? tables[name][model] : undefined;
    return ratio === undefined ? null : decimal(ratio);
  };
  return {
    model_ratio: text("ModelRatio"),
    completion_ratio: text("CompletionRatio"),
    cache_ratio: text("CacheRatio"),
    cache_write_ratio: text("CacheWriteRatio"),
  };
}

/** What a model costs now; where no table has its output, the rule for its name. */
function priceOf(tables: Tables, model: string): ModelPrice | undefined {
  const { model_ratio, completion_ratio, cache_ratio, cache_write_ratio } = rowOf(tables, model);
  if (model_ratio === null) return undefined;
  return {
    model_ratio,
    completion_ratio: completion_ratio ?? sixDecimals(parseRational(completionRatioRule(model))),
    cache_ratio: cache_ratio ?? "",
    cache_write_ratio: cache_write_ratio ?? "",
  };
}

/** What stands where a version wrote nothing; "" = the rule for the name. */
function builtInText(column: keyof ModelPrice, model: string): string {
  const table: Readonly<Record<string, number>> = builtInRatios[TABLES[column]];
  const ratio = Object.hasOwn(table, model) ? table[model] : undefined;
  return ratio === undefined ? "" : decimal(ratio);
}

/** As drafts print ratios: six decimals at most. */
function decimal(ratio: number): string {
  return ratio.toFixed(6).replace(/\.?0+$/, "");
}

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

interface NewVersion extends Pick<PricePublication, "base" | "source" | "reason" | "listed"> {
  readonly changes: Changes;
  readonly undoes: number;
}

/** Writes the four tables, the version and the audit entry in one transaction; a version that came in between refuses. */
async function write(ctx: Context, call: ActCall, made: NewVersion): Promise<PriceVersion> {
  const { changes, base, ...fields } = made;
  const row: PriceVersionRow = {
    id: base + 1,
    created_at: ctx.clock.seconds(),
    user_id: call.actor.id,
    username: call.actor.username,
    reason: fields.reason,
    source: fields.source,
    listed: fields.listed,
    models: Object.keys(changes).length,
    changes: JSON.stringify(changes),
    undoes: fields.undoes,
  };
  const { own } = tablesOf(ctx);
  try {
    await ctx.db.transaction().execute(async (tx) => {
      const newest = await findNewestPriceVersion(tx);
      if ((newest?.id ?? 0) !== base) throw new Superseded();
      await insertPriceVersion(tx, row);
      for (const column of COLUMNS) {
        const name = TABLES[column];
        await ctx.options.write(tx, name, JSON.stringify(changed(own[name], changes, column)));
      }
      const { id, source, models, reason } = row;
      const action = row.undoes === 0 ? "price.publish" : "price.undo";
      await audit(ctx, tx, call, { action, target: id, detail: { source, models, reason } });
    });
  } catch (error) {
    if (error instanceof Superseded || isTaken(error))
      throw faults.refused("价格已被别的版本修改，请重新比较后再发布");
    throw error instanceof OptionError ? faults.invalid(error.message) : error;
  }
  await ctx.options.announce();
  for (const name of Object.values(TABLES))
    ctx.events.optionChanged({ option: name, actorId: call.actor.id });
  return present(row, row.id);
}

class Superseded extends Error {
  override readonly name = "Superseded";
}

/** A table with the changed rows; "" and null leave a model to the rule for its name. */
function changed(
  table: Readonly<Record<string, number>>,
  changes: Changes,
  column: keyof ModelPrice,
): Record<string, number> {
  const next = new Map(Object.entries(table));
  for (const [model, { after }] of Object.entries(changes)) {
    const text = after[column] ?? "";
    if (text === "") next.delete(model);
    else next.set(model, Number(text));
  }
  return Object.fromEntries(next);
}

function present(row: Omit<PriceVersionRow, "changes">, newestId: number): PriceVersion {
  const { id, created_at, user_id, username, reason, source, models, undoes } = row;
  const can_undo = id === newestId && undoes === 0;
  return { id, created_at, user_id, username, reason, source, models, undoes, can_undo };
}
