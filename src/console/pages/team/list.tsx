// My teams, and for administrators all teams.
import { Button, Form, Tabs } from "antd";
import { useState } from "react";
import { useNavigate } from "react-router";
import { query, useCall } from "#console/base/call.ts";
import { newActKey } from "#console/base/once.ts";
import { useMay } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { closing } from "#console/ui/closing.ts";
import { filled } from "#console/ui/fields.ts";
import { FormDialog } from "#console/ui/form-dialog.tsx";
import { Page } from "#console/ui/page.tsx";
import { QuotaField } from "#console/ui/quota-field.tsx";
import { ResourceTable, rowsOf } from "#console/ui/resource-table.tsx";
import { toggleAction } from "#console/ui/row-actions.tsx";
import type { CellProps, Column, RowAction } from "#console/ui/row-view.ts";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { useTab } from "#console/ui/table-state.ts";
import { TextField } from "#console/ui/text-field.tsx";
import { QuotaText } from "#console/ui/value-text.tsx";
import { type Team, teamAdminApi, teamApi } from "#contract/team.ts";
import { ROLE_LABELS } from "./words.ts";

function State({ row }: CellProps<Team>) {
  if (row.closed_at > 0) return <StatusTag tone="idle" label="已解散" />;
  return row.status === 1 ? <StatusTag tone="good" label="正常" /> : <StatusTag tone="bad" label="已停用" />;
}

function Wallet({ row }: CellProps<Team>) {
  return row.quota === null ? <span className="tg-muted">—</span> : <QuotaText quota={row.quota} />;
}

const name: Column<Team> = {
  key: "name",
  title: "团队",
  isFixed: true,
  isInHead: true,
  width: 180,
  shows: "text",
};
const state: Column<Team> = { key: "status", title: "状态", isInHead: true, width: 100, cell: State };
const rest: readonly Column<Team>[] = [
  { key: "members", title: "成员数", width: 90, shows: "number", isNumber: true },
  { key: "quota", title: "钱包余额", width: 120, cell: Wallet, isNumber: true },
  { key: "created_at", title: "创建时间", width: 160, shows: "time" },
];
const ownColumns: readonly Column<Team>[] = [
  name,
  state,
  {
    key: "role",
    title: "我的角色",
    width: 110,
    render: ({ role }) => (role === "" ? "—" : ROLE_LABELS[role]),
  },
  ...rest,
];
const allColumns: readonly Column<Team>[] = [
  name,
  state,
  { key: "owner_name", title: "所有者", width: 130, shows: "text" },
  { key: "group", title: "分组", width: 100, shows: "text" },
  ...rest,
];

interface NameDialogProps {
  readonly onClose: () => void;
}

function CreateDialog({ onClose }: NameDialogProps) {
  const navigate = useNavigate();
  const create = useCall(teamApi.create, {
    invalidates: [teamApi.list],
    onSuccess: ({ id }) => {
      toast.success("团队已创建");
      void navigate(`/team/${id}`);
    },
  });
  return (
    <FormDialog<{ name: string }>
      title="创建团队"
      width={440}
      okText="创建"
      isBusy={create.isPending}
      lead={<p>您将成为所有者。团队有自己的钱包，成员的令牌从钱包付费，不动用成员个人的余额。</p>}
      onFinish={(body) => create.mutate({ body })}
      onClose={onClose}
    >
      <TextField
        name="name"
        label="团队名称"
        rules={[filled]}
        maxLength={30}
        placeholder="例如：研发一组"
        autoFocus
      />
    </FormDialog>
  );
}

function AdjustDialog({ team, onClose }: NameDialogProps & { readonly team: Team }) {
  const [idempotencyKey] = useState(newActKey);
  const adjust = useCall(
    teamAdminApi.adjust,
    closing([teamAdminApi.all, teamApi.list], "钱包已调整", onClose),
  );
  return (
    <FormDialog<{ amount: number; reason: string }>
      title={`调整钱包：${team.name}`}
      width={480}
      okText="调整"
      isBusy={adjust.isPending}
      onFinish={({ amount, reason }) =>
        adjust.mutate({ body: { id: team.id, amount, reason }, idempotencyKey })
      }
      onClose={onClose}
    >
      <Form.Item name="amount" label="增加的额度" extra="负数表示减少；写入账本与审计日志。" rules={[filled]}>
        <QuotaField amounts="set" />
      </Form.Item>
      <TextField name="reason" label="原因" rules={[filled]} maxLength={200} />
    </FormDialog>
  );
}

function Own({ onCreate }: { readonly onCreate: () => void }) {
  const navigate = useNavigate();
  const open = ({ id }: Team) => void navigate(`/team/${id}`);
  return (
    <ResourceTable<Team>
      name="team"
      label="我的团队"
      load={() => rowsOf(query(teamApi.list, {}))}
      columns={ownColumns}
      actions={(row) => [{ key: "open", label: "进入", onClick: () => open(row) }]}
      actionsWidth={90}
      cardTitle={(row) => row.name}
      cardState={(row) => <State row={row} />}
      cardFacts={["role", "members", "quota", "created_at"]}
      empty={{
        text: "还没有团队。创建一个，或打开别人发来的邀请链接。",
        action: (
          <Button type="primary" onClick={onCreate}>
            创建团队
          </Button>
        ),
      }}
    />
  );
}

function All() {
  const [adjusted, setAdjusted] = useState<Team>();
  const manage = useCall(teamAdminApi.manage, {
    invalidates: [teamAdminApi.all],
    onSuccess: () => toast.success(),
  });
  const actions = (row: Team): RowAction[] =>
    row.closed_at > 0
      ? []
      : [
          {
            key: "adjust",
            label: "调整额度",
            permission: "team.wallet.adjust",
            onClick: () => setAdjusted(row),
          },
          {
            ...toggleAction(row.status === 1, () =>
              manage.mutate({ body: { id: row.id, status: row.status === 1 ? 2 : 1 } }),
            ),
            permission: "team.write",
          },
        ];
  return (
    <>
      <ResourceTable<Team>
        name="team-all"
        label="所有团队"
        searchHint="搜索团队的 ID 或名称"
        load={({ p, size, keyword }) => query(teamAdminApi.all, { query: { p, size, keyword } })}
        columns={allColumns}
        actions={actions}
        actionsWidth={150}
        cardTitle={(row) => row.name}
        cardState={(row) => <State row={row} />}
        cardFacts={["owner_name", "group", "members", "quota"]}
        empty={{ text: "还没有团队。" }}
      />
      {adjusted === undefined ? null : (
        <AdjustDialog team={adjusted} onClose={() => setAdjusted(undefined)} />
      )}
    </>
  );
}

export function TeamListPage() {
  const [isCreating, setCreating] = useState(false);
  const [tab, openTab] = useTab("own");
  const create = () => setCreating(true);
  const own = <Own onCreate={create} />;
  return (
    <Page
      lead="几个人共用一个钱包：各用各的令牌，按成员设上限、看费用。"
      extra={
        <Button type="primary" onClick={create}>
          创建团队
        </Button>
      }
    >
      {useMay("team.read") ? (
        <Tabs
          activeKey={tab === "all" ? tab : "own"}
          items={[
            { key: "own", label: "我的团队", children: own },
            { key: "all", label: "所有团队", children: <All /> },
          ]}
          destroyOnHidden
          onChange={openTab}
        />
      ) : (
        own
      )}
      {isCreating ? <CreateDialog onClose={() => setCreating(false)} /> : null}
    </Page>
  );
}
