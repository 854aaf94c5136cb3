// Whose account an identity at a login provider opens: (provider, subject) decides, an address only where the operator says so, and never
// for staff (requirements I42, I43). Nothing here believes an address that the provider may not speak for.

import { UserStatus } from "#contract/user.ts";
import { faults } from "#server/errors.ts";
import { randomNameTail } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import { countFactors } from "#server/store/factors.ts";
import { isTaken } from "#server/store/fault.ts";
import type { InvitationRow } from "#server/store/invitations.ts";
import {
  findIdentity,
  findIdentityOfUser,
  findProvider,
  type IdentityRow,
  insertIdentity,
  listIdentities,
  noteLogin,
  removeIdentity,
} from "#server/store/sign-on.ts";
import {
  findPasswordByUserId,
  findUserById,
  findUserByMailbox,
  getUser,
  holdUser,
  type UserRow,
  updateUserProfile,
} from "#server/store/users.ts";
import { type Actor, type Entry, holdEntry } from "./actors.ts";
import { type Arrival, bind, displayNameOf, type ExternalTools } from "./external.ts";
import { isProtected } from "./factors.ts";
import { type GrantNotes, grant, takeBack, toldBy } from "./grants.ts";
import { admitArrival } from "./invitations.ts";
import { type Provider, settingsOf } from "./login-providers.ts";
import { isStaff, isSuper } from "./may.ts";
import { createAccount } from "./new-account.ts";
import type { OutsidePerson } from "./outside-person.ts";

/** A person who has come back from a provider. */
interface Vouched {
  readonly provider: Provider;
  readonly person: OutsidePerson;
}

const TAIL = 5;
const TRIES = 5;
const BY_HAND = "该邮箱已有账户：请先用原来的方式登录，再在个人设置中绑定";

/** The account of an identity; a new one where that is allowed. What the rules give is written. Throws: AppError. */
export async function enterThrough(
  tools: ExternalTools,
  vouched: Vouched,
  arrival: Arrival & GrantNotes,
): Promise<UserRow> {
  const { provider, person } = vouched;
  const user =
    (await ownerOf(tools.db, vouched)) ??
    (await adopt(tools, vouched, arrival)) ??
    (await signUp(tools, vouched, arrival));
  if (user.status !== UserStatus.enabled) throw faults.accountDisabled();
  if (isSuper(user) && user.external_login !== 1)
    throw faults.refused("超级管理员未开启第三方登录，请使用密码登录");
  const identity = await findIdentity(tools.db, provider.id, person.subject);
  if (identity?.user_id !== user.id) throw faults.refused("该绑定刚被解除，请重新登录");
  const { onSeat, onStaff } = arrival;
  return noteArrival(tools, vouched, { user, identity, onSeat, onStaff });
}

async function ownerOf(db: Db, { provider, person }: Vouched): Promise<UserRow | undefined> {
  const identity = await findIdentity(db, provider.id, person.subject);
  return identity && findUserById(db, identity.user_id);
}

/** The proved address, if the provider may speak for its domain; "" otherwise. The domain is compared as a whole. */
function provedEmail({ provider, person }: Vouched): string {
  if (!person.isEmailProved) return "";
  const domain = person.email.slice(person.email.lastIndexOf("@") + 1);
  return provider.settings.mail_domains.includes(domain) ? person.email : "";
}

/**
 * The ordinary account with the same proved address, where the operator lets addresses link. Undefined when no account has the address.
 * Throws: AppError rather than making a second account beside one that the owner has to bind from inside.
 */
async function adopt(
  tools: ExternalTools,
  vouched: Vouched,
  { onAdopted }: Arrival,
): Promise<UserRow | undefined> {
  const email = provedEmail(vouched);
  const user = email === "" ? undefined : await findUserByMailbox(tools.db, email);
  if (!user) return undefined;
  const { provider } = vouched;
  // An address of the same mailbox with another tag is not the one that was proved.
  const isSame = user.email === email && user.status === UserStatus.enabled && !isStaff(user);
  const isFree = !(await findIdentityOfUser(tools.db, user.id, provider.id));
  const isGuarded = isProtected(await countFactors(tools.db, user.id));
  const isOpen = provider.settings.links_by_mail && isSame && isFree && !isGuarded;
  if (!isOpen || !(await takeOver(tools, vouched, { user, onAdopted }))) {
    // Two windows at once: this one finds what the other wrote.
    const owner = await ownerOf(tools.db, vouched);
    if (!owner) throw faults.refused(BY_HAND);
    return owner;
  }
  tools.events.accountBound({ userId: user.id, identity: "provider" });
  return user;
}

