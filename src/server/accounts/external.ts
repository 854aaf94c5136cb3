// Logging in with an identity that GitHub or the WeChat server vouches for, and binding it to an account. One identity belongs to
// one account: the unique index decides, whatever other calls read at the same time (requirements A19).

import { withoutUnseen } from "#contract/name.ts";
import { UserStatus } from "#contract/user.ts";
import { faults } from "#server/errors.ts";
import { randomNameTail } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import { isTaken } from "#server/store/fault.ts";
import type { InvitationRow } from "#server/store/invitations.ts";
import {
  findUserByIdentity,
  findUserByMailbox,
  getUser,
  replaceIdentity,
  type UserRow,
  updateUserProfile,
} from "#server/store/users.ts";
import type { Tools } from "#server/tools.ts";
import { type Actor, type Entry, holdEntry } from "./actors.ts";
import { admitArrival } from "./invitations.ts";
import { isStaff, isSuper } from "./may.ts";
import { type AccountTools, type AfterInsert, createAccount } from "./new-account.ts";
import type { Sessions } from "./sessions.ts";

/** An identity that GitHub or the WeChat server vouches for. */
export interface Person {
  readonly identity: "github_id" | "wechat_id";
  readonly id: string;
  /** What an imported account may have in place of the id: the name that the old server stored. "" = nothing. */
  readonly importedId: string;
  /** The display name of a new account. */
  readonly displayName: string;
  /** A proven address; "" = none. */
  readonly email: string;
}

export type ExternalTools = AccountTools & Pick<Tools, "coord"> & { readonly sessions: Sessions };

/** The prefixes of generated names; with the tail they have 12 characters. */
const NAMES = {
  github_id: { head: "github_", display: "GitHub User", via: "github" },
  wechat_id: { head: "wechat_", display: "WeChat User", via: "wechat" },
} as const;
const TAIL = 5;
const TRIES = 5;
const MAX_DISPLAY = 20;
/** A super administrator can bind an identity only in a session that began with the password a moment ago. */
const FRESH_SEC = 600;

/** The call that logs in; what happens to accounts is recorded in the transaction that does it. */
export interface Arrival {
  readonly affCode: string;
  /** The code of the invitation that the browser kept; "" = none. */
  readonly invitation: string;
  readonly address: string;
  readonly onMade: AfterInsert;
  readonly onAdopted: AfterInsert;
}

/** The account of an identity; a new one when there is none and registration is open. Throws: AppError. */
export async function enterAs(tools: ExternalTools, person: Person, arrival: Arrival): Promise<UserRow> {
  const user =
    (await findUserByIdentity(tools.db, person.identity, person.id)) ??
    (await adoptImported(tools, person, arrival)) ??
    (await signUp(tools, person, arrival));
  if (user.status !== UserStatus.enabled) throw faults.accountDisabled();
  if (isSuper(user) && user.external_login !== 1)
    throw faults.refused("超级管理员未开启第三方登录，请使用密码登录");
  return user;
}

/**
 * The imported account that the old server would have opened for this name. A name may belong to another user since
 * (requirements A16), so it is not enough: the proven address must be the account's too, or the operator has allowed
 * names for ordinary users. From then on the account is found by the id. Undefined when there is none.
 * Throws: AppError, rather than making a second account beside the old one.
 */
async function adoptImported(
  tools: ExternalTools,
  person: Person,
  { onAdopted }: Arrival,
): Promise<UserRow | undefined> {
  const { db, coord, events } = tools;
  const { identity, id, importedId } = person;
  const user = await findUserByIdentity(db, identity, importedId);
  if (!user || user.status === UserStatus.deleted) return undefined;
  if (user.status !== UserStatus.enabled) throw faults.accountDisabled();
  if (!mayAdopt(tools, person, user))
    throw faults.refused(
      "该 GitHub 用户名属于从旧系统导入的账户：请先用密码登录（可通过邮箱重置密码），再在个人设置中重新绑定",
    );
  await db.transaction().execute(async (tx) => {
    const isReplaced = await replaceIdentity(tx, user.id, { identity, before: importedId, after: id });
    if (isReplaced) await onAdopted(tx, user);
  });
  events.accountBound({ userId: user.id, identity });
  await coord.publish("users", String(user.id));
  // Two windows at once: the second finds what the first one wrote.
  return findUserByIdentity(db, identity, id);
}

function mayAdopt({ options }: ExternalTools, { email }: Person, user: UserRow): boolean {
  if (isSuper(user)) return false;
  if (email !== "" && email === user.email) return true;
  return !isStaff(user) && options.get("GitHubImportedNameEnabled");
}

