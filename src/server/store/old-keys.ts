// The keys that tokens had before their last rotation. Rows only: until when one works is looked at by who asks.
import type { Selectable } from "kysely";
import { changesOne } from "./change.ts";
import type { Db } from "./db.ts";
import type { OldKeysTable } from "./tables-keys.ts";
import { keyOwners, type TokenRow } from "./tokens.ts";

export type OldKeyRow = Selectable<OldKeysTable>;

/** The living token that had this key before its last rotation, its owner, and until when the key works. */
export function findTokenByOldKey(db: Db, keyHash: string) {
  return keyOwners(db)
    .innerJoin("old_keys", "old_keys.token_id", "tokens.id")
    .select("old_keys.expires_at as key_until")
    .where("old_keys.key_hash", "=", keyHash)
    .executeTakeFirst();
}

/** The old keys of tokens, by token. */
export async function findOldKeys(
  db: Db,
  tokenIds: readonly number[],
): Promise<ReadonlyMap<number, OldKeyRow>> {
  if (tokenIds.length === 0) return new Map();
  const rows = await db.selectFrom("old_keys").selectAll().where("token_id", "in", tokenIds).execute();
  return new Map(rows.map((row) => [row.token_id, row]));
}

export interface Rotation {
  /** As it was read: another rotation since then wins. */
  readonly token: Pick<TokenRow, "id" | "key_hash">;
  readonly key: Pick<TokenRow, "key_hash" | "key_sealed" | "key_hint">;
  /** Seconds. */
  readonly now: number;
  /** Until when the key before works; `now` = not at all. */
  readonly until: number;
}

/** Gives a living token another key and keeps the one before, in place of an older one. Returns whether the token still had that key. */
export async function rotateKey(db: Db, { token, key, now, until }: Rotation): Promise<boolean> {
  const isThere = await changesOne(
    db
      .updateTable("tokens")
      .set(key)
      .where("id", "=", token.id)
      .where("key_hash", "=", token.key_hash)
      .where("deleted_at", "=", 0),
  );
  if (!isThere) return false;
  await db.deleteFrom("old_keys").where("token_id", "=", token.id).execute();
  const old = {
    token_id: token.id,
    key_hash: token.key_hash,
    created_at: now,
    expires_at: until,
    used_at: 0,
  };
  if (until > now) await db.insertInto("old_keys").values(old).execute();
  return true;
}

/** Notes that a client still uses a key that was rotated out; a note that was overtaken by a later one is none. Unit of `now`: seconds. */
export async function noteOldKey(db: Db, keyHash: string, now: number): Promise<void> {
  await db
    .updateTable("old_keys")
    .set({ used_at: now })
    .where("key_hash", "=", keyHash)
    .where("used_at", "<", now)
    .execute();
}
