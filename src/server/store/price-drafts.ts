// Drafts of prices, and which models of ours a source lists. Rows only; a draft is changed by the one who names its newest revision.
import type { Insertable, Selectable, Updateable } from "kysely";
import type { Db } from "./db.ts";
import type { PriceDraftsTable } from "./tables-prices.ts";

export type PriceDraftStored = Selectable<PriceDraftsTable>;
/** Without its rows and choices. */
export type PriceDraftListed = Omit<PriceDraftStored, "lines" | "choices">;

/** As many are shown; older ones that are closed are let go. */
const KEPT = 50;

const HEAD = [
  "id",
  "revision",
  "state",
  "created_at",
  "user_id",
  "username",
  "format",
  "source",
  "hash",
  "listed",
  "listed_before",
  "changed",
  "warning",
  "decided_by",
  "decided_at",
  "reason",
  "version",
] as const;

export async function insertPriceDraft(db: Db, row: Insertable<PriceDraftsTable>): Promise<number> {
  const { id } = await db.insertInto("price_drafts").values(row).returning("id").executeTakeFirstOrThrow();
  await db
    .deleteFrom("price_drafts")
    .where("id", "<=", id - KEPT)
    .where("state", "in", ["published", "discarded"])
    .execute();
  return id;
}

export function findPriceDraft(db: Db, id: number): Promise<PriceDraftStored | undefined> {
  return db.selectFrom("price_drafts").selectAll().where("id", "=", id).executeTakeFirst();
}

/** Newest first. */
export function listPriceDrafts(db: Db): Promise<PriceDraftListed[]> {
  return db.selectFrom("price_drafts").select(HEAD).orderBy("id", "desc").limit(KEPT).execute();
}

/** The newest draft of each source that was not discarded, at most so many. */
export async function listSourceDrafts(db: Db, limit: number): Promise<PriceDraftStored[]> {
  return db
    .selectFrom("price_drafts")
    .selectAll()
    .where("id", "in", (select) =>
      select
        .selectFrom("price_drafts")
        .select(({ fn }) => fn.max("id").as("id"))
        .where("state", "<>", "discarded")
        .groupBy("source"),
    )
    .orderBy("id", "desc")
    .limit(limit)
    .execute();
}

/** The most models that a draft of the source named which was not discarded; 0 = there is none. */
export async function mostListed(db: Db, source: string): Promise<number> {
  const row = await db
    .selectFrom("price_drafts")
    .select(({ fn }) => fn.max("listed").as("most"))
    .where("source", "=", source)
    .where("state", "<>", "discarded")
    .executeTakeFirst();
  return Number(row?.most ?? 0);
}

/** Changes a draft in one of these states at this revision, which is the next one then. Returns whether it did. */
export async function changePriceDraft(
  db: Db,
  at: {
    readonly id: number;
    readonly revision: number;
    readonly states: readonly PriceDraftStored["state"][];
  },
  change: Updateable<PriceDraftsTable>,
): Promise<boolean> {
  const changed = await db
    .updateTable("price_drafts")
    .set({ ...change, revision: at.revision + 1 })
    .where("id", "=", at.id)
    .where("revision", "=", at.revision)
    .where("state", "in", at.states)
    .returning("id")
    .execute();
  return changed.length > 0;
}

/** Models that a source named, now or once. */
export async function listListedModels(db: Db, source: string): Promise<string[]> {
  const rows = await db.selectFrom("price_listings").select("model").where("source", "=", source).execute();
  return rows.map(({ model }) => model);
}

/** Sources that named a model and do so no more, by model. Order: by source. */
export async function listGoneModels(db: Db): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await db
    .selectFrom("price_listings")
    .select(["model", "source"])
    .where("gone_at", ">", 0)
    .orderBy("source")
    .execute();
  const gone = new Map<string, string[]>();
  for (const { model, source } of rows) gone.set(model, [...(gone.get(model) ?? []), source]);
  return gone;
}

/** Rows of one statement: a database takes only so many values. */
const SLICE = 1_000;

/** What a list of this source names; all others of it are gone from now on. */
export async function saveListings(
  db: Db,
  {
    source,
    models,
    now,
  }: { readonly source: string; readonly models: readonly string[]; readonly now: number },
): Promise<void> {
  await db
    .updateTable("price_listings")
    .set({ gone_at: now })
    .where("source", "=", source)
    .where("gone_at", "=", 0)
    .execute();
  for (let from = 0; from < models.length; from += SLICE)
    await db
      .insertInto("price_listings")
      .values(models.slice(from, from + SLICE).map((model) => ({ source, model, seen_at: now, gone_at: 0 })))
      .onConflict((conflict) =>
        conflict.columns(["source", "model"]).doUpdateSet({ seen_at: now, gone_at: 0 }),
      )
      .execute();
}
