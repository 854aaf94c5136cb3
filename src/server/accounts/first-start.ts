// The first start on an empty database: the super administrator, its quota, and the credentials preset by the environment
// (requirements W2.2, J2).
import { TokenStatus } from "#contract/token.ts";
import { Role, UserStatus } from "#contract/user.ts";
import type { Clock } from "#server/clock.ts";
import type { Config } from "#server/config.ts";
import type { Coord } from "#server/coord/coord.ts";
import type { Ledger } from "#server/money/ledger.ts";
import type { Options } from "#server/options.ts";
import { hashPassword, newAffCode, randomPassword, type Secrets } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import { StoreError } from "#server/store/fault.ts";
import { findOption, saveOption } from "#server/store/options.ts";
import { insertToken } from "#server/store/tokens.ts";
import { countUsers, insertUser } from "#server/store/users.ts";
import { openFirstRun } from "./first-run.ts";
import { DEFAULT_PASSWORD } from "./password.ts";

/** Quota units that root starts with: $200 (requirements W2.2). */
const ROOT_QUOTA = 100_000_000n;

/** What a first start created, for printing it once. */
export interface FirstStart {
  readonly username: "root";
  readonly password: string;
  /** Where the password comes from. */
  readonly origin: "preset" | "default" | "random";
}

interface Deps {
  readonly config: Config;
  readonly db: Db;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly coord: Coord;
  readonly ledger: Ledger;
  readonly options: Options;
  readonly tell?: ((first: FirstStart) => void) | undefined;
}

/** Id of the root whose first quota is still to be granted; "" = none. Not an option that administrators can see. */
const PENDING_GRANT = "FirstStartGrant";

/** Set while `tollgate import` is filling the database; serving half of it would be wrong. */
export const IMPORT_UNFINISHED = "ImportUnfinished";

/**
 * Creates root when there is no user at all. Several nodes may try at once: one does. Throws: StoreError while an import is
 * not finished.
 */
export async function ensureRoot(deps: Deps): Promise<void> {
  if ((await findOption(deps.db, IMPORT_UNFINISHED)) ?? "")
    throw new StoreError(
      "other",
      "an import into this database was not finished: run `tollgate import` again",
    );
  await deps.coord.lock("first-start", async () => {
    if ((await countUsers(deps.db, {})) === 0) {
      const first = await createRoot(deps);
      deps.tell?.(first);
      await deps.options.reload();
    }
    await grantPending(deps);
  });
}

/** Grants root's quota, also when an earlier first start was interrupted before it could. */
async function grantPending({ db, ledger }: Deps): Promise<void> {
  const userId = Number((await findOption(db, PENDING_GRANT)) || 0);
  if (userId === 0) return;
  await ledger.adjust({
    userId,
    kind: "grant",
    quota: { delta: ROOT_QUOTA },
    actorId: userId,
    reason: "初始额度",
    operationId: "first-start",
  });
  await saveOption(db, PENDING_GRANT, "");
}

function firstPassword(config: Config): Pick<FirstStart, "password" | "origin"> {
  if (config.initialRootPassword !== undefined)
    return { password: config.initialRootPassword, origin: "preset" };
  // Only this machine can reach it; the console warns until it is changed.
  if (config.isLocal) return { password: DEFAULT_PASSWORD, origin: "default" };
  return { password: randomPassword(), origin: "random" };
}

async function createRoot(deps: Deps): Promise<FirstStart> {
  const { config, db, secrets } = deps;
  const first = firstPassword(config);
  const password = await hashPassword(first.password);
  const accessToken = config.initialRootAccessToken;
  await db.transaction().execute(async (tx) => {
    const id = await insertUser(tx, {
      username: "root",
      password,
      display_name: "Root User",
      role: Role.root,
      status: UserStatus.enabled,
      email: "",
      github_id: "",
      wechat_id: "",
      access_token_hash: accessToken === undefined ? null : secrets.hash(accessToken),
      group: "default",
      aff_code: newAffCode(),
      inviter_id: 0,
      created_at: deps.clock.seconds(),
    });
    // A new installation asks its administrators for a second factor, after the days of grace (requirements I31).
    await saveOption(tx, "MfaRequiredFor", "staff");
    if (config.initialRootToken !== undefined) await insertPresetToken(deps, tx, id, config.initialRootToken);
    // An operator who chose the password need not be led to one.
    if (first.origin !== "preset") await openFirstRun(secrets, tx, password);
    await saveOption(tx, PENDING_GRANT, String(id));
  });
  return { username: "root", ...first };
}

async function insertPresetToken(deps: Deps, tx: Db, userId: number, key: string): Promise<void> {
  const nowSec = deps.clock.seconds();
  await insertToken(tx, {
    user_id: userId,
    key_hash: deps.secrets.hash(key),
    key_sealed: deps.secrets.seal(key, "tokens.key"),
    status: TokenStatus.enabled,
    name: "Initial Root Token",
    created_time: nowSec,
    accessed_time: nowSec,
    expired_time: -1,
    unlimited_quota: 1,
    models: "",
    subnet: "",
  });
}
