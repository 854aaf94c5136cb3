// Guards on writing options that check more than the options themselves: where an address leads, and which logins remain.
import { type OptionKey, optionTable } from "#contract/option.ts";
import { Role, UserStatus } from "#contract/user.ts";
import { relyingParty } from "#server/accounts/passkeys.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { countOrphans } from "#server/store/passkeys.ts";
import { hasExternalLogin } from "#server/store/users.ts";

export type GuardTools = Pick<Context, "db" | "options" | "egress">;

/** Addresses the server itself calls (requirements S06). */
const CALLED: readonly OptionKey[] = ["WeChatServerAddress", "MessagePusherAddress"];

/** Throws: AppError for an address that the server would not be allowed to call. */
export function refuseAddress({ egress }: GuardTools, key: OptionKey, text: string): void {
  const typed = text.trim();
  if (typed === "") return;
  if (key === "OutboundProxy") {
    const refusal = egress.refusalOfProxy(typed);
    if (refusal !== undefined) throw faults.refused(`${optionTable[key].label}：${refusal}`);
  }
  if (!CALLED.includes(key) && key !== "SMTPServer") return;
  // A mail server is a bare name; the policy reads URLs.
  const url = key === "SMTPServer" ? `http://${typed.includes(":") ? `[${typed}]` : typed}` : typed;
  if (key === "SMTPServer" && !/^[\w.:-]+$/.test(typed)) throw faults.invalid("SMTP 服务器须为主机名或 IP");
  const judged = egress.judge(url);
  if ("refusal" in judged) throw faults.refused(`${optionTable[key].label}：${judged.refusal}`);
}

/** The switches of the logins other than by password, and the identity of each. */
const EXTERNAL = [
  { option: "GitHubOAuthEnabled", identity: "github_id" },
  { option: "WeChatAuthEnabled", identity: "wechat_id" },
] as const;

/**
 * Turning off a login must leave one by which a super administrator can log in: the password, or an identity that one of them
 * has bound (requirements W6.3, A22). Throws: AppError.
 */
export async function refuseLockout(
  { db, options }: GuardTools,
  key: OptionKey,
  text: string,
): Promise<void> {
  const isWayIn = key === "PasswordLoginEnabled" || EXTERNAL.some(({ option }) => option === key);
  if (!isWayIn || text === "true") return;
  if (key !== "PasswordLoginEnabled" && options.get("PasswordLoginEnabled")) return;
  const left = EXTERNAL.filter(({ option }) => option !== key && options.get(option));
  for (const { identity } of left) {
    if (await hasExternalLogin(db, { identity, role: Role.root, status: UserStatus.enabled })) return;
  }
  throw faults.refused(
    left.length === 0
      ? "至少要保留一种登录方式"
      : "关闭后将没有超级管理员能够登录：请先用密码登录，并为超级管理员账号绑定 GitHub 或微信",
  );
}

/**
 * Passkeys belong to the host of ServerAddress: with another one they are of no use. Refused while an administrator has no other way
 * in; the message says how many are lost (requirements I26). Throws: AppError.
 */
export async function refuseOrphans(
  { db, options, config }: GuardTools & Pick<Context, "config">,
  key: OptionKey,
  text: string,
): Promise<void> {
  if (key !== "ServerAddress") return;
  const before = relyingParty({ options, config })?.id;
  const typed = text.trim() === "" ? "http://localhost" : text.trim();
  if (!URL.canParse(typed) || new URL(typed).hostname === before) return;
  const { passkeys, stranded } = await countOrphans(db, { role: Role.admin, status: UserStatus.enabled });
  if (stranded === 0) return;
  throw faults.refused(
    `更换域名会使全部 ${passkeys} 个通行密钥失效，而有 ${stranded} 位管理员没有其他登录方式：请先为他们设置密码与认证器应用`,
  );
}
