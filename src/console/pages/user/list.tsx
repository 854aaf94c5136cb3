// All users: search, sort, enable and disable, edit, delete.

import { KeyOutlined, ProfileOutlined, WalletOutlined } from "@ant-design/icons";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { query, useCall } from "#console/base/call.ts";
import { wide } from "#console/base/language.ts";
import { logPath } from "#console/base/log-path.ts";
import { hideRow, patchRow } from "#console/base/rows.ts";
import { may, useMay, useUser } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { useToForm } from "#console/ui/form-way.ts";
import { emptyOf, ListFilters, useAddressFilters } from "#console/ui/list-filters.tsx";
import { Page } from "#console/ui/page.tsx";
import { usePartnerTerms } from "#console/ui/partner-terms.ts";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { blocksOf, listOf, ResourceTable } from "#console/ui/resource-table.tsx";
import { AddLink, deleteAction, editAction, logAction, toggleAction } from "#console/ui/row-actions.tsx";
import type { RowAction } from "#console/ui/row-view.ts";
import { TypedConfirm } from "#console/ui/typed-confirm.tsx";
import { QuotaText } from "#console/ui/value-text.tsx";
import { Role, type User, UserStatus } from "#contract/user.ts";
import { userAdminApi } from "#contract/user-admin.ts";
import { LISTS, UserBulk } from "./bulk.tsx";
import { RolePill, UserName, UserState, userColumns } from "./columns.tsx";
import { USER_FILE, USER_FILTERS } from "./filters.ts";
import { isOwed, isProtected, isWithdrawable, mayEdit, USER_ACTS } from "./values.ts";
import { WithdrawalDialog } from "./withdrawal.tsx";
import "./list.css";

interface DeletionDialogProps {
  readonly user: User;
  readonly isBusy: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

function DeletionDialog({ user, ...verbs }: DeletionDialogProps) {
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
  const { least_withdrawal: least } = usePartnerTerms();
  return (user: User): RowAction[] => {
    const isEnabled = user.status === UserStatus.enabled;
    const isSelf = user.id === self?.id;
    const mayAct = mayEdit(self?.role ?? 0, user);
    const isOff = isProtected(user) || !mayAct;
    const isOpen = isSelf || USER_ACTS.some((act) => may(self, act));
    const paid: RowAction = {
      key: "withdraw",
      label: "提现",
      icon: <WalletOutlined aria-hidden="true" />,
      isDisabled: !mayAct,
      permission: "money.withdraw",
      onClick: () => setPaid(user),
    };
    return [
      {
        ...toggleAction(isEnabled, () => setEnabled(user, isEnabled ? "disable" : "enable")),
        isDisabled: isOff,
        permission: "user.disable",
      },
      {
        ...editAction(() => toForm(mayAct ? `/user/edit/${user.id}` : "/user/edit")),
        isDisabled: !isSelf && !mayAct,
        ...(isOpen ? {} : { permission: "user.write" }),
      },
      {
        key: "token",
        label: "令牌",
        icon: <KeyOutlined aria-hidden="true" />,
        isDisabled: !mayAct,
        onClick: () => toForm(`/user/token/${user.id}`),
      },
      {
        key: "statement",
        label: "账单",
        icon: <ProfileOutlined aria-hidden="true" />,
        isDisabled: !mayAct,
        permission: "money.read",
        onClick: () => void navigate(`/statement?user=${user.id}`),
      },
      {
        ...logAction(() => void navigate(logPath({ username: user.username }))),
        permission: "log.read",
      },
      ...(isWithdrawable(user, least) ? [paid] : []),
      { ...deleteAction(() => setDoomed(user)), isDisabled: isOff, permission: "user.delete" },
    ];
  };
}

const add = <AddLink to="/user/add" text="添加新的用户" permission="user.create" />;

export function UserListPage() {
  const { setEnabled, remove, isBusy } = useManage();
  const filters = useAddressFilters(USER_FILTERS);
  const [doomed, setDoomed] = useState<User>();
  const [paid, setPaid] = useState<User>();
  const actions = useActions({ setEnabled, setPaid, setDoomed });
  const mayDisable = useMay("user.disable");
  const mayDelete = useMay("user.delete");
  const bulk = (users: readonly User[], onDone: (left: readonly User[]) => void) => (
    <UserBulk users={users} onDone={onDone} />
  );
  const heads = (
    <>
      {useMay("service.read") ? <LinkButton to="/service-account">服务账户</LinkButton> : null}
      {useMay("user.role.write") ? <LinkButton to="/staff">权限集</LinkButton> : null}
      {useMay("user.create") ? <LinkButton to="/user/invitation">邀请</LinkButton> : null}
      {add}
    </>
  );
  return (
    <Page title="管理用户" lead="用户各有额度、分组与角色；分组决定可用的渠道和倍率。" extra={heads}>
      <ResourceTable<User>
        name="user"
        label="用户列表"
        searchHint="搜索用户的 ID、名称和邮箱"
        moreSorts={SORTS}
        filters={
          <ListFilters label="用户筛选" fields={USER_FILTERS} {...filters} onChange={filters.change} />
        }
        load={listOf(userAdminApi, filters.filter)}
        file={{ name: "用户", columns: USER_FILE, block: blocksOf(userAdminApi, filters.filter) }}
        columns={userColumns}
        actions={actions}
        {...(mayDisable || mayDelete ? { bulk } : {})}
        actionsWidth={wide(268, 372)}
        cardTitle={(user) => <UserName row={user} />}
        cardState={(user) => (
          <>
            {user.role > Role.user ? <RolePill row={user} /> : null}
            <UserState row={user} />
          </>
        )}
        cardFacts={["id", "group", "stats"]}
        empty={emptyOf(filters, { text: "还没有用户。", action: add })}
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
