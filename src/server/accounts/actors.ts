// The actor of a call: session or access token → user with the current role and status (requirements A02).
import { isPermission, type Permission } from "#contract/permission.ts";
import { UserStatus } from "#contract/user.ts";
import type { Clock } from "#server/clock.ts";
import type { Coord } from "#server/coord/coord.ts";
import type { Secrets } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import { findSession } from "#server/store/sessions.ts";
import { findStaffSet } from "#server/store/staff.ts";
import { findUserById, findUserIdByAccessToken, holdUser, type UserRow } from "#server/store/users.ts";
import { isSuper } from "./may.ts";
import { isServiceToken, serviceActor } from "./service-accounts.ts";

/** What a header holds: the key, and the channel that follows it (requirements W8.2). */
export interface Credential {
  readonly key: string;
  readonly pin: string | undefined;
}

/** Parses a header: `Bearer `, `sk-`, key, `-channel`. */
export function parseCredential(text: string): Credential {
  const bare = text
    .trim()
    .replace(/^Bearer\s+/i, "")
    .trim()
    .replace(/^sk-/, "");
  const dash = bare.indexOf("-");
  return dash < 0 ? { key: bare, pin: undefined } : { key: bare.slice(0, dash), pin: bare.slice(dash + 1) };
}

/** A signed-in user: the fields that rules need. */
export interface Actor {
  readonly id: number;
  readonly username: string;
  readonly role: number;
  readonly status: number;
  readonly group: string;
  /** What an administrator's set holds; undefined = there is no set. */
  readonly permissions?: ReadonlySet<Permission> | undefined;
  /** The name of the set; "" = none. */
  readonly staffSet?: string;
  /** The name of the service account of his that calls; undefined = he does. */
  readonly service?: string;
  /** The administrator who looks at this user's console: nothing is done, and no secret shown; undefined = none. */
  readonly viewer?: { readonly id: number; readonly username: string; readonly until: number };
}

export interface Actors {
  /** The user as stored at most a second ago; undefined when there is none or it was deleted. */
  byId(id: number): Promise<Actor | undefined>;
  /**
   * The user whose system access token this is, or whose service account it belongs to. Throws: 403 for a service account that is not for
   * this address.
   */
  byAccessToken(token: string, address: string): Promise<Actor | undefined>;
  /** Stops listening for changes. */
  close(): void;
}

const CACHE_MS = 1000;
const CACHE_SIZE = 10_000;

/** `users` messages empty its short cache. */
export function createActors(deps: { db: Db; clock: Clock; secrets: Secrets; coord: Coord }): Actors {
  const cache = new Map<number, { actor: Actor; untilMs: number }>();
  const close = deps.coord.subscribe("users", (payload) => {
    if (payload === "") cache.clear();
    else cache.delete(Number(payload));
  });

  async function byId(id: number): Promise<Actor | undefined> {
    const nowMs = deps.clock.now();
    const cached = cache.get(id);
    // An entry that seems to live longer was made before the clock stepped back (requirements F08).
    if (cached && cached.untilMs > nowMs && cached.untilMs <= nowMs + CACHE_MS) return cached.actor;
    const user = await findUserById(deps.db, id);
    if (!user || user.status === UserStatus.deleted) return undefined;
    const { username, role, status, group } = user;
    const actor = { id, username, role, status, group, ...(await rightsOf(deps.db, user)) };
    if (cache.size >= CACHE_SIZE) cache.clear();
    cache.set(id, { actor, untilMs: nowMs + CACHE_MS });
    return actor;
  }

  return {
    byId,
    async byAccessToken(token, address) {
      if (isServiceToken(token)) return serviceActor(deps, { token, address }, byId);
      const id = await findUserIdByAccessToken(deps.db, deps.secrets.hash(token));
      return id === undefined ? undefined : byId(id);
    },
    close,
  };
}

/** The set of an administrator. One that is gone allows nothing. */
async function rightsOf(
  db: Db,
  { role, staff_set_id }: Pick<UserRow, "role" | "staff_set_id">,
): Promise<Pick<Actor, "permissions" | "staffSet">> {
  if (staff_set_id === 0 || isSuper({ role })) return { staffSet: "" };
  const set = await findStaffSet(db, staff_set_id);
  const names = set === undefined ? [] : set.permissions.split(",");
  return { permissions: new Set(names.filter(isPermission)), staffSet: set?.name ?? "" };
}

/** The credential of a call: a session, else an access token. */
export interface Entry {
  readonly actor: Pick<Actor, "id">;
  readonly session: { readonly id: string | undefined };
  readonly accessToken: string | undefined;
}

/**
 * Whether the credential of a call is still valid; it stays so until the transaction `tx` ends: what the transaction grants must not
 * outlive a change of the password or a ban that came meanwhile (requirements A06).
 */
export async function holdEntry(secrets: Secrets, tx: Db, entry: Entry): Promise<boolean> {
  const { actor, session, accessToken } = entry;
  // The row is locked first: a change of it ends sessions and access token after that.
  if (!(await holdUser(tx, actor.id, { status: UserStatus.enabled }))) return false;
  const found = session.id === undefined ? undefined : await findSession(tx, secrets.hash(session.id));
  if (found?.user_id === actor.id) return true;
  return (
    accessToken !== undefined && holdUser(tx, actor.id, { access_token_hash: secrets.hash(accessToken) })
  );
}

/**
 * The token of an Authorization header: raw or after `Bearer ` (requirements W2.4). Undefined without a header, and for one of another
 * scheme, such as browsers add to every call when a proxy in front asks for a password.
 */
export function accessTokenOf(header: string | undefined): string | undefined {
  if (header === undefined || /^(?!bearer\s)[\w-]+\s/i.test(header.trim())) return undefined;
  return header.replace(/^\s*Bearer\s+/i, "").trim();
}
