// A new account, by any way of registration: the row, its inviter, its own invitation code, and the gifts of a registration.
import { Role, UserStatus } from "#contract/user.ts";
import { grantSignup, promiseSignup } from "#server/money/signup.ts";
import { newAffCode } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import { isTaken } from "#server/store/fault.ts";
import type { InvitationRow } from "#server/store/invitations.ts";
import { mailboxOf } from "#server/store/mailbox.ts";
import { findAffOwner, setAffCode } from "#server/store/partners.ts";
import { noteWelcomed, type SignupRow } from "#server/store/signups.ts";
import { getUser, insertUser } from "#server/store/users.ts";
import type { Tools } from "#server/tools.ts";
import { spendInvitation } from "./invitations.ts";
import { domainOf, type Joined, joinByDomain } from "./mail-domains.ts";

/** 28 million codes: with a million users a code is free nine times in ten. */
const TRIES = 20;

/**
 * The invitation code of a user, which is the gift code too; makes one when there is none. Not inside a transaction: a
 * code that is taken would end it on PostgreSQL. Throws: when no free code was found.
 */
export async function ensureAffCode(db: Db, userId: number): Promise<string> {
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const { aff_code } = await getUser(db, userId);
    if (aff_code !== "") return aff_code;
    try {
      await setAffCode(db, userId, newAffCode());
    } catch (error) {
      if (!isTaken(error)) throw error;
    }
  }
  throw new Error(`no free invitation code in ${TRIES} tries`);
}

export interface NewAccount {
  readonly username: string;
  readonly displayName: string;
  /** Hash; "" = no password login. */
  readonly password: string;
  readonly email: string;
  /** By us, or by a provider that may speak for its domain: it leads to what the domain does (requirements I65). */
  readonly isEmailProved?: boolean;
  readonly githubId: string;
  readonly wechatId: string;
  /** The inviter's code; an unknown one counts as none. */
  readonly affCode: string;
  /** What it is made by, used up with the insert: it brings a group, and quota beside the gifts of a registration. */
  readonly invitation?: InvitationRow | undefined;
}

/** Checked in the transaction of the insert; false = roll back. */
export type Condition = (tx: Db) => Promise<boolean>;

/** What an account was made by. */
export interface Made {
  readonly joined?: Joined | undefined;
  /** Id of the invitation. */
  readonly invitation?: number | undefined;
}

/** Written in the transaction of the insert. */
export type AfterInsert = (
  tx: Db,
  user: { readonly id: number; readonly username: string } & Made,
) => Promise<void>;

export type AccountTools = Pick<Tools, "db" | "clock" | "secrets" | "ledger" | "options" | "events">;

/**
 * Makes the account and returns its id; undefined when the condition is false. Throws: an error that `isTaken` recognises when
 * a name or an identity belongs to another user.
 */
export async function createAccount(
  tools: AccountTools,
  account: NewAccount,
  after: AfterInsert,
  condition?: Condition,
): Promise<number | undefined> {
  const { db } = tools;
  const inviter = await findAffOwner(db, account.affCode);
  const inviterId = inviter?.status === UserStatus.enabled ? inviter.id : 0;
  const promise = await db.transaction().execute(async (tx) => {
    if (condition && !(await condition(tx))) return undefined;
    const domain = account.isEmailProved ? await domainOf(tx, account.email) : undefined;
    const { invitation } = account;
    const group = invitation?.group ?? (domain?.group || "default");
    const userId = await insertUser(tx, {
      username: account.username,
      password: account.password,
      display_name: account.displayName,
      role: Role.user,
      status: UserStatus.enabled,
      email: account.email,
      github_id: account.githubId,
      wechat_id: account.wechatId,
      access_token_hash: null,
      group,
      // Made below: a taken code would roll back the account.
      aff_code: "",
      inviter_id: inviterId,
      created_at: tools.clock.seconds(),
    });
    const isFirst = await noteWelcomed(tx, identityHashes(tools, account));
    const promised = await promiseSignup(tools, tx, {
      userId,
      inviterId,
      isFirst,
      gift: invitation?.quota ?? 0,
    });
    const now = tools.clock.seconds();
    const joined = domain && (await joinByDomain(tx, domain, { userId, group, now }));
    await after(tx, { id: userId, username: account.username, joined, invitation: invitation?.id });
    // Last: who is here already, in another window, is told that and not that the invitation is used up.
    if (invitation) await spendInvitation(tools, tx, invitation);
    return promised;
  });
  if (promise) await welcome(tools, promise);
  return promise?.user_id;
}

/** What identifies the owner: the hashes of a deleted account stay, so that a new registration brings no second gift (requirements M25). */
function identityHashes({ secrets }: AccountTools, { email, githubId, wechatId }: NewAccount): string[] {
  const identities = Object.entries({ email: mailboxOf(email), github_id: githubId, wechat_id: wechatId });
  return identities
    .filter(([, value]) => value !== "")
    .map(([identity, value]) => secrets.hash(`welcomed ${identity} ${value}`));
}

/** The gifts of a registration (requirements W3.3). What fails here is done later: the gift by a job, the code when it is asked for. */
async function welcome(tools: AccountTools, promise: SignupRow): Promise<void> {
  const userId = promise.user_id;
  try {
    await ensureAffCode(tools.db, userId);
    await grantSignup(tools, promise);
  } catch (error) {
    tools.events.backgroundFailed({ task: `gifts of new user ${userId}`, error });
  }
}
