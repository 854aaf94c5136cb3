// Users. Balances are read here and written by `money` only; the password and the access token leave by named queries.
import { type Insertable, type Selectable, sql, type Updateable } from "kysely";
import { Language } from "#contract/language.ts";
import { plainName } from "#contract/name.ts";
import { changesOne, isNoChange } from "./change.ts";
import { type Db, isPostgres } from "./db.ts";
import { mailboxOf } from "./mailbox.ts";
import { holdName } from "./names.ts";
import {
  countRows,
  hasName,
  idOf,
  keywordOf,
  type Made,
  madeBetween,
  newestFirst,
  pageOf,
  type SortedPage,
  startsWith,
} from "./page.ts";
import type { UsersTable } from "./tables.ts";

/** A person: wallets of teams are found by nothing here. Without what must never travel with the others, password and access token, and without what only the store compares. */
export type UserRow = Omit<
  Selectable<UsersTable>,
  "password" | "access_token_hash" | "mailbox" | "is_wallet" | Exclude<Balance, (typeof COLUMNS)[number]>
>;

type Balance =
  | "quota"
  | "used_quota"
  | "request_count"
  | "invite_commission_micro"
  | "debt_quota"
  | "commission_debt_micro"
  | "commission_orders"
  | "commission_month"
  | "commission_month_micro"
  | "bought";

/** What a new user is made of; the balance starts at 0 and is granted by `money`. */
export type NewUser = Omit<Insertable<UsersTable>, "id" | "mailbox" | "is_wallet" | Balance>;

/** What may be changed here: everything but the balances. */
export type UserChange = Omit<Updateable<UsersTable>, "id" | "mailbox" | "is_wallet" | Balance>;

/** What is written beside an address: whose mailbox it is may belong to one account only. */
export function withMailbox<Row extends { readonly email?: string | undefined }>(row: Row) {
  return row.email === undefined ? row : { ...row, mailbox: mailboxOf(row.email) };
}

const COLUMNS = [
  "id",
  "username",
  "display_name",
  "role",
  "status",
  "email",
  "github_id",
  "wechat_id",
  "quota",
  "used_quota",
  "request_count",
  "group",
  "aff_code",
  "inviter_id",
  "created_at",
  "invite_commission_micro",
  "external_login",
  "staff_set_id",
  "language",
] as const satisfies readonly (keyof UsersTable)[];

/** Columns a list of users can be sorted by. */
export const USER_SORT_COLUMNS = COLUMNS;

function reading(db: Db) {
  return db.selectFrom("users").select(COLUMNS).where("is_wallet", "=", 0);
}

/** The one with this id. Throws: when there is none. */
export async function getUser(db: Db, id: number): Promise<UserRow> {
  return reading(db).where("id", "=", id).executeTakeFirstOrThrow();
}

export function findUserById(db: Db, id: number): Promise<UserRow | undefined> {
  return reading(db).where("id", "=", id).executeTakeFirst();
}

/** The group of an account, a team's wallet too; "" = there is none. */
export async function groupOfAccount(db: Db, id: number): Promise<string> {
  const row = await db.selectFrom("users").select("group").where("id", "=", id).executeTakeFirst();
  return row?.group ?? "";
}

export function findUserByName(db: Db, username: string): Promise<UserRow | undefined> {
  return reading(db).where("username", "=", username).executeTakeFirst();
}

/**
 * The one whose e-mail address it is, else the one whose name: no user can take the place of an address by a name like it. A name is
 * found as it is written, since old ones may differ in case or form only, else in the form that new names are kept in.
 */
export async function findUserByLogin(db: Db, nameOrEmail: string): Promise<UserRow | undefined> {
  if (nameOrEmail === "") return undefined;
  const owner = nameOrEmail.includes("@")
    ? await findUserByIdentity(db, "email", nameOrEmail.toLowerCase())
    : undefined;
  return (
    owner ?? (await findUserByName(db, nameOrEmail)) ?? (await findUserByName(db, plainName(nameOrEmail)))
  );
}

/** What proves who a user is besides a password; each belongs to one account (requirements A19). */
export type Identity = "email" | "github_id" | "wechat_id";

/** What stands in `github_id` of an imported account whose source knew only the login name; never mistaken for an id. */
export function importedGithubId(login: string): string {
  return login === "" ? "" : `login:${login.toLowerCase()}`;
}

