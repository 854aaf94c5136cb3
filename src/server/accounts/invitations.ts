// Invitations to the server (requirements I38): a visitor who has the link may make an account, as often as it says, until it ends, is
// taken back, or its maker is no administrator any more.

import { UserStatus } from "#contract/user.ts";
import { AppError, faults } from "#server/errors.ts";
import type { Db } from "#server/store/db.ts";
import { findInvitation, type InvitationRow, takeInvitation } from "#server/store/invitations.ts";
import { findUserById, type UserRow } from "#server/store/users.ts";
import type { Tools } from "#server/tools.ts";
import { isStaff } from "./may.ts";

export type InvitationTools = Pick<Tools, "db" | "clock" | "secrets" | "options">;

export const unusable = () => faults.refused("邀请链接无效或已失效");

/** An invitation that can be used now, and who made it. Throws: one AppError for all that is wrong. */
export async function openInvitation(
  { db, clock, secrets }: Pick<InvitationTools, "db" | "clock" | "secrets">,
  code: string,
): Promise<{ invitation: InvitationRow; inviter: UserRow }> {
  const invitation = await findInvitation(db, secrets.hash(`invitation ${code}`), clock.seconds());
  const inviter = invitation && (await findUserById(db, invitation.created_by));
  if (invitation === undefined || inviter === undefined) throw unusable();
  if (inviter.status !== UserStatus.enabled || !isStaff(inviter)) throw unusable();
  return { invitation, inviter };
}

/** The invitation that a visitor registers with; undefined = none, where none is needed. Throws: AppError. */
export async function admitVisitor(tools: InvitationTools, code: string): Promise<InvitationRow | undefined> {
  if (code !== "") return (await openInvitation(tools, code)).invitation;
  refuseUninvited(tools);
  return undefined;
}

/**
 * The invitation of a person who comes from another service with the code that his browser kept; undefined = none that can be used, where
 * none is needed. `email`: the address that the service proves. Throws: AppError.
 */
export async function admitArrival(
  tools: InvitationTools,
  { code, email }: { code: string; email: string },
): Promise<InvitationRow | undefined> {
  const found = code === "" ? undefined : await openInvitation(tools, code).catch(noneIfUnusable);
  if (found === undefined) {
    refuseUninvited(tools);
    return undefined;
  }
  const bound = found.invitation.email;
  if (bound !== "" && bound !== email)
    throw faults.refused("这个邀请只能由受邀的邮箱使用：请用该邮箱注册，之后可绑定第三方账号");
  return found.invitation;
}

/** A code that a browser kept too long is none. */
function noneIfUnusable(error: unknown): undefined {
  if (!(error instanceof AppError)) throw error;
}

/** Throws: AppError where accounts are made by invitation only. */
export function refuseUninvited({ options }: Pick<InvitationTools, "options">): void {
  if (options.get("InvitationRequiredEnabled"))
    throw faults.refused("当前仅限受邀注册：请打开收到的邀请链接注册，之后可绑定第三方账号");
}

/** Takes one use in the transaction that makes the account. Throws: AppError when there is none left; the transaction rolls back. */
export async function spendInvitation(
  { clock }: InvitationTools,
  tx: Db,
  { id }: InvitationRow,
): Promise<void> {
  if (!(await takeInvitation(tx, id, clock.seconds()))) throw unusable();
}
