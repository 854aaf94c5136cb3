// Tokens: the API keys of users. `remain_quota` and `used_quota` are written by `money` only. Deleted ones stay as rows.
import { type Insertable, type Selectable, sql, type Updateable } from "kysely";
import { TEAM_RIGHTS } from "#contract/team-words.ts";
import { TokenStatus } from "#contract/token.ts";
import { changesOne, isNoChange } from "./change.ts";
import type { Db } from "./db.ts";
import {
  countRows,
  hasName,
  keywordOf,
  type Made,
  madeBetween,
  pageOf,
  type SortedPage,
  startsWith,
} from "./page.ts";
import { lockRows } from "./row-locks.ts";
import type { TokensTable } from "./tables-keys.ts";

/** A living token; the sealed key is what "copy" opens, the hash proves that it is this row's. */
export type TokenRow = Omit<Selectable<TokensTable>, "deleted_at">;

/** A new token; what it may spend is granted by `money` afterwards. */
export type NewToken = Omit<Insertable<TokensTable>, "id" | "remain_quota" | "used_quota" | "deleted_at">;

export type TokenChange = Omit<
  Updateable<TokensTable>,
  "id" | "user_id" | "wallet_id" | "remain_quota" | "used_quota" | "deleted_at"
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
  "key_hint",
  "tags",
  "metadata",
  "made_by",
  "wallet_id",
  "project_id",
  "groups",
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

/** A living token; with `userId` only one of that user's own, not of a team. */
export function findToken(db: Db, id: number, userId?: number): Promise<TokenRow | undefined> {
  let query = db.selectFrom("tokens").select(COLUMNS).where("id", "=", id).where("deleted_at", "=", 0);
  if (userId !== undefined) query = query.where("user_id", "=", userId).where("wallet_id", "=", 0);
  return query.executeTakeFirst();
}

/** Living tokens, and what admission needs to know of their owners. */
export function keyOwners(db: Db) {
  return db
    .selectFrom("tokens")
    .innerJoin("users", "users.id", "tokens.user_id")
    .leftJoin("users as wallets", "wallets.id", "tokens.wallet_id")
    .leftJoin("teams", "teams.wallet_id", "tokens.wallet_id")
    .leftJoin("team_members", (join) =>
      join
        .onRef("team_members.team_id", "=", "teams.id")
        .onRef("team_members.user_id", "=", "tokens.user_id")
        .on("team_members.role", "in", TEAM_RIGHTS.token),
    )
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
      "tokens.groups as groups",
      "users.username as username",
      "users.language as language",
      "users.group as group",
      "users.role as role",
      "users.staff_set_id as staff_set_id",
      "users.status as user_status",
      "tokens.wallet_id as wallet_id",
      "tokens.project_id as project_id",
      "wallets.group as wallet_group",
      "wallets.status as wallet_status",
      "users.debt_quota as user_debt",
      "wallets.debt_quota as wallet_debt",
      "team_members.id as seat_id",
      "teams.id as team_id",
    ])
    .where("tokens.deleted_at", "=", 0);
}

/** The living token with this key and its owner, in one look. */
export function findTokenByKey(db: Db, keyHash: string) {
  return keyOwners(db).where("tokens.key_hash", "=", keyHash).executeTakeFirst();
}

/** The same by the token's id. */
export function findKeyOwner(db: Db, id: number) {
  return keyOwners(db).where("tokens.id", "=", id).executeTakeFirst();
}

/** What `findTokenByKey` answers. */
export type TokenWithOwner = NonNullable<Awaited<ReturnType<typeof findTokenByKey>>>;

/** Whose a token is: a user's own, or with a wallet the one he holds of a team. */
export interface Holder {
  readonly userId: number;
  /** Absent = his own account pays. */
  readonly walletId?: number;
}

/** The holder of a row. */
export function holderOf({ user_id, wallet_id }: Pick<TokenRow, "user_id" | "wallet_id">): Holder {
  return { userId: user_id, walletId: wallet_id };
}

function changing(db: Db, { userId, walletId = 0 }: Holder) {
  return db
    .updateTable("tokens")
    .where("user_id", "=", userId)
    .where("wallet_id", "=", walletId)
    .where("deleted_at", "=", 0);
}

/** Nothing opens the key any more; its hash stays, so that it can never be given out again. */
const REMOVED = { key_sealed: "" };

