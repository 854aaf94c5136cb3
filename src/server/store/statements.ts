// Closed months of accounts, and the sums over entries of the ledger that they are made of. Every statement reads a part of one account's
// entries along ledger_user, so that an account of millions is read in pieces and no other statement waits for it.
import { type RawBuilder, type Selectable, sql } from "kysely";
import { type Db, sumInt } from "./db.ts";
import type { StatementsTable } from "./tables-statements.ts";

export type StatementRow = Selectable<StatementsTable>;
export type NewStatement = Omit<StatementRow, "id">;

/** Entries of an account: those after the first id, up to the second. */
export interface Entries {
  readonly userId: number;
  readonly after: number;
  readonly upTo: number;
}

/** Newest first. */
export function listStatements(db: Db, userId: number): Promise<StatementRow[]> {
  return db
    .selectFrom("statements")
    .selectAll()
    .where("user_id", "=", userId)
    .orderBy("month", "desc")
    .execute();
}

export function findStatement(db: Db, userId: number, month: string): Promise<StatementRow | undefined> {
  return db
    .selectFrom("statements")
    .selectAll()
    .where("user_id", "=", userId)
    .where("month", "=", month)
    .executeTakeFirst();
}

/** The newest closed month; undefined = none. */
export function findNewestStatement(db: Db, userId: number): Promise<StatementRow | undefined> {
  return db
    .selectFrom("statements")
    .selectAll()
    .where("user_id", "=", userId)
    .orderBy("month", "desc")
    .limit(1)
    .executeTakeFirst();
}

/** Keeps a month once: a call that closes it at the same time has found the same. */
export async function insertStatement(db: Db, row: NewStatement): Promise<void> {
  await db
    .insertInto("statements")
    .values(row)
    .onConflict((conflict) => conflict.columns(["user_id", "month"]).doNothing())
    .execute();
}

/** Accounts after an id that have entries and no statement of this month, by id. */
export async function findUnclosed(
  db: Db,
  { month, after, limit }: { readonly month: string; readonly after: number; readonly limit: number },
): Promise<{ readonly ids: readonly number[]; readonly last: number | undefined }> {
  const page = await db
    .selectFrom("users")
    .select((user) => [
      "users.id",
      user
        .exists(user.selectFrom("ledger").select("ledger.id").whereRef("ledger.user_id", "=", "users.id"))
        .as("has_entries"),
      user
        .exists(
          user
            .selectFrom("statements")
            .select("statements.id")
            .whereRef("statements.user_id", "=", "users.id")
            .where("statements.month", "=", month),
        )
        .as("is_closed"),
    ])
    .where("users.id", ">", after)
    .orderBy("users.id")
    .limit(limit)
    .execute();
  const ids = page.filter((row) => row.has_entries && !row.is_closed).map(({ id }) => id);
  return { ids, last: page.at(-1)?.id };
}

/** The first entry after an id; undefined = there is none. */
export function findEntryAfter(
  db: Db,
  userId: number,
  after: number,
): Promise<{ id: number; created_at: number } | undefined> {
  return db
    .selectFrom("ledger")
    .select(["id", "created_at"])
    .where("user_id", "=", userId)
    .where("id", ">", after)
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
}

/** The id of the newest entry; 0 = none. */
export async function findLastEntryId(db: Db, userId: number): Promise<number> {
  const row = await db
    .selectFrom("ledger")
    .select("id")
    .where("user_id", "=", userId)
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  return row?.id ?? 0;
}

/** Where a piece of so many entries ends; undefined = there are fewer. */
export async function findPieceEnd(
  db: Db,
  { userId, after, upTo }: Entries,
  size: number,
): Promise<number | undefined> {
  const row = await db
    .selectFrom("ledger")
    .select("id")
    .where("user_id", "=", userId)
    .where("id", ">", after)
    .where("id", "<=", upTo)
    .orderBy("id")
    .offset(size - 1)
    .limit(1)
    .executeTakeFirst();
  return row?.id;
}

