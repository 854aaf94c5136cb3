// Form values of a user as administrators edit it ⇄ what the contract wants. Pure.
import { changesOf } from "#console/base/changes.ts";
import { DisplayName, Username } from "#contract/name.ts";
import { Withdrawal } from "#contract/partner.ts";
import type { Permission } from "#contract/permission.ts";
import { Password, Role, type User } from "#contract/user.ts";
import { UserDraft, UserUpdate } from "#contract/user-admin.ts";
import { MICRO, microOf } from "#contract/yuan.ts";

export interface NewUserValues {
  readonly username: string;
  readonly display_name: string;
  readonly password: string;
}

export const NEW_USER: NewUserValues = { username: "", display_name: "", password: "" };

export interface UserValues {
  readonly username: string;
  readonly display_name: string;
  /** "" = unchanged. */
  readonly password: string;
  readonly group: string;
  readonly role: number;
  /** Quota units. */
  readonly quota: number | null;
  /** Yuan as decimal text. */
  readonly commission: string;
  readonly remark: string;
  /** Bindings to take away: `email`, `github_id`, `wechat_id`. */
  readonly cleared: readonly string[];
}

const NAME_LENGTH = 15;

/** A user name for narrow places: at most 15 characters and an ellipsis (requirements B2). */
export function cutName(name: string): string {
  const characters = [...name];
  return characters.length > NAME_LENGTH ? `${characters.slice(0, NAME_LENGTH).join("")}…` : name;
}

/** The groups of a user; none means default (requirements B3). */
export function groupsOf(group: string): string[] {
  return group
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

export function valuesOf(user: User): UserValues {
  return {
    username: user.username,
    display_name: user.display_name,
    password: "",
    group: user.group || "default",
    role: user.role,
    quota: user.quota,
    commission: user.invite_commission_balance,
    remark: "",
    cleared: [],
  };
}

/** Amounts go with what the form was opened with, so that what was spent meanwhile is not undone (requirements W3.5). */
function amountsOf(user: User, values: UserValues): Partial<UserUpdate> {
  const quota = Math.trunc(values.quota ?? user.quota);
  const commission = values.commission.trim();
  return {
    ...(quota === user.quota ? {} : { quota, original_quota: user.quota }),
    ...(commission === user.invite_commission_balance
      ? {}
      : {
          invite_commission_balance: commission,
          original_invite_commission_balance: user.invite_commission_balance,
        }),
  };
}

function profileOf({ username, display_name, group, role }: UserValues) {
  return { username: username.trim(), display_name: display_name.trim(), group, role };
}

/** Only what was edited: what another administrator saved since `user` was read stays (requirements W3.5). */
export function updateOf(user: User, values: UserValues): UserUpdate {
  const cleared = (["email", "github_id", "wechat_id"] as const).filter((name) =>
    values.cleared.includes(name),
  );
  return {
    id: user.id,
    ...changesOf(profileOf(valuesOf(user)), profileOf(values)),
    ...(values.password === "" ? {} : { password: values.password }),
    ...amountsOf(user, values),
    ...Object.fromEntries(cleared.map((name) => [name, ""])),
    ...(values.remark.trim() === "" ? {} : { remark: values.remark.trim() }),
  };
}

/** Whether deleting and disabling are turned off for this row: super administrators are out of reach (requirements B4). */
export function isProtected(user: Pick<User, "role">): boolean {
  return user.role >= Role.root;
}

/** Whether the server lets an administrator of this role edit that user (requirements W2.7). */
export function mayEdit(actorRole: number, user: Pick<User, "role">): boolean {
  return actorRole >= Role.root || actorRole > user.role;
}

/** What the page of a user lets administrators do; with one of them it is opened. */
export const USER_ACTS = [
  "user.write",
  "user.mfa.reset",
  "user.session.end",
  "user.view_as",
  "money.topup",
] as const satisfies readonly Permission[];

/** Whether there is anything in a balance of the partner plan. */
export function isOwed(balance: string): boolean {
  return (microOf(balance) ?? 0n) > 0n;
}

/** Whether the balance of the partner plan is enough for a withdrawal (requirements B9). Unit of `least`: yuan. */
export function isWithdrawable(
  { invite_commission_balance }: Pick<User, "invite_commission_balance">,
  least: number,
): boolean {
  const micro = microOf(invite_commission_balance) ?? 0n;
  return micro > 0n && micro >= BigInt(least) * MICRO;
}

/** The amount of a withdrawal: no less than is paid out at once, and no more than there is. */
export function withdrawableRule(balance: string, least: number) {
  const most = microOf(balance) ?? 0n;
  return Withdrawal.shape.amount
    .refine((text) => (microOf(text) ?? 0n) >= BigInt(least) * MICRO, `提现金额不能少于 ${least} 元`)
    .refine((text) => (microOf(text) ?? 0n) <= most, "返现余额不足");
}

export const UsernameRule = Username;
export const DisplayNameRule = DisplayName;
export const PasswordRule = Password;
export const NewPasswordRule = UserDraft.shape.password;
export const QuotaRule = UserUpdate.shape.quota.unwrap();
export const CommissionRule = UserUpdate.shape.invite_commission_balance.unwrap();
