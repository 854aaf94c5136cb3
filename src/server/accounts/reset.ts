// Password reset by mail (requirements W4.4, A12–A14, A22). The answer never tells whether an address is known: the look-up
// and the letter happen after the answer.
import type { Language } from "#contract/language.ts";
import { UserStatus } from "#contract/user.ts";
import { faults } from "#server/errors.ts";
import { hashPassword, randomId, randomPassword } from "#server/secrets.ts";
import { deleteSessionsOfUser } from "#server/store/sessions.ts";
import { findUserByIdentity, type UserRow, updateUserProfile } from "#server/store/users.ts";
import type { Tools } from "#server/tools.ts";
import { type CodeRef, isCode, issueCode, redeemCode } from "./codes.ts";
import { resetDoneLetter, resetLetter } from "./letters.ts";
import { limitMail, type Mailer, siteUrl } from "./mailer.ts";
import { isSuper } from "./may.ts";

export type ResetTools = Pick<
  Tools,
  "db" | "clock" | "secrets" | "options" | "coord" | "limits" | "events" | "config"
> & { readonly mailer: Mailer };

export interface Resets {
  /** Asks for a letter. Throws: 429, AppError when there is no mail server; both whatever the address. */
  request(asked: { email: string; address: string; language: Language }): Promise<void>;
  /**
   * Sets a new random password and returns it; every session and the access token end. `beside` is written last in the same
   * transaction. Throws: the same AppError for all causes.
   */
  finish(
    reset: { email: string; token: string },
    beside: (tx: Tools["db"], user: UserRow) => Promise<void>,
  ): Promise<string>;
  /** Resolves when every letter that was asked for is written. */
  idle(): Promise<void>;
}

const REFUSAL = "重置链接无效或已失效";

/** Bound to the account, so that it is of no use to another account that has the address later. */
function refOf(userId: number): CodeRef {
  return { purpose: "reset", subject: String(userId) };
}

export function createResets(tools: ResetTools): Resets {
  const running = new Set<Promise<unknown>>();

  async function write(email: string, language: Language): Promise<void> {
    const user = await findResettable(tools, email);
    if (!user) return;
    const token = randomId();
    await issueCode(tools, refOf(user.id), { text: token, userId: user.id });
    const url = `${siteUrl(tools)}/user/reset?email=${encodeURIComponent(email)}&token=${token}`;
    await tools.mailer.post(email, resetLetter(tools.options.get("SystemName"), url), language);
  }

  return {
    async request({ email, address, language }) {
      if (!tools.mailer.isReady()) throw faults.refused("管理员尚未配置邮件服务，无法发送邮件");
      await limitMail(tools, email, address);
      const work = write(email, language).catch((error: unknown) =>
        tools.events.backgroundFailed({ task: "reset letter", error }),
      );
      running.add(work);
      void work.then(() => running.delete(work));
    },

    async finish({ email, token }, beside) {
      const user = await findResettable(tools, email);
      // Checked before the hash is made, which is expensive; taken together with the change.
      if (!user || !(await isCode(tools, refOf(user.id), token))) throw faults.refused(REFUSAL);
      const password = randomPassword();
      const hash = await hashPassword(password);
      const isDone = await tools.db.transaction().execute(async (tx) => {
        if (!(await redeemCode(tools, tx, refOf(user.id), token))) return false;
        // The row is locked first: a login that holds it has its session by then, and none can follow (requirements A06).
        const isThere = await updateUserProfile(tx, user.id, { password: hash, access_token_hash: null });
        await deleteSessionsOfUser(tx, user.id);
        if (isThere) await beside(tx, user);
        return isThere;
      });
      if (!isDone) throw faults.refused(REFUSAL);
      await tools.coord.publish("users", String(user.id));
      tools.events.passwordReset({ userId: user.id });
      void tools.mailer.post(email, resetDoneLetter(tools.options.get("SystemName"), user.username));
      return password;
    },

    async idle() {
      while (running.size > 0) await Promise.allSettled(running);
    },
  };
}

/** The enabled account of an address. Never a super administrator's: access to a mailbox must not grant that role (requirements A22). */
async function findResettable({ db }: ResetTools, email: string): Promise<UserRow | undefined> {
  const user = await findUserByIdentity(db, "email", email);
  return user?.status === UserStatus.enabled && !isSuper(user) ? user : undefined;
}