/** Sums of a piece of the ledger, calls by token and model. */
export interface EntrySum {
  readonly kind: string;
  readonly token_id: number;
  /** "" = it is no call. */
  readonly model_name: string;
  readonly entries: number;
  readonly amount: number;
  readonly plan_amount: number;
  readonly shortfall: number;
}

export async function sumEntries(db: Db, { userId, after, upTo }: Entries): Promise<EntrySum[]> {
  const int = (column: string) => sql.raw(`cast(coalesce(sum(${column}), 0) as bigint)`);
  // What plans paid stands in the call's own entry too.
  const { rows } = await sql<EntrySum>`
    SELECT kind, CASE WHEN kind = 'consume' THEN token_id ELSE 0 END AS token_id,
      CASE WHEN kind = 'consume' THEN detail ELSE '' END AS model_name, count(*) AS entries,
      ${int("amount")} AS amount, ${int("plan_amount")} AS plan_amount, ${int("shortfall")} AS shortfall
    FROM ledger WHERE user_id = ${userId} AND id > ${after} AND id <= ${upTo} AND kind <> 'plan-consume'
    GROUP BY 1, 2, 3`.execute(db);
  return rows;
}

/** Entries whose shortfall is owed from then on. */
export const INDEBTING: readonly string[] = ["refund", "dispute"];

/** What an account owed after an entry: what refunds and disputes could not take, less what credits paid of it. */
export async function sumDebt(db: Db, userId: number, upTo: number): Promise<number> {
  const row = await db
    .selectFrom("ledger")
    .select(sumInt(sql<number>`CASE WHEN kind = 'debt' THEN amount ELSE shortfall END`).as("debt"))
    .where("user_id", "=", userId)
    .where("id", "<=", upTo)
    .where("kind", "in", ["debt", ...INDEBTING])
    .executeTakeFirst();
  return row?.debt ?? 0;
}

/** What models counted in the hours of a span. Unit: seconds. */
export function sumTokensByModel(
  db: Db,
  { userId, start, before }: { readonly userId: number; readonly start: number; readonly before: number },
): Promise<
  { model_name: string; prompt_tokens: number; cached_tokens: number; completion_tokens: number }[]
> {
  return db
    .selectFrom("log_rollups")
    .select((row) => [
      "model_name",
      sumInt(row.ref("prompt_tokens")).as("prompt_tokens"),
      sumInt(row.ref("cached_tokens")).as("cached_tokens"),
      sumInt(row.ref("completion_tokens")).as("completion_tokens"),
    ])
    .where("user_id", "=", userId)
    .where("hour", ">=", start)
    .where("hour", "<", before)
    .groupBy("model_name")
    .execute();
}

/** How many keys one statement reads the hours of. */
const KEYS_AT_ONCE = 100;

export interface KeyTokens {
  /** Calls. */
  readonly requests: number;
  readonly prompt_tokens: number;
  readonly cached_tokens: number;
  readonly completion_tokens: number;
}

/** What calls counted in the hours of a span, by keys of the dimension `token-model`; a key without calls is absent. Unit: seconds. */
export async function sumTokensByKey(
  db: Db,
  keys: readonly string[],
  span: { readonly start: number; readonly before: number },
): Promise<ReadonlyMap<string, KeyTokens>> {
  const found = new Map<string, KeyTokens>();
  for (let at = 0; at < keys.length; at += KEYS_AT_ONCE) {
    const { rows } = await tokensQuery(keys.slice(at, at + KEYS_AT_ONCE), span).execute(db);
    for (const { key, ...sums } of rows) found.set(key, sums);
  }
  return found;
}

/** Names the keys, so that databases read the hours of these alone. */
export function tokensQuery(
  keys: readonly string[],
  { start, before }: { readonly start: number; readonly before: number },
): RawBuilder<KeyTokens & { readonly key: string }> {
  const sum = (column: keyof KeyTokens) => sql`${sumInt(sql.ref<number>(column))} AS ${sql.ref(column)}`;
  return sql<KeyTokens & { readonly key: string }>`
    SELECT key, ${sum("requests")}, ${sum("prompt_tokens")}, ${sum("cached_tokens")}, ${sum("completion_tokens")}
    FROM log_sums WHERE dimension = 'token-model' AND key IN (${sql.join(keys)}) AND hour >= ${start} AND hour < ${before}
    GROUP BY key`;
}

