// What was done to a team, by whom and when, and how it was before: members, and administrators from outside.
import { useState } from "react";
import { call, query } from "#console/base/call.ts";
import type { CsvColumn } from "#console/base/export.ts";
import { formatTime } from "#console/base/format.ts";
import { ACT_COLUMNS, AuditDetails, actionChoices, actorText } from "#console/ui/audit-details.tsx";
import { emptyOf, type FilterField, ListFilters, useAddressFilters } from "#console/ui/list-filters.tsx";
import { ResourceTable } from "#console/ui/resource-table.tsx";
import type { Column } from "#console/ui/row-view.ts";
import { ColourTag } from "#console/ui/status-tag.tsx";
import { mayIn } from "#console/ui/team-context.ts";
import { auditActionText } from "#contract/audit-actions.ts";
import { type Team, teamApi } from "#contract/team.ts";
import { isTeamAct, type TeamAct, WALLET_ACTS } from "#contract/team-audit.ts";

const WALLET: readonly string[] = WALLET_ACTS;

function fieldsFor(team: Team): readonly FilterField[] {
  const isOffered = mayIn(team, "people") ? isTeamAct : (action: string) => WALLET.includes(action);
  return [
    {
      kind: "choice",
      name: "action",
      label: "选择操作",
      chip: "操作",
      options: actionChoices(isOffered),
      width: 168,
      isSearchable: true,
    },
    { kind: "range" },
    { kind: "text", name: "username", label: "操作者", chip: "操作者" },
  ];
}

const columns: readonly Column<TeamAct>[] = [
  ACT_COLUMNS.time,
  {
    ...ACT_COLUMNS.actor,
    width: 180,
    render: (row) => (
      <span className="tg-act-actor">
        <span className="tg-clip">{actorText(row)}</span>
        {row.is_outside ? <ColourTag colour="orange">团队外</ColourTag> : null}
      </span>
    ),
  },
  ACT_COLUMNS.action,
  ACT_COLUMNS.target,
  ACT_COLUMNS.detail,
];

const FILE: readonly CsvColumn<TeamAct>[] = [
  ["编号", (row) => row.id],
  ["时间", (row) => formatTime(row.created_at)],
  ["操作者 ID", (row) => row.actor_id],
  ["操作者", (row) => row.actor_name],
  ["团队外", (row) => (row.is_outside ? "是" : "否")],
  ["操作", (row) => auditActionText(row.action)],
  ["操作代码", (row) => row.action],
  ["对象", (row) => row.target],
  ["内容", (row) => row.detail],
];

export function TeamActs({ team }: { readonly team: Team }) {
  const fields = fieldsFor(team);
  const filters = useAddressFilters(fields);
  const [opened, setOpened] = useState<TeamAct>();
  const params = { id: team.id };
  const { filter } = filters;
  return (
    <>
      <ResourceTable<TeamAct>
        name="team-act"
        label="操作记录列表"
        filters={<ListFilters label="操作记录筛选" fields={fields} {...filters} onChange={filters.change} />}
        file={{
          name: "团队操作记录",
          columns: FILE,
          block: (_keyword, before, signal) =>
            call(teamApi.acts, { params, query: { ...filter, export: true, before } }, signal),
        }}
        load={({ p, size }) => query(teamApi.acts, { params, query: { ...filter, p, size } })}
        columns={columns}
        cardTitle={(row) => auditActionText(row.action)}
        cardState={(row) => (row.is_outside ? <ColourTag colour="orange">团队外</ColourTag> : null)}
        cardFacts={["created_at", "actor_name", "target", "detail"]}
        onOpen={setOpened}
        empty={emptyOf(filters, { text: "还没有记录。" })}
      />
      <AuditDetails entry={opened} onClose={() => setOpened(undefined)} />
    </>
  );
}
