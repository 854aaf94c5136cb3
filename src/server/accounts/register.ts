// Registration with a password (requirements W3.3). Whether it is open is checked before; here follow the rules of the fields, the
// code of the e-mail address, and the insert, in this order.
import { Email, type Registration } from "#contract/auth.ts";
import { faults } from "#server/errors.ts";
import { hashPassword } from "#server/secrets.ts";
import { isTaken } from "#server/store/fault.ts";
import type { InvitationRow } from "#server/store/invitations.ts";
import { findNameHolder } from "#server/store/names.ts";
import type { Tools } from "#server/tools.ts";
import { redeemCode, tryCode } from "./codes.ts";
import { type AccountTools, type AfterInsert, createAccount } from "./new-account.ts";
import { isTooCommon } from "./password.ts";
import { codeRef, codeWrong, type VerificationTools } from "./verification.ts";

export type RegisterTools = AccountTools & VerificationTools & Pick<Tools, "options">;

interface RegisterParts {
  /** What it is made by; it is used up with the insert. */
  readonly invitation: InvitationRow | undefined;
  before(tx: Tools["db"]): Promise<void>;
  readonly after: AfterInsert;
}

/**
 * Makes an account and returns its id. Both parts run in the transaction of the insert, before and after it, and roll it back by
 * throwing. Throws: one AppError per rule.
 */
export async function register(
  tools: RegisterTools,
  draft: Registration,
  { invitation, before, after }: RegisterParts,
): Promise<number> {
  const { username, password, verification_code: code } = draft;
  if (isTooCommon(password, [username, tools.options.get("SystemName")]))
    throw faults.refused("这个密码太容易被猜到，请换一个");
  const bound = invitation?.email ?? "";
  const email = bound !== "" || tools.options.get("EmailVerificationEnabled") ? provenAddress(draft) : "";
  if (bound !== "" && bound !== email) throw faults.refused("这个邀请只能由受邀的邮箱使用");
  const ref = codeRef(email, 0);
  // Checked before the hash is made, which is expensive; taken only together with the insert.
  if (email !== "" && !(await tryCode(tools, ref, code))) throw codeWrong();
  const account = {
    username,
    displayName: username,
    password: await hashPassword(password),
    email,
    isEmailProved: email !== "",
    githubId: "",
    wechatId: "",
    affCode: draft.aff_code,
    invitation,
  };
  const takeProofs = async (tx: Tools["db"]) => {
    if (email !== "" && (await redeemCode(tools, tx, ref, code)) === undefined) return false;
    await before(tx);
    return true;
  };
  const userId = await createAccount(tools, account, after, takeProofs).catch(async (error) => {
    if (!isTaken(error)) throw error;
    const isNameTaken = (await findNameHolder(tools.db, username)) !== undefined;
    throw faults.refused(isNameTaken ? "用户名已被使用" : "该邮箱已被其他账户绑定");
  });
  if (userId === undefined) throw codeWrong();
  return userId;
}

/** The address of a draft. Throws: AppError when it or its code is missing or no address. */
function provenAddress(draft: Registration): string {
  if (draft.email === "" || draft.verification_code === "") throw faults.refused("请填写邮箱和验证码");
  const email = Email.safeParse(draft.email);
  if (!email.success) throw faults.invalid("邮箱地址格式不正确");
  return email.data;
}