export interface MoneySum {
  readonly instance_id: number;
  readonly currency: string;
  readonly paid_minor: number;
  readonly refunded_minor: number;
}

/**
 * Money that entries of the account stand for: payments that were credited, and what went back of them since, by refunds that are done and
 * by disputes. A payment that went back before it was credited was never the account's: it is on neither side.
 */
export async function sumMoney(db: Db, entries: Entries): Promise<MoneySum[]> {
  return (await moneyQuery(entries).execute(db)).rows;
}

/** Begins with the few orders: the signs keep databases from going through all entries of the account instead. */
export function moneyQuery({ userId, after, upTo }: Entries): RawBuilder<MoneySum> {
  const within = sql`+ledger.user_id = ${userId} AND +ledger.id > ${after} AND +ledger.id <= ${upTo}`;
  return sql<MoneySum>`
    SELECT instance_id, currency, cast(sum(paid) as bigint) AS paid_minor, cast(sum(back) as bigint) AS refunded_minor
    FROM (
      SELECT orders.instance_id, orders.currency, orders.paid_minor AS paid, 0 AS back
      FROM orders JOIN ledger ON ledger.request_id = 'order/' || orders.order_no || '/credit'
      WHERE orders.user_id = ${userId} AND ${within}
      UNION ALL
      SELECT orders.instance_id, orders.currency, 0 AS paid,
        CASE WHEN ledger.request_id = refund_no || '/won' THEN -order_refunds.amount_minor ELSE order_refunds.amount_minor END AS back
      FROM orders JOIN order_refunds ON order_refunds.order_no = orders.order_no
      JOIN ledger ON ledger.request_id IN
        ('refund/' || refund_no || '/done', 'refund/' || refund_no || '/open', refund_no || '/open', refund_no || '/won')
      JOIN ledger AS credited ON credited.request_id = 'order/' || orders.order_no || '/credit' AND credited.id < ledger.id
      WHERE orders.user_id = ${userId} AND ${within}
    ) AS moved
    GROUP BY instance_id, currency ORDER BY instance_id, currency`;
}

/** Names and tags of tokens, deleted ones too. */
export async function nameTokens(
  db: Db,
  ids: readonly number[],
): Promise<ReadonlyMap<number, { readonly name: string; readonly tags: string }>> {
  const names = new Map<number, { readonly name: string; readonly tags: string }>();
  const size = 500;
  for (let at = 0; at < ids.length; at += size) {
    const rows = await db
      .selectFrom("tokens")
      .select(["id", "name", "tags"])
      .where("id", "in", ids.slice(at, at + size))
      .execute();
    for (const { id, name, tags } of rows) names.set(id, { name, tags });
  }
  return names;
}

/** The name of a team by its wallet, or of a user. */
export async function nameAccount(db: Db, userId: number): Promise<string> {
  const row = await db
    .selectFrom("users")
    .leftJoin("teams", "teams.wallet_id", "users.id")
    .select(["users.username", "teams.name"])
    .where("users.id", "=", userId)
    .executeTakeFirst();
  return row?.name ?? row?.username ?? "";
}

/** Of a deleted user: his name, and whom invoices were made out to. The sums stay. */
export async function eraseStatementsOf(tx: Db, userId: number): Promise<void> {
  await tx
    .updateTable("statements")
    .set({ account_name: "", buyer_sealed: "" })
    .where("user_id", "=", userId)
    .execute();
}

export async function nameInstances(db: Db): Promise<ReadonlyMap<number, string>> {
  const rows = await db.selectFrom("payment_instances").select(["id", "name"]).execute();
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** Where the audit trail ends at this moment. */
export async function findTrailHead(db: Db): Promise<string> {
  const { last_hash } = await db.selectFrom("audit_head").select("last_hash").executeTakeFirstOrThrow();
  return last_hash;
}
