// Limits: what binds the user's own keys; for administrators also those of users, groups and everybody.

import { Tabs } from "antd";
import { useState } from "react";
import { useCall } from "#console/base/call.ts";
import { wide } from "#console/base/language.ts";
import { removesRow } from "#console/base/rows.ts";
import { useMay } from "#console/base/session.ts";
import { useStatus } from "#console/base/status.ts";
import { BoostDialog, boostAction, boosted } from "#console/ui/boost-dialog.tsx";
import { useToForm } from "#console/ui/form-way.ts";
import { Page } from "#console/ui/page.tsx";
import { listOf } from "#console/ui/resource-table.tsx";
import { AddLink, deleteAction, editAction } from "#console/ui/row-actions.tsx";
import type { RowAction } from "#console/ui/row-view.ts";
import { useTab } from "#console/ui/table-state.ts";
import { type Limit, limitApi } from "#contract/limit.ts";
import { LimitTable } from "./table.tsx";
import { subjectText, whatText } from "./words.ts";

const LISTS = [limitApi.list, limitApi.self] as const;

function Own() {
  return (
    <LimitTable
      name="limit-self"
      label="对我生效的限额"
      load={listOf({ list: limitApi.self, search: limitApi.self })}
      empty={{ text: "没有对您生效的限额。可以在令牌列表中为单个令牌设置。" }}
    />
  );
}

function All() {
  const toForm = useToForm();
  const remove = useCall(limitApi.remove, removesRow(LISTS));
  const [raised, setRaised] = useState<Limit>();
  const boost = useCall(
    limitApi.boost,
    boosted(LISTS, () => setRaised(undefined)),
  );
  const actions = (row: Limit): RowAction[] => [
    { ...editAction(() => toForm(`/limit/edit/${row.id}`)), permission: "limit.write" },
    { ...boostAction(() => setRaised(row)), permission: "limit.write" },
    {
      ...deleteAction(
        () => remove.mutate({ params: { id: row.id } }),
        `删除${subjectText(row)}的限额“${whatText(row)}”？`,
      ),
      permission: "limit.write",
    },
  ];
  return (
    <>
      <LimitTable
        name="limit"
        label="限额列表"
        load={listOf({ list: limitApi.list, search: limitApi.list })}
        actions={actions}
        actionsWidth={wide(178, 162)}
        empty={{
          text: "还没有限额。可以限制一个用户、一个分组或全站的额度与速率。",
          action: <AddLink to="/limit/add" text="添加新的限额" permission="limit.write" />,
        }}
      />
      {raised === undefined ? null : (
        <BoostDialog
          title={`${subjectText(raised)} ${whatText(raised)}`}
          limit={raised}
          isBusy={boost.isPending}
          onSend={(body) => boost.mutate({ params: { id: raised.id }, body })}
          onClose={() => setRaised(undefined)}
        />
      )}
    </>
  );
}

const TABS = [
  { key: "self", label: "对我生效", children: <Own /> },
  { key: "all", label: "用户、分组与全站", children: <All /> },
];

export function LimitPage() {
  const [tab, openTab] = useTab("all");
  const zone = useStatus()?.budget_time_zone ?? "";
  const lead = `一次调用须同时满足所有限额；令牌的限额在令牌列表中设置，团队的上限在团队页面上。${zone === "" ? "" : `每日、每周与每月按 ${zone} 时区重置。`}`;
  if (!useMay("limit.read"))
    return (
      <Page lead={lead}>
        <Own />
      </Page>
    );
  return (
    <Page lead={lead} extra={<AddLink to="/limit/add" text="添加新的限额" permission="limit.write" />}>
      <Tabs
        activeKey={tab === "self" ? tab : "all"}
        items={TABS.toReversed()}
        destroyOnHidden
        onChange={openTab}
      />
    </Page>
  );
}
