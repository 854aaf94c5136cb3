// Who holds which user name. Names that differ in case or form only are one; the primary key decides between calls at the same time.
// Accounts from before this was counted keep their names, also where two are one now.
import { sql } from "kysely";
import { plainName } from "#contract/name.ts";
import { type Db, isPostgres } from "./db.ts";
import { StoreError } from "./fault.ts";

/** What names that count as one have in common. By way of capitals, since some letters have several small forms. */
export function nameKeyOf(username: string): string {
  return plainName(plainName(username).toUpperCase().toLowerCase());
}

/** The user whose name this is, or one that counts as the same; `except` is left out of account. */
export async function findNameHolder(db: Db, username: string, except = 0): Promise<number | undefined> {
  const key = nameKeyOf(username);
  const holder = await db
    .selectFrom("user_names")
    .select("user_id as id")
    .where("name_key", "=", key)
    .where("user_id", "<>", except)
    .executeTakeFirst();
  if (holder) return holder.id;
  // Names that hold no key: not entered yet, or the younger of two that are one.
  const namesake = await db
    .selectFrom("users")
    .select("id")
    .where(sql`lower(username)`, "=", key)
    .where("id", "<>", except)
    .limit(1)
    .executeTakeFirst();
  return namesake?.id;
}

/**
 * Gives a user a name and frees the former one; inside the transaction that writes it in the user's row. Throws: an error that
 * `isTaken` recognises when it is another user's.
 */
export async function holdName(tx: Db, userId: number, username: string): Promise<void> {
  if ((await findNameHolder(tx, username, userId)) !== undefined)
    throw new StoreError("constraint", "UNIQUE constraint failed: the name differs in case or form only");
  await tx.deleteFrom("user_names").where("user_id", "=", userId).execute();
  await tx
    .insertInto("user_names")
    .values({ name_key: nameKeyOf(username), user_id: userId })
    .execute();
}

/** How many users are looked at in one go. */
const SLICE = 500;

/**
 * Enters names that are not entered: those from before, imported ones, and what nodes of an older program have written meanwhile.
 * Of names that are one the oldest user's is entered. Returns how many were missing or outdated.
 */
export async function enterNames(db: Db): Promise<number> {
  let found = 0;
  for (let lastId: number | undefined = 0; lastId !== undefined; ) {
    const rows: UserName[] = await db
      .selectFrom("users")
      .leftJoin("user_names", "user_names.user_id", "users.id")
      .select(["users.id", "users.username", "user_names.name_key"])
      .where("users.id", ">", lastId)
      .orderBy("users.id")
      .limit(SLICE)
      .execute();
    const ids = rows.filter(isOutdated).map(({ id }) => id);
    if (ids.length > 0) await db.transaction().execute((tx) => enter(tx, ids));
    found += ids.length;
    lastId = rows.length < SLICE ? undefined : rows.at(-1)?.id;
  }
  return found;
}

interface UserName {
  readonly id: number;
  readonly username: string;
  readonly name_key: string | null;
}

function isOutdated({ username, name_key }: UserName): boolean {
  return name_key !== nameKeyOf(username);
}

async function enter(tx: Db, ids: readonly number[]): Promise<void> {
  const query = tx.selectFrom("users").select(["id", "username"]).where("id", "in", ids).orderBy("id");
  // Read again so that no user is renamed meanwhile; on SQLite the transaction itself has the only writer.
  const users = await (isPostgres(tx) ? query.forKeyShare() : query).execute();
  if (users.length === 0) return;
  await tx.deleteFrom("user_names").where("user_id", "in", ids).execute();
  await tx
    .insertInto("user_names")
    .values(users.map(({ id, username }) => ({ name_key: nameKeyOf(username), user_id: id })))
    .onConflict((conflict) => conflict.column("name_key").doNothing())
    .execute();
}
