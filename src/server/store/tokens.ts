// Tokens: the API keys of users. `remain_quota` and `used_quota` are written by `money` only. Deleted ones stay as rows.
import { type Insertable, type Selectable, sql, type Updateable } from "kysely";
import { isNoChange } from "./change.ts";
import type { Db } from "./db.ts";
import { bounds, keywordOf, type SortedPage, sortColumn, startsWith } from "./page.ts";
import type { TokensTable } from "./tables.ts";

/** A living token; the sealed key is what "copy" opens, the hash proves that it is this row's. */
export type TokenRow = Omit<Selectable<TokensTable>, "deleted_at">;

/** A new token; what it may spend is granted by `money` afterwards. */
export type NewToken = Omit<Insertable<TokensTable>, "id" | "remain_quota" | "used_quota" | "deleted_at">;

export type TokenChange = Omit<
  Updateable<TokensTable>,
  "id" | "user_id" | "remain_quota" | "used_quota" | "deleted_at"
>;

const COLUMNS = [
  "id",
  "user_id",
  "key_hash",
  "key_sealed",
  "status",
  "name",
  "created_time",
  "accessed_time",
  "expired_time",
  "remain_quota",
  "unlimited_quota",
  "used_quota",
  "models",
  "subnet",
] as const satisfies readonly (keyof TokenRow)[];

/** Columns a list of tokens can be sorted by. */
export const TOKEN_SORT_COLUMNS = [
  "id",
  "name",
  "status",
  "used_quota",
  "remain_quota",
  "created_time",
  "accessed_time",
  "expired_time",
] as const satisfies readonly (keyof TokenRow)[];

/** Returns the id. Throws: an error that `isTaken` recognises when the key exists. */
export async function insertToken(db: Db, token: NewToken): Promise<number> {
  const row = await db.insertInto("tokens").values(token).returning("id").executeTakeFirstOrThrow();
  return row.id;
}

/** A living token; with `userId` only one of that user's. */
export function findToken(db: Db, id: number, userId?: number): Promise<TokenRow | undefined> {
  let query = db.selectFrom("tokens").select(COLUMNS).where("id", "=", id).where("deleted_at", "=", 0);
  if (userId !== undefined) query = query.where("user_id", "=", userId);
  return query.executeTakeFirst();
}

/** The living token with this key, and what admission needs to know of its owner, in one look. */
export function findTokenByKey(db: Db, keyHash: string) {
  return db
    .selectFrom("tokens")
    .innerJoin("users", "users.id", "tokens.user_id")
    .select([
      "tokens.id as id",
      "tokens.user_id as user_id",
      "tokens.status as status",
      "tokens.name as name",
      "tokens.expired_time as expired_time",
      "tokens.remain_quota as remain_quota",
      "tokens.unlimited_quota as unlimited_quota",
      "tokens.models as models",
      "tokens.subnet as subnet",
      "users.username as username",
      "users.group as group",
      "users.role as role",
      "users.status as user_status",
    ])
    .where("tokens.key_hash", "=", keyHash)
    .where("tokens.deleted_at", "=", 0)
    .executeTakeFirst();
}

/** What `findTokenByKey` answers. */
export type KeyOwner = NonNullable<Awaited<ReturnType<typeof findTokenByKey>>>;

/** Changes anything but quotas. Returns whether the user has this token. */
export async function updateToken(
  db: Db,
  { id, userId, change }: { id: number; userId: number; change: TokenChange },
): Promise<boolean> {
  if (isNoChange(change)) return (await findToken(db, id, userId)) !== undefined;
  const result = await db
    .updateTable("tokens")
    .set(change)
    .where("id", "=", id)
    .where("user_id", "=", userId)
    .where("deleted_at", "=", 0)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Deletes a token for everybody but the ledger. Returns whether the user had it. Unit of `now`: seconds. */
export async function removeToken(
  db: Db,
  { id, userId, now }: { id: number; userId: number; now: number },
): Promise<boolean> {
  const result = await db
    .updateTable("tokens")
    // Nothing opens the key any more; its hash stays, so that it can never be given out again.
    .set({ deleted_at: now, key_sealed: "" })
    .where("id", "=", id)
    .where("user_id", "=", userId)
    .where("deleted_at", "=", 0)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Deletes all tokens of a user. */
export async function removeTokensOfUser(db: Db, userId: number, now: number): Promise<void> {
  await db
    .updateTable("tokens")
    .set({ deleted_at: now, key_sealed: "" })
    .where("user_id", "=", userId)
    .where("deleted_at", "=", 0)
    .execute();
}

export interface TokenFilter {
  readonly userId: number;
  /** Head of the name; "" = all. */
  readonly prefix?: string | undefined;
}

function filtered(db: Db, filter: TokenFilter) {
  const prefix = keywordOf(filter.prefix);
  const query = db.selectFrom("tokens").where("user_id", "=", filter.userId).where("deleted_at", "=", 0);
  return prefix === "" ? query : query.where(startsWith(db, "name", prefix));
}

/** A page of a user's tokens, newest first unless sorted otherwise. */
export function listTokens(db: Db, args: TokenFilter & SortedPage): Promise<TokenRow[]> {
  const { limit, offset } = bounds(args);
  const column = sortColumn(args.order, TOKEN_SORT_COLUMNS);
  const direction = args.desc ? "desc" : "asc";
  let query = filtered(db, args).select(COLUMNS);
  // Unlimited counts as more than any number (requirements W3.7).
  if (column === "remain_quota") query = query.orderBy("unlimited_quota", direction);
  if (column) query = query.orderBy(column, direction);
  return query.orderBy("id", "desc").limit(limit).offset(offset).execute();
}

export async function countTokens(db: Db, filter: TokenFilter): Promise<number> {
  const row = await filtered(db, filter).select(sql<number>`count(*)`.as("total")).executeTakeFirstOrThrow();
  return row.total;
}
