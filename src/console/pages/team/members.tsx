// The members of a team: role, what they spent in the last thirty days, and what they may.

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { query, useCall } from "#console/base/call.ts";
import { wide } from "#console/base/language.ts";
import { useUser } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { ResourceTable, rowsOf } from "#console/ui/resource-table.tsx";
import type { CellProps, Column, RowAction } from "#console/ui/row-view.ts";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { mayIn } from "#console/ui/team-context.ts";
import { type Team, type TeamMember, teamApi } from "#contract/team.ts";
import { outranksInTeam } from "#contract/team-words.ts";
import { spendColumns } from "./cells.tsx";
import { CapDialog, RemoveDialog, RoleDialog } from "./dialogs.tsx";
import { ROLE_LABELS } from "./words.ts";

/** Caps of others are shown to who may see what they cost. */
type Row = TeamMember & { readonly id: number; readonly isCapShown: boolean };

function Role({ row }: CellProps<Row>) {
  if (!row.is_enabled) return <StatusTag tone="bad" label="账户已停用" />;
  return <StatusTag tone={row.role === "viewer" ? "idle" : "good"} label={ROLE_LABELS[row.role]} />;
}

const columns: readonly Column<Row>[] = [
  { key: "username", title: "成员", isFixed: true, isInHead: true, width: 150, shows: "text" },
  { key: "role", title: "角色", isInHead: true, width: 110, cell: Role },
  ...spendColumns<Row>(),
  { key: "joined_at", title: "加入时间", width: 160, shows: "time" },
];

type Asked = { readonly what: "role" | "cap" | "remove"; readonly member: TeamMember };

export function Members({ team }: { readonly team: Team }) {
  const user = useUser();
  const [asked, setAsked] = useState<Asked>();
  const members = query(teamApi.members, { params: { id: team.id }, query: { days: 30 } });
  const { data = [] } = useQuery(members);
  const offer = useCall(teamApi.offer, {
    invalidates: [teamApi.get],
    onSuccess: () => toast.success("已提出转让，等待对方接受"),
  });
  const actions = (member: Row): RowAction[] => {
    if (team.role === "" || !mayIn(team, "people") || !outranksInTeam(team.role, member.role)) return [];
    const ask = (what: Asked["what"]) => () => setAsked({ what, member });
    const handsOver: RowAction = {
      key: "offer",
      label: "转让团队",
      question: `把团队转让给“${member.username}”？对方接受后，您成为管理者。`,
      confirmText: "提出转让",
      onClick: () => offer.mutate({ params: { id: team.id }, body: { user_id: member.user_id } }),
    };
    return [
      { key: "cap", label: "上限", onClick: ask("cap") },
      { key: "role", label: "角色", onClick: ask("role") },
      ...(mayIn(team, "own") ? [handsOver] : []),
      { key: "remove", label: "移出", isDanger: true, onClick: ask("remove") },
    ];
  };
  const heirs = data.filter(
    ({ role, user_id }) => (role === "owner" || role === "manager") && user_id !== asked?.member.user_id,
  );
  const props = asked && { team, member: asked.member, onClose: () => setAsked(undefined) };
  return (
    <>
      <ResourceTable<Row>
        name="team-member"
        label="团队成员"
        load={() =>
          rowsOf({
            queryKey: members.queryKey,
            queryFn: async (context) =>
              (await members.queryFn(context)).map((row) => ({
                ...row,
                id: row.user_id,
                isCapShown: mayIn(team, "calls") || row.user_id === user?.id,
              })),
          })
        }
        columns={columns}
        {...(mayIn(team, "people") && { actions })}
        actionsWidth={mayIn(team, "own") ? wide(240, 272) : wide(160, 168)}
        cardTitle={(row) => (row.user_id === user?.id ? `${row.username}（我）` : row.username)}
        cardState={(row) => <Role row={row} />}
        cardFacts={["spent", "requests", "limits", "joined_at"]}
        empty={{ text: "没有成员。" }}
      />
      {props && asked.what === "cap" ? <CapDialog {...props} /> : null}
      {props && asked.what === "role" ? <RoleDialog {...props} /> : null}
      {props && asked.what === "remove" ? <RemoveDialog {...props} heirs={heirs} /> : null}
    </>
  );
}
