// Login providers and the identities that people have there. No rules: who may come in is judged in accounts.
import type { Insertable, Selectable, Updateable } from "kysely";
import { changesOne } from "./change.ts";
import type { Db } from "./db.ts";
import type { IdentitiesTable, LoginProvidersTable } from "./sign-on-tables.ts";

export type ProviderRow = Selectable<LoginProvidersTable>;
export type IdentityRow = Selectable<IdentitiesTable>;

/** All that are not deleted, as they are shown. */
export function listProviders(db: Db): Promise<ProviderRow[]> {
  return db
    .selectFrom("login_providers")
    .selectAll()
    .where("deleted_at", "=", 0)
    .orderBy("sort")
    .orderBy("id")
    .execute();
}

export function findProvider(db: Db, id: number): Promise<ProviderRow | undefined> {
  return db
    .selectFrom("login_providers")
    .selectAll()
    .where("id", "=", id)
    .where("deleted_at", "=", 0)
    .executeTakeFirst();
}

export function findProviderBySlug(db: Db, slug: string): Promise<ProviderRow | undefined> {
  return db
    .selectFrom("login_providers")
    .selectAll()
    .where("slug", "=", slug)
    .where("deleted_at", "=", 0)
    .executeTakeFirst();
}

/** The newest deleted one of a slug and kind whose identities are still kept. */
export function findDeletedProvider(
  db: Db,
  args: { slug: string; kind: string; deletedFrom: number },
): Promise<ProviderRow | undefined> {
  return db
    .selectFrom("login_providers")
    .selectAll()
    .where("slug", "=", args.slug)
    .where("kind", "=", args.kind)
    .where("deleted_at", ">=", Math.max(1, args.deletedFrom))
    .orderBy("deleted_at", "desc")
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
}

/** Returns the id. Throws: an error that `isTaken` recognises when the slug is taken. */
export async function insertProvider(tx: Db, row: Insertable<LoginProvidersTable>): Promise<number> {
  const { id } = await tx.insertInto("login_providers").values(row).returning("id").executeTakeFirstOrThrow();
  return id;
}

/** Changes one, deleted or not. Throws: as `insertProvider` when a deleted one comes back. */
export async function updateProvider(
  tx: Db,
  id: number,
  change: Updateable<LoginProvidersTable>,
): Promise<void> {
  await tx.updateTable("login_providers").set(change).where("id", "=", id).execute();
}

/** Removes providers that were deleted before a moment, and what was bound to them. Unit: seconds. */
export async function purgeProviders(tx: Db, deletedBefore: number): Promise<void> {
  const gone = tx
    .selectFrom("login_providers")
    .select("id")
    .where("deleted_at", ">", 0)
    .where("deleted_at", "<", deletedBefore);
  await tx.deleteFrom("identities").where("provider_id", "in", gone).execute();
  await tx
    .deleteFrom("login_providers")
    .where("deleted_at", ">", 0)
    .where("deleted_at", "<", deletedBefore)
    .execute();
}

/** How many accounts are bound to each provider. */
export async function countIdentities(db: Db): Promise<ReadonlyMap<number, number>> {
  const rows = await db
    .selectFrom("identities")
    .select(["provider_id", (count) => count.fn.countAll().as("bound")])
    .groupBy("provider_id")
    .execute();
  return new Map(rows.map(({ provider_id, bound }) => [provider_id, Number(bound)]));
}

export function findIdentity(db: Db, providerId: number, subject: string): Promise<IdentityRow | undefined> {
  return db
    .selectFrom("identities")
    .selectAll()
    .where("provider_id", "=", providerId)
    .where("subject", "=", subject)
    .executeTakeFirst();
}

/** The identity that a user has at a provider; there is one at most. */
export function findIdentityOfUser(
  db: Db,
  userId: number,
  providerId: number,
): Promise<IdentityRow | undefined> {
  return db
    .selectFrom("identities")
    .selectAll()
    .where("user_id", "=", userId)
    .where("provider_id", "=", providerId)
    .executeTakeFirst();
}

/** Inside a transaction. Throws: an error that `isTaken` recognises when subject or account is bound already. */
export async function insertIdentity(tx: Db, row: Insertable<IdentitiesTable>): Promise<void> {
  await tx.insertInto("identities").values(row).execute();
}

/** Notes what a login brought. Returns whether the identity still is this user's. */
export function noteLogin(
  tx: Db,
  { id, userId }: { id: number; userId: number },
  seen: Pick<IdentityRow, "email" | "granted_group" | "granted_set" | "last_login_at">,
): Promise<boolean> {
  return changesOne(
    tx.updateTable("identities").set(seen).where("id", "=", id).where("user_id", "=", userId),
  );
}

/** The identities of a user at providers that are not deleted, with the provider's names. */
export function listIdentities(db: Db, userId: number) {
  return db
    .selectFrom("identities")
    .innerJoin("login_providers", "login_providers.id", "identities.provider_id")
    .select([
      "identities.id",
      "identities.provider_id",
      "identities.email",
      "identities.granted_group",
      "identities.granted_set",
      "identities.created_at",
      "identities.last_login_at",
      "login_providers.slug",
      "login_providers.name",
      "login_providers.is_enabled",
    ])
    .where("identities.user_id", "=", userId)
    .where("login_providers.deleted_at", "=", 0)
    .orderBy("login_providers.sort")
    .orderBy("identities.id")
    .execute();
}

/** Removes an identity, and ends the sessions that began with it. */
export async function removeIdentity(
  tx: Db,
  { id, userId, providerId }: { id: number; userId: number; providerId: number },
): Promise<void> {
  await tx.deleteFrom("identities").where("id", "=", id).where("user_id", "=", userId).execute();
  await tx
    .deleteFrom("sessions")
    .where("user_id", "=", userId)
    .where("provider_id", "=", providerId)
    .execute();
}

/**
 * Ends sessions that began at a provider: all of a user there, those of one session of his there, or, where the provider names no user,
 * of whichever user that session is. A session whose name the provider never told ends with its user's. Returns whose they were.
 */
export async function endSessionsOf(
  tx: Db,
  { providerId, userId, sid }: { providerId: number; userId: number | undefined; sid: string },
): Promise<number[]> {
  let query = tx.deleteFrom("sessions").where("provider_id", "=", providerId);
  if (userId !== undefined) query = query.where("user_id", "=", userId);
  if (sid !== "") query = query.where("logout_key", "in", userId === undefined ? [sid] : [sid, ""]);
  const rows = await query.returning("user_id").execute();
  return rows.map((row) => row.user_id);
}

/** Ends the logins of a user that still wait for a second factor. */
export async function dropHalves(tx: Db, userId: number): Promise<void> {
  await tx.deleteFrom("codes").where("key", "like", "half:%").where("user_id", "=", userId).execute();
}