/** The one who owns an identity; addresses are stored in lower case. */
export async function findUserByIdentity(
  db: Db,
  identity: Identity,
  value: string,
): Promise<UserRow | undefined> {
  if (value === "") return undefined;
  return reading(db).where(identity, "=", value).where(identity, "<>", "").executeTakeFirst();
}

/** The language that the owner of an address chose; undefined = none did. */
export async function findLanguageOf(db: Db, email: string): Promise<Language | undefined> {
  const { data } = Language.safeParse((await findUserByIdentity(db, "email", email))?.language);
  return data;
}

/** The one who has an address, or another address of the same mailbox; "" is no user's. */
export async function findUserByMailbox(db: Db, email: string): Promise<UserRow | undefined> {
  const inMailbox = reading(db).where("mailbox", "=", mailboxOf(email)).where("mailbox", "<>", "");
  const holder = await inMailbox.executeTakeFirst();
  return holder ?? findUserByIdentity(db, "email", email);
}

/** The first enabled user of a role who has an e-mail address. */
export function findMailableUser(db: Db, role: number, status: number): Promise<UserRow | undefined> {
  return reading(db)
    .where("role", ">=", role)
    .where("status", "=", status)
    .where("email", "<>", "")
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
}

/** The oldest user of a role. */
export function findFirstOfRole(db: Db, role: number): Promise<UserRow | undefined> {
  return reading(db).where("role", "=", role).orderBy("id").limit(1).executeTakeFirst();
}