/** Binds the identity to an account that still is as it was seen. Returns whether it did. */
async function takeOver(
  tools: ExternalTools,
  vouched: Vouched,
  { user, onAdopted }: Pick<Arrival, "onAdopted"> & { readonly user: UserRow },
): Promise<boolean> {
  const { id, role, status } = user;
  try {
    return await tools.db.transaction().execute(async (tx) => {
      if (!(await holdUser(tx, id, { role, status }))) return false;
      await insertIdentity(tx, identityOf(tools, vouched, id));
      await onAdopted(tx, user);
      return true;
    });
  } catch (error) {
    if (!isTaken(error)) throw error;
    return false;
  }
}

function identityOf({ clock }: ExternalTools, { provider, person }: Vouched, userId: number) {
  const now = clock.seconds();
  return {
    provider_id: provider.id,
    subject: person.subject,
    user_id: userId,
    email: person.email,
    granted_group: "",
    granted_set: 0,
    created_at: now,
    last_login_at: now,
  };
}

/** Whether a person who has no account may have one. */
function mayJoin({ options }: ExternalTools, vouched: Vouched): boolean {
  const { sign_up } = vouched.provider.settings;
  if (sign_up === "domain" && (provedEmail(vouched) !== "" || vouched.person.isMember === true)) return true;
  return sign_up !== "never" && options.get("RegisterEnabled");
}

/** The invitation that a new person comes with; people of the provider's own domain need none. Throws: AppError. */
async function invitationOf(
  tools: ExternalTools,
  vouched: Vouched,
  code: string,
): Promise<InvitationRow | undefined> {
  const email = provedEmail(vouched);
  const isOwn = email !== "" || vouched.person.isMember === true;
  if (code === "" && isOwn && vouched.provider.settings.sign_up === "domain") return undefined;
  return admitArrival(tools, { code, email });
}

async function signUp(tools: ExternalTools, vouched: Vouched, arrival: Arrival): Promise<UserRow> {
  if (!mayJoin(tools, vouched)) throw faults.refused("当前未开放注册");
  const invited = await invitationOf(tools, vouched, arrival.invitation);
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const email = attempt === 0 ? provedEmail(vouched) : "";
    const user = await trySignUp(tools, vouched, { ...arrival, email, invited });
    if (user) return user;
  }
  throw new Error(`no free name in ${TRIES} tries`);
}

/** One try with a generated name; undefined when it, or the address, is taken. */
async function trySignUp(
  tools: ExternalTools,
  vouched: Vouched,
  {
    affCode,
    address,
    onMade,
    email,
    invited,
  }: Arrival & { readonly email: string; readonly invited: InvitationRow | undefined },
): Promise<UserRow | undefined> {
  const account = {
    username: `sso_${randomNameTail(TAIL)}`,
    displayName: displayNameOf(vouched.person) || "SSO User",
    password: "",
    email,
    isEmailProved: email !== "",
    githubId: "",
    wechatId: "",
    affCode,
    invitation: invited,
  };
  try {
    const id = await createAccount(tools, account, async (tx, user) => {
      await insertIdentity(tx, identityOf(tools, vouched, user.id));
      await onMade(tx, user);
    });
    if (id === undefined) return undefined;
    tools.events.accountCreated({ userId: id, via: "provider", address });
    return await getUser(tools.db, id);
  } catch (error) {
    if (!isTaken(error)) throw error;
    // The same user, in two windows at once.
    return ownerOf(tools.db, vouched);
  }
}

interface Noted extends GrantNotes {
  readonly user: UserRow;
  readonly identity: IdentityRow;
}

