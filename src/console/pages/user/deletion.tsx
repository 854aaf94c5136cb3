// Asks before a user is deleted, and tells what goes with the account (console.md, Feedback).
import { useQuery } from "@tanstack/react-query";
import { query } from "#console/base/call.ts";
import { QuotaText } from "#console/ui/quota-text.tsx";
import { TypedConfirm } from "#console/ui/typed-confirm.tsx";
import type { User } from "#contract/user.ts";
import { userAdminApi } from "#contract/user-admin.ts";
import { isOwed } from "./values.ts";

export interface DeletionDialogProps {
  readonly user: User;
  readonly isBusy: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

export function DeletionDialog({ user, ...verbs }: DeletionDialogProps) {
  // The list may be old: what is lost is asked for anew.
  const { data: fresh } = useQuery({
    ...query(userAdminApi.get, { params: { id: user.id } }),
    staleTime: 0,
    meta: { silent: true },
  });
  const { quota, invite_commission_balance } = fresh ?? user;
  return (
    <TypedConfirm
      title={`删除用户“${user.username}”？`}
      expected={user.username}
      confirmText="确认删除"
      {...verbs}
    >
      剩余额度{" "}
      <strong>
        <QuotaText quota={quota} />
      </strong>
      {isOwed(invite_commission_balance) ? (
        <>
          {" "}
          和返现余额 <strong>¥{invite_commission_balance}</strong>
        </>
      ) : null}{" "}
      随账户作废，全部令牌立即失效，且无法再登录；已有的日志和账目会保留。此操作无法撤销。
    </TypedConfirm>
  );
}