/** Whether an enabled user of a role has chosen to come in with this identity too. */
export async function hasExternalLogin(
  db: Db,
  args: { identity: "github_id" | "wechat_id"; role: number; status: number },
): Promise<boolean> {
  const row = await db
    .selectFrom("users")
    .select("id")
    .where("role", ">=", args.role)
    .where("status", "=", args.status)
    .where("external_login", "=", 1)
    .where(args.identity, "<>", "")
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Columns of a user with the values that the caller saw in them when deciding. */
export type SeenColumns = Partial<
  Pick<
    Selectable<UsersTable>,
    "password" | "access_token_hash" | "status" | "role" | "external_login" | "github_id" | "wechat_id"
  >
>;

/**
 * Whether a user still is as the caller saw it, and until the transaction `tx` ends it stays so: a change waits, or was made
 * before and is seen here.
 */
export async function holdUser(tx: Db, id: number, seen: SeenColumns): Promise<boolean> {
  const query = tx
    .selectFrom("users")
    .select("id")
    .where("id", "=", id)
    .where((where) => where.and(seen));
  // On SQLite the transaction itself has the only writer.
  const row = await (isPostgres(tx) ? query.forUpdate() : query).executeTakeFirst();
  return row !== undefined;
}

/** Puts another hash of the same password in its place. Returns false when it was changed meanwhile. */
export async function replacePassword(
  db: Db,
  id: number,
  change: { before: string; after: string },
): Promise<boolean> {
  return changesOne(
    db
      .updateTable("users")
      .set({ password: change.after })
      .where("id", "=", id)
      .where("password", "=", change.before),
  );
}

/** Puts one identity in the place of another, unless it was changed meanwhile. Returns whether it did. */
export async function replaceIdentity(
  db: Db,
  id: number,
  { identity, before, after }: { identity: Identity; before: string; after: string },
): Promise<boolean> {
  return changesOne(
    db
      .updateTable("users")
      .set({ [identity]: after })
      .where("id", "=", id)
      .where(identity, "=", before),
  );
}

export function findUserByAffCode(db: Db, affCode: string): Promise<UserRow | undefined> {
  return reading(db).where("aff_code", "=", affCode).executeTakeFirst();
}

export async function findUserIdByAccessToken(db: Db, accessTokenHash: string): Promise<number | undefined> {
  const row = await db
    .selectFrom("users")
    .select("id")
    .where("access_token_hash", "=", accessTokenHash)
    .executeTakeFirst();
  return row?.id;
}

/** The stored password hash; "" = no password login. */
export async function findPasswordByUserId(db: Db, id: number): Promise<string | undefined> {
  const row = await db.selectFrom("users").select("password").where("id", "=", id).executeTakeFirst();
  return row?.password;
}

/** Kind and cost of a bcrypt hash (`$2a$10$`) that some user still has; undefined when none has one. */
export async function findOutdatedPrefix(db: Db): Promise<string | undefined> {
  const row = await db
    .selectFrom("users")
    .select(sql<string>`substr(password, 1, 7)`.as("prefix"))
    .where("password", "like", "$2%")
    .limit(1)
    .executeTakeFirst();
  return row?.prefix;
}

/** The password hash of the first super administrator. */
export async function findRootPassword(db: Db, rootRole: number): Promise<string | undefined> {
  const row = await db
    .selectFrom("users")
    .select("password")
    .where("role", "=", rootRole)
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
  return row?.password;
}

/** Returns the id; inside a transaction. Throws: an error that `isTaken` recognises when a name, address or code is taken. */
export async function insertUser(tx: Db, user: NewUser): Promise<number> {
  const row = await tx
    .insertInto("users")
    .values(withMailbox(user))
    .returning("id")
    .executeTakeFirstOrThrow();
  await holdName(tx, row.id, user.username);
  return row.id;
}

/** Changes anything but balances; a name inside a transaction. Returns whether the user exists. */
export async function updateUserProfile(db: Db, id: number, change: UserChange): Promise<boolean> {
  if (isNoChange(change)) return (await findUserById(db, id)) !== undefined;
  const isThere = await changesOne(db.updateTable("users").set(withMailbox(change)).where("id", "=", id));
  if (isThere && change.username !== undefined) await holdName(db, id, change.username);
  return isThere;
}

/** Moves a user to another status, if it still has the expected one. Returns whether it had. */
export async function setUserStatus(db: Db, id: number, from: number, to: number): Promise<boolean> {
  return changesOne(
    db.updateTable("users").set({ status: to }).where("id", "=", id).where("status", "=", from),
  );
}

export interface UserFilter extends Made {
  /** Id, or the head of a name, display name or e-mail address; "" = all. */
  readonly keyword?: string | undefined;
  /** Statuses left out of the list, such as that of deleted accounts. */
  readonly exceptStatus?: number | undefined;
  /** 0 and "" = all; a group is one of theirs. */
  readonly status?: number | undefined;
  readonly role?: number | undefined;
  readonly group?: string | undefined;
}

function filtered(db: Db, filter: UserFilter) {
  const keyword = keywordOf(filter.keyword);
  let query = db.selectFrom("users").where("is_wallet", "=", 0);
  if (filter.exceptStatus !== undefined) query = query.where("status", "!=", filter.exceptStatus);
  if (filter.status) query = query.where("status", "=", filter.status);
  if (filter.role) query = query.where("role", "=", filter.role);
  if (filter.group) query = query.where(hasName(db, "group", filter.group));
  query = madeBetween(query, "created_at", filter);
  if (keyword === "") return query;
  return query.where((where) =>
    where.or([
      where("id", "=", idOf(keyword) ?? 0),
      startsWith(db, "username", keyword),
      startsWith(db, "display_name", keyword),
      startsWith(db, "email", keyword),
    ]),
  );
}

/** A page of users, newest first unless sorted otherwise. */
export function listUsers(db: Db, args: UserFilter & SortedPage): Promise<UserRow[]> {
  const newest = newestFirst(db, keywordOf(args.keyword) !== "");
  return pageOf(filtered(db, args).select(COLUMNS), args, USER_SORT_COLUMNS, newest).execute();
}

export function countUsers(db: Db, filter: UserFilter): Promise<number> {
  return countRows(filtered(db, filter));
}

/** Whether there is any account. Reads what every schema has: it is asked before a database is migrated. */
export async function hasUsers(db: Db): Promise<boolean> {
  return (await db.selectFrom("users").select("id").limit(1).executeTakeFirst()) !== undefined;
}

/** Commission that refunds took back and that later commission pays first. Unit: millionths of a yuan. */
export async function commissionDebtOf(db: Db, id: number): Promise<number> {
  const row = await db
    .selectFrom("users")
    .select("commission_debt_micro")
    .where("id", "=", id)
    .executeTakeFirst();
  return row?.commission_debt_micro ?? 0;
}

/** Quota that refunds and disputes could not take from a user, and that the next credits pay. */
export async function debtOf(db: Db, id: number): Promise<number> {
  const row = await db.selectFrom("users").select("debt_quota").where("id", "=", id).executeTakeFirst();
  return row?.debt_quota ?? 0;
}