/** Notes the login, and gives what the rules say; what the provider did not give is not taken back. */
async function noteArrival(
  tools: ExternalTools,
  { provider, person }: Vouched,
  { user, identity, ...notes }: Noted,
): Promise<UserRow> {
  const { db, clock, options, coord } = tools;
  const told = toldBy(provider, person.sources, options.get("GroupRatio"));
  const granted = await db.transaction().execute(async (tx) => {
    const now = clock.seconds();
    const granted = await grant(tx, { user, given: identity, told, now }, notes);
    const seen = { ...granted.given, email: person.email, last_login_at: now };
    if (!(await noteLogin(tx, { id: identity.id, userId: user.id }, seen)))
      throw faults.refused("该绑定刚被解除，请重新登录");
    return granted;
  });
  if (granted.isChanged) await coord.publish("users", String(user.id));
  return granted.user;
}

/**
 * The provider that alone opens an account: the account is bound to it, and its address is of a domain that the provider decides over
 * (requirements I63). Undefined = there is none.
 */
export async function onlyWayIn(
  db: Db,
  { id, role, email }: Pick<UserRow, "id" | "role" | "email">,
): Promise<{ readonly id: number; readonly name: string } | undefined> {
  if (isSuper({ role }) || email === "") return undefined;
  const domain = email.slice(email.lastIndexOf("@") + 1);
  for (const identity of await listIdentities(db, id)) {
    const row = identity.is_enabled === 1 ? await findProvider(db, identity.provider_id) : undefined;
    if (row === undefined) continue;
    const { is_only_way, mail_domains } = settingsOf(row);
    if (is_only_way && mail_domains.includes(domain)) return { id: row.id, name: row.name };
  }
  return undefined;
}

/** Binds an identity to the actor's account; `beside` is written last in the same transaction. Throws: AppError. */
export function bindIdentity(
  tools: ExternalTools,
  vouched: Vouched,
  entry: Entry & { readonly actor: Actor },
  beside: (tx: Db) => Promise<void>,
): Promise<void> {
  const { actor } = entry;
  return bind(tools, entry, {
    identity: "provider",
    async write(tx) {
      await insertIdentity(tx, identityOf(tools, vouched, actor.id));
      if (isSuper(actor)) await updateUserProfile(tx, actor.id, { external_login: 1 });
      await beside(tx);
    },
    whyTaken: () => whyTaken(tools.db, vouched, actor),
  });
}

async function whyTaken(db: Db, { provider, person }: Vouched, actor: Actor): Promise<Error> {
  const identity = await findIdentity(db, provider.id, person.subject);
  if (identity?.user_id === actor.id) return faults.refused("已经绑定了该账号");
  if (identity) return faults.refused("该第三方账号已绑定其他用户");
  return faults.refused(`已绑定另一个 ${provider.name} 账号，请先解除绑定`);
}

/**
 * Unbinds one of the actor's identities, unless it is the last way in, and ends the sessions it began. What its provider gave goes with
 * it: no later login could take it back any more (requirements I46). Throws: AppError.
 */
export async function unbindIdentity(
  tools: ExternalTools,
  id: number,
  entry: Entry & { readonly actor: Actor },
  { beside, ...notes }: GrantNotes & { readonly beside: (tx: Db, slug: string) => Promise<void> },
): Promise<void> {
  const { actor } = entry;
  const isChanged = await tools.db.transaction().execute(async (tx) => {
    // The user's row is locked by this: of two unbinds at once, the second sees what the first left.
    if (!(await holdEntry(tools.secrets, tx, entry))) throw faults.notSignedIn();
    const own = await listIdentities(tx, actor.id);
    const identity = own.find((one) => one.id === id);
    if (!identity) throw faults.notFound("找不到该绑定");
    const others = own.filter((one) => one.id !== id && one.is_enabled === 1);
    const user = await getUser(tx, actor.id);
    const { github_id, wechat_id } = user;
    const hasPassword = (await findPasswordByUserId(tx, actor.id)) !== "";
    if (!hasPassword && others.length === 0 && github_id === "" && wechat_id === "")
      throw faults.refused("这是最后一种登录方式，请先设置密码或绑定另一个账号");
    await removeIdentity(tx, { id, userId: actor.id, providerId: identity.provider_id });
    await beside(tx, identity.slug);
    return takeBack(tx, { user, given: identity, now: tools.clock.seconds() }, notes);
  });
  if (isChanged) await tools.coord.publish("users", String(actor.id));
}
