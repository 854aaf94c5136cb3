// All users: search, sort, enable and disable, edit, delete.
import {
  DeleteOutlined,
  EditOutlined,
  FileSearchOutlined,
  PlusOutlined,
  PoweroffOutlined,
  WalletOutlined,
} from "@ant-design/icons";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { query, useCall } from "#console/base/call.ts";
import { logPath } from "#console/base/log-path.ts";
import { hideRow, patchRow } from "#console/base/rows.ts";
import { useUser } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { useToForm } from "#console/ui/form-way.ts";
import { Page } from "#console/ui/page.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { ResourceTable } from "#console/ui/resource-table.tsx";
import type { RowAction } from "#console/ui/row-view.ts";
import { Role, type User, UserStatus } from "#contract/user.ts";
import { userAdminApi } from "#contract/user-admin.ts";
import { RolePill, UserName, UserState, userColumns } from "./columns.tsx";
import { DeletionDialog } from "./deletion.tsx";
import { isProtected, isWithdrawable, mayEdit } from "./values.ts";
import { WithdrawalDialog } from "./withdrawal.tsx";
import "./list.css";

const LISTS = [userAdminApi.list, userAdminApi.search] as const;

/** What the column 统计信息 holds. */
const SORTS = [
  { key: "quota", title: "剩余额度" },
  { key: "used_quota", title: "已用额度" },
  { key: "request_count", title: "请求次数" },
] as const;

/** Bans, activates or deletes; the row takes what the server returned (requirements B4). */
function useManage() {
  const client = useQueryClient();
  const manage = useCall(userAdminApi.manage, { invalidates: LISTS, onSuccess: () => toast.success() });
  const setEnabled = (user: User, action: "enable" | "disable") =>
    manage.mutate(
      { body: { username: user.username, action } },
      { onSuccess: ({ status, role }) => patchRow(client, LISTS, { id: user.id, ...{ status, role } }) },
    );
  const remove = (user: User, done: () => void) =>
    manage.mutate(
      { body: { username: user.username, action: "delete" } },
      {
        onSuccess: () => {
          hideRow(client, LISTS, user.id);
          done();
        },
      },
    );
  return { setEnabled, remove, isBusy: manage.isPending };
}

function AddUser() {
  return (
    <LinkButton to="/user/add" kind="primary" icon={<PlusOutlined aria-hidden="true" />}>
      添加新的用户
    </LinkButton>
  );
}

interface RowVerbs {
  readonly setEnabled: (user: User, action: "enable" | "disable") => void;
  readonly setPaid: (user: User) => void;
  readonly setDoomed: (user: User) => void;
}

/** What can be done with a row; super administrators are out of reach (requirements B4). */
function useActions({ setEnabled, setPaid, setDoomed }: RowVerbs) {
  const toForm = useToForm();
  const navigate = useNavigate();
  const self = useUser();
  return (user: User): RowAction[] => {
    const isEnabled = user.status === UserStatus.enabled;
    const isSelf = user.id === self?.id;
    const mayAct = mayEdit(self?.role ?? 0, user);
    const isOff = isProtected(user) || !mayAct;
    return [
      {
        key: "toggle",
        label: isEnabled ? "禁用" : "启用",
        icon: <PoweroffOutlined aria-hidden="true" />,
        isDisabled: isOff,
        onClick: () => setEnabled(user, isEnabled ? "disable" : "enable"),
      },
      {
        key: "edit",
        label: "编辑",
        icon: <EditOutlined aria-hidden="true" />,
        isDisabled: !isSelf && !mayAct,
        onClick: () => toForm(mayAct ? `/user/edit/${user.id}` : "/user/edit"),
      },
      {
        key: "log",
        label: "日志",
        icon: <FileSearchOutlined aria-hidden="true" />,
        onClick: () => void navigate(logPath({ username: user.username })),
      },
      ...(isWithdrawable(user)
        ? [
            {
              key: "withdraw",
              label: "提现",
              icon: <WalletOutlined aria-hidden="true" />,
              isDisabled: !mayAct,
              onClick: () => setPaid(user),
            },
          ]
        : []),
      {
        key: "delete",
        label: "删除",
        icon: <DeleteOutlined aria-hidden="true" />,
        isDanger: true,
        isDisabled: isOff,
        onClick: () => setDoomed(user),
      },
    ];
  };
}

export function UserListPage() {
  const { setEnabled, remove, isBusy } = useManage();
  const [doomed, setDoomed] = useState<User>();
  const [paid, setPaid] = useState<User>();
  const actions = useActions({ setEnabled, setPaid, setDoomed });
  return (
    <Page title="管理用户" lead="用户各有额度、分组与角色；分组决定可用的渠道和倍率。" extra={<AddUser />}>
      <ResourceTable<User>
        name="user"
        label="用户列表"
        searchHint="搜索用户的 ID、名称和邮箱"
        moreSorts={SORTS}
        load={({ keyword, ...page }) =>
          keyword === ""
            ? query(userAdminApi.list, { query: page })
            : query(userAdminApi.search, { query: { ...page, keyword } })
        }
        columns={userColumns}
        actions={actions}
        actionsWidth={258}
        cardTitle={(user) => <UserName user={user} />}
        cardState={(user) => (
          <>
            {user.role > Role.user ? <RolePill user={user} /> : null}
            <UserState user={user} />
          </>
        )}
        cardFacts={["id", "group", "stats"]}
        empty={{ text: "还没有用户。", action: <AddUser /> }}
      />
      {paid === undefined ? null : <WithdrawalDialog user={paid} onClose={() => setPaid(undefined)} />}
      {doomed === undefined ? null : (
        <DeletionDialog
          user={doomed}
          isBusy={isBusy}
          onConfirm={() => remove(doomed, () => setDoomed(undefined))}
          onClose={() => setDoomed(undefined)}
        />
      )}
    </Page>
  );
}
