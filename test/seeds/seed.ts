// Rows to test with: a user of each kind, their tokens, a channel. Made through the store and the ledger.
import { TokenStatus } from "#contract/token.ts";
import { Role, UserStatus } from "#contract/user.ts";
import type { Context } from "#server/context.ts";
import { hashPassword, newTokenKey, randomHex } from "#server/secrets.ts";
import { insertToken } from "#server/store/tokens.ts";
import { insertUser } from "#server/store/users.ts";
import type { Who } from "#test/worlds/app.ts";

export interface SeededUser {
  readonly id: number;
  readonly username: string;
  readonly password: string;
  /** Headers of the user's access token. */
  readonly who: Who;
}

export const seedPassword = "river-stone-42";
let hashed: Promise<string> | undefined;

/** Makes a user with a quota of $1, an access token and the password `seedPassword`. */
export async function seedUser(
  ctx: Context,
  username: string,
  kind: { role?: number; status?: number; group?: string } = {},
): Promise<SeededUser> {
  hashed ??= hashPassword(seedPassword);
  const accessToken = randomHex(32);
  const id = await insertUser(ctx.db, {
    username,
    password: await hashed,
    display_name: username,
    role: kind.role ?? Role.user,
    status: kind.status ?? UserStatus.enabled,
    email: `${username}@example.com`,
    github_id: "",
    wechat_id: "",
    access_token_hash: ctx.secrets.hash(accessToken),
    group: kind.group ?? "default",
    aff_code: username.toUpperCase(),
    inviter_id: 0,
    created_at: ctx.clock.seconds(),
  });
  await ctx.ledger.adjust({
    userId: id,
    kind: "grant",
    quota: { delta: 500_000n },
    actorId: id,
    reason: "seed",
  });
  return { id, username, password: seedPassword, who: { authorization: accessToken } };
}

/** Makes a token with unlimited quota and returns its id and key. */
export async function seedToken(
  ctx: Context,
  userId: number,
  name = "seed",
): Promise<{ id: number; key: string }> {
  const key = newTokenKey();
  const nowSec = ctx.clock.seconds();
  const id = await insertToken(ctx.db, {
    user_id: userId,
    key_hash: ctx.secrets.hash(key),
    key_sealed: ctx.secrets.seal(key, "tokens.key"),
    status: TokenStatus.enabled,
    name,
    created_time: nowSec,
    accessed_time: nowSec,
    expired_time: -1,
    unlimited_quota: 1,
    models: "",
    subnet: "",
  });
  return { id, key };
}

/** All users that the permission tests need, besides root. */
export async function seedPeople(ctx: Context) {
  return {
    alice: await seedUser(ctx, "alice"),
    bob: await seedUser(ctx, "bob"),
    admin: await seedUser(ctx, "admin", { role: Role.admin }),
    peer: await seedUser(ctx, "peer", { role: Role.admin }),
    banned: await seedUser(ctx, "banned", { status: UserStatus.disabled }),
  };
}