/** Changes anything but quotas. Returns whether the user has this token. */
export async function updateToken(
  db: Db,
  { id, change, ...holder }: Holder & { id: number; change: TokenChange },
): Promise<boolean> {
  // There is nothing to set; whether there is such a token is asked all the same.
  const set = isNoChange(change) ? { wallet_id: holder.walletId ?? 0 } : change;
  return changesOne(changing(db, holder).set(set).where("id", "=", id));
}

/** Deletes a token for everybody but the ledger. Returns whether the user had it. Unit of `now`: seconds. */
export function removeToken(
  db: Db,
  { id, now, ...holder }: Holder & { id: number; now: number },
): Promise<boolean> {
  return changesOne(
    changing(db, holder)
      .set({ deleted_at: now, ...REMOVED })
      .where("id", "=", id),
  );
}

/** Deletes all tokens of a user, also those that a team pays for. */
export async function removeTokensOfUser(db: Db, userId: number, now: number): Promise<void> {
  const tokens = db
    .selectFrom("tokens")
    .select("id")
    .where("user_id", "=", userId)
    .where("deleted_at", "=", 0);
  await lockRows(
    db,
    "tokens",
    (await tokens.execute()).map(({ id }) => id),
  );
  await db
    .updateTable("tokens")
    .set({ deleted_at: now, ...REMOVED })
    .where("user_id", "=", userId)
    .where("deleted_at", "=", 0)
    .execute();
}

/** A user's own tokens, those he holds of a team, or all of a team. */
export type TokenFilter = (
  | { readonly userId: number; readonly walletId?: number }
  | { readonly userId?: undefined; readonly walletId: number }
) & {
  /** Head of the name; "" = all. */
  readonly prefix?: string | undefined;
  /** One of its tags; "" = all. */
  readonly tag?: string | undefined;
  /** The status as it is shown: one whose time is over is expired, unless it was disabled. */
  readonly shown?: { readonly status: number; readonly nowSec: number } | undefined;
} & Made;

/** Whether a token is shown with this status. */
function isShownAs({ status, nowSec }: NonNullable<TokenFilter["shown"]>) {
  const isOver = sql`(expired_time <> -1 AND expired_time <= ${nowSec})`;
  if (status === TokenStatus.expired)
    return sql<boolean>`(status = ${status} OR (${isOver} AND status <> ${TokenStatus.disabled}))`;
  if (status === TokenStatus.disabled) return sql<boolean>`status = ${status}`;
  return sql<boolean>`(status = ${status} AND NOT ${isOver})`;
}

function filtered(db: Db, filter: TokenFilter) {
  const prefix = keywordOf(filter.prefix);
  const { tag = "" } = filter;
  let query = db
    .selectFrom("tokens")
    .where("wallet_id", "=", filter.walletId ?? 0)
    .where("deleted_at", "=", 0);
  if (tag !== "") query = query.where(hasName(db, "tags", tag));
  if (filter.shown !== undefined) query = query.where(isShownAs(filter.shown));
  query = madeBetween(query, "created_time", filter);
  if (filter.userId !== undefined) query = query.where("user_id", "=", filter.userId);
  return prefix === "" ? query : query.where(startsWith(db, "name", prefix));
}

/** A page of a user's or a team's tokens, newest first unless sorted otherwise. */
export function listTokens(db: Db, args: TokenFilter & SortedPage): Promise<TokenRow[]> {
  const query = filtered(db, args).select(COLUMNS);
  // Unlimited counts as more than any number (requirements W3.7).
  const isByBalance = args.order === "remain_quota" && args.before === undefined;
  const sorted = isByBalance ? query.orderBy("unlimited_quota", args.desc ? "desc" : "asc") : query;
  return pageOf(sorted, args, TOKEN_SORT_COLUMNS).execute();
}

export function countTokens(db: Db, filter: TokenFilter): Promise<number> {
  return countRows(filtered(db, filter));
}

/** Living tokens from an id on whose keys can still be opened. Order: by id. */
export function listSealedTokens(db: Db, after: number, count: number) {
  return db
    .selectFrom("tokens")
    .select(["id", "key_hash", "key_sealed"])
    .where("id", ">", after)
    .where("deleted_at", "=", 0)
    .where("key_sealed", "!=", "")
    .orderBy("id")
    .limit(count)
    .execute();
}

/** Forgets what opens a key. Returns whether the token still had this key. */
export function forgetKey(db: Db, token: Pick<TokenRow, "id" | "key_hash" | "key_hint">): Promise<boolean> {
  return changesOne(
    db
      .updateTable("tokens")
      .set({ key_sealed: "", key_hint: token.key_hint })
      .where("id", "=", token.id)
      .where("key_hash", "=", token.key_hash),
  );
}