async function signUp(tools: ExternalTools, person: Person, arrival: Arrival): Promise<UserRow> {
  if (!tools.options.get("RegisterEnabled")) throw faults.refused("当前未开放注册");
  const invitation = await admitArrival(tools, { code: arrival.invitation, email: person.email });
  const isAddressFree = (await findUserByMailbox(tools.db, person.email)) === undefined;
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    // An address of another account stays there, whatever a profile says; so does one that is taken meanwhile.
    const email = isAddressFree && attempt === 0 ? person.email : "";
    const user = await trySignUp(tools, { ...person, email }, { ...arrival, invited: invitation });
    if (user) return user;
  }
  throw new Error(`no free name in ${TRIES} tries`);
}

/** One try with a generated name; undefined when it, or the address, is taken. */
async function trySignUp(
  tools: ExternalTools,
  person: Person,
  { affCode, address, onMade, invited }: Arrival & { readonly invited: InvitationRow | undefined },
): Promise<UserRow | undefined> {
  const { head, display, via } = NAMES[person.identity];
  try {
    const account = {
      username: head + randomNameTail(TAIL),
      displayName: displayNameOf(person) || display,
      password: "",
      email: person.email,
      githubId: person.identity === "github_id" ? person.id : "",
      wechatId: person.identity === "wechat_id" ? person.id : "",
      affCode,
      invitation: invited,
    };
    const id = await createAccount(tools, account, onMade);
    if (id === undefined) return undefined;
    tools.events.accountCreated({ userId: id, via, address });
    return await getUser(tools.db, id);
  } catch (error) {
    if (!isTaken(error)) throw error;
    // The same user, in two windows at once.
    return findUserByIdentity(tools.db, person.identity, person.id);
  }
}

/** The name of a profile, cut to the length of a display name. */
export function displayNameOf({ displayName }: Pick<Person, "displayName">): string {
  const characters = [...withoutUnseen(displayName).trim()];
  // An emoji of several code points that was cut in two ends with a joiner.
  return withoutUnseen(characters.slice(0, MAX_DISPLAY).join("")).trim();
}

/**
 * Binds an identity to an account; `beside` is written last in the same transaction. Throws: AppError when it belongs to
 * another user; 401 when the actor's session or access token has ended.
 */
export function bindPerson(
  tools: ExternalTools,
  person: Pick<Person, "identity" | "id">,
  entry: Entry & { readonly actor: Actor },
  beside: (tx: Db) => Promise<void>,
): Promise<void> {
  const { actor } = entry;
  return bind(tools, entry, {
    identity: person.identity,
    async write(tx) {
      const external_login = isSuper(actor) ? 1 : 0;
      await updateUserProfile(tx, actor.id, { [person.identity]: person.id, external_login });
      await beside(tx);
    },
    whyTaken: () => faults.refused("该第三方账号已绑定其他用户"),
  });
}

interface Binding {
  readonly identity: Person["identity"] | "provider";
  /** All that the transaction writes. */
  write(tx: Db): Promise<void>;
  /** Said when the identity is bound already. */
  whyTaken(): Error | Promise<Error>;
}

/** Binds an identity to the actor's account. Throws: as `bindPerson`. */
export async function bind(
  tools: ExternalTools,
  entry: Entry & { readonly actor: Actor },
  { identity, write, whyTaken }: Binding,
): Promise<void> {
  const { actor, session } = entry;
  if (isSuper(actor)) await refuseStale(tools, { actor, sessionId: session.id });
  try {
    await tools.db.transaction().execute(async (tx) => {
      if (!(await holdEntry(tools.secrets, tx, entry))) throw faults.notSignedIn();
      await write(tx);
    });
  } catch (error) {
    throw isTaken(error) ? await whyTaken() : error;
  }
  tools.events.accountBound({ userId: actor.id, identity });
  await tools.coord.publish("users", String(actor.id));
}

/** By binding, a super administrator opts in to this way of logging in (requirements A22). Throws: AppError. */
async function refuseStale(
  { sessions, clock }: ExternalTools,
  { actor, sessionId }: { actor: Actor; sessionId: string | undefined },
): Promise<void> {
  const startedAt = sessionId === undefined ? undefined : await sessions.startOf(sessionId, actor.id);
  if (startedAt === undefined || startedAt + FRESH_SEC < clock.seconds())
    throw faults.refused("超级管理员绑定第三方账号前，请先用密码重新登录，并在 10 分钟内完成");
}
