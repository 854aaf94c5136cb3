// What can be done to the chosen users at once: enable, disable, delete. Of whom the rank forbids it the server says so.
import { useQueryClient } from "@tanstack/react-query";
import { call } from "#console/base/call.ts";
import { hideRow, patchRow } from "#console/base/rows.ts";
import { BulkActions } from "#console/ui/bulk-actions.tsx";
import type { User } from "#contract/user.ts";
import { userAdminApi } from "#contract/user-admin.ts";

/** What shows a row of these. */
export const LISTS = [userAdminApi.list, userAdminApi.search] as const;

export interface UserBulkProps {
  readonly users: readonly User[];
  readonly onDone: (failed: readonly User[]) => void;
}

export function UserBulk({ users, onDone }: UserBulkProps) {
  const client = useQueryClient();
  const setEnabled =
    (action: "enable" | "disable") =>
    async ({ id, username }: User) => {
      const { status, role } = await call(userAdminApi.manage, { body: { username, action } });
      patchRow(client, LISTS, { id, ...{ status, role } });
    };
  const remove = async ({ id, username }: User) => {
    await call(userAdminApi.manage, { body: { username, action: "delete" } });
    hideRow(client, LISTS, id);
  };
  return (
    <BulkActions<User>
      rows={users}
      noun="用户"
      nameOf={({ username }) => username}
      lists={LISTS}
      onDone={onDone}
      acts={[
        { verb: "启用", act: setEnabled("enable"), permission: "user.disable" },
        { verb: "禁用", act: setEnabled("disable"), permission: "user.disable" },
        {
          verb: "删除",
          act: remove,
          permission: "user.delete",
          warning: "剩余额度与返现余额随账户作废，全部令牌立即失效，且无法再登录。此操作无法撤销。",
        },
      ]}
    />
  );
}
