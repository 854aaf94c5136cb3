// Codes that prove an e-mail address: for a registration, or to bind the address to an account (requirements W4.2, W4.3).
import type { Language } from "#contract/language.ts";
import { faults } from "#server/errors.ts";
import { randomDigits } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import { isTaken } from "#server/store/fault.ts";
import { findUserByMailbox, getUser, updateUserProfile } from "#server/store/users.ts";
import type { Tools } from "#server/tools.ts";
import { type Entry, holdEntry } from "./actors.ts";
import { type CodeRef, issueCode, redeemCode, tryCode } from "./codes.ts";
import { codeLetter } from "./letters.ts";
import { domainOf, type Joined, joinByDomain } from "./mail-domains.ts";
import { limitMail, type Mailer } from "./mailer.ts";
import { isStaff } from "./may.ts";

export type VerificationTools = Pick<
  Tools,
  "db" | "clock" | "secrets" | "options" | "coord" | "limits" | "events"
> & {
  readonly mailer: Mailer;
};

const ADDRESS_TAKEN = "该邮箱已被其他账户绑定";

/** For a code that is wrong, used, too old or out of tries. */
export const codeWrong = () => faults.refused("验证码不正确或已失效");

/** The purpose of a code: for an existing account, or for a new one. */
export function codeRef(email: string, userId: number): CodeRef {
  return userId === 0
    ? { purpose: "register", subject: email }
    : { purpose: "bind-email", subject: `${userId} ${email}` };
}

/**
 * Mails a code to an address. `userId` 0 = for a registration. Throws: AppError for a domain that is not allowed, an address of
 * another user and a letter that cannot be sent; 429.
 */
export async function sendCode(
  tools: VerificationTools,
  request: { email: string; userId: number; address: string; language: Language },
): Promise<void> {
  const { email, userId, address, language } = request;
  refuseDomain(tools, email);
  if (!tools.mailer.isReady()) throw faults.refused("管理员尚未配置邮件服务，无法发送邮件");
  const owner = await findUserByMailbox(tools.db, email);
  if (owner && owner.id !== userId) throw faults.refused(ADDRESS_TAKEN);
  await limitMail(tools, email, address);
  const text = randomDigits(6);
  await issueCode(tools, codeRef(email, userId), { text, userId });
  const posted = await tools.mailer.post(email, codeLetter(tools.options.get("SystemName"), text), language);
  if (posted === "failed") throw faults.refused("邮件发送失败，请检查邮箱地址或稍后再试");
}

/** Throws: AppError when only other domains are allowed. */
function refuseDomain({ options }: VerificationTools, email: string): void {
  if (!options.get("EmailDomainRestrictionEnabled")) return;
  const isAllowed = options.get("EmailDomainWhitelist").some((domain) => email.endsWith(`@${domain}`));
  if (!isAllowed) throw faults.refused("该邮箱域名不在允许范围内");
}

/**
 * Gives the actor's account the address that a code proves; `beside` is written last in the same transaction. Throws: AppError for a
 * wrong code and an address of another user; 401 when the actor's session or access token has ended.
 */
export async function bindEmail(
  tools: VerificationTools,
  entry: Entry,
  { email, code }: { email: string; code: string },
  beside: (tx: Db, joined: Joined | undefined) => Promise<void>,
): Promise<void> {
  const userId = entry.actor.id;
  const ref = codeRef(email, userId);
  if (!(await tryCode(tools, ref, code))) throw codeWrong();
  try {
    const isBound = await tools.db.transaction().execute(async (tx) => {
      if (!(await holdEntry(tools.secrets, tx, entry))) throw faults.notSignedIn();
      const found = await redeemCode(tools, tx, ref, code);
      if (found === undefined) return false;
      await updateUserProfile(tx, userId, { email });
      await beside(tx, await joinByAddress(tools, tx, { email, userId }));
      return true;
    });
    if (!isBound) throw codeWrong();
  } catch (error) {
    throw isTaken(error) ? faults.refused(ADDRESS_TAKEN) : error;
  }
  tools.events.accountBound({ userId, identity: "email" });
  await tools.coord.publish("users", String(userId));
}

/** What the domain of an address that an account has just proved brings: its group only where the account is still in `default`. */
async function joinByAddress(
  { clock }: VerificationTools,
  tx: Db,
  { email, userId }: { email: string; userId: number },
): Promise<Joined | undefined> {
  const domain = await domainOf(tx, email);
  if (domain === undefined) return undefined;
  const user = await getUser(tx, userId);
  const isNew = domain.group !== "" && user.group === "default" && !isStaff(user);
  if (isNew) await updateUserProfile(tx, userId, { group: domain.group });
  return joinByDomain(tx, domain, { userId, group: isNew ? domain.group : "", now: clock.seconds() });
}
