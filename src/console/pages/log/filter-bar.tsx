// The filters of the usage log.
import { useQuery } from "@tanstack/react-query";
import { query } from "#console/base/call.ts";
import { type FilterField, ListFilters } from "#console/ui/list-filters.tsx";
import { LogType } from "#contract/log.ts";
import { teamApi } from "#contract/team.ts";
import { filterParams, LOG_TYPES, type LogFilters, readFilters } from "./filters.ts";
import type { LogSource } from "./source.ts";

export interface FilterBarProps {
  readonly filters: LogFilters;
  readonly source: LogSource;
  readonly onChange: (filters: LogFilters) => void;
}

const FIELDS: readonly FilterField[] = [
  {
    kind: "choice",
    name: "type",
    label: "选择明细分类",
    chip: "类型",
    options: LOG_TYPES.map(({ value, label }) => ({
      value: value === LogType.all ? "" : String(value),
      label,
    })),
    width: 96,
  },
  { kind: "range" },
  { kind: "text", name: "token_name", label: "令牌名称", chip: "令牌" },
  { kind: "text", name: "tag", label: "令牌标签", chip: "标签" },
  { kind: "text", name: "model_name", label: "模型名称", chip: "模型" },
];

const ADMIN_FIELDS: readonly FilterField[] = [
  ...FIELDS,
  { kind: "text", name: "username", label: "用户名称", chip: "用户" },
  { kind: "text", name: "channel", label: "渠道 ID", chip: "渠道", isNumber: true },
  { kind: "text", name: "project", label: "项目 ID", chip: "项目", isNumber: true },
];

/** The member and the project of a team; a project is chosen where there are any. */
function useTeamFields(source: LogSource): readonly FilterField[] {
  const id = source.kind === "team" ? source.id : 0;
  const asked = { enabled: id !== 0, staleTime: 60_000, meta: { silent: true } };
  const days = { days: 1 };
  const members = useQuery({ ...query(teamApi.members, { params: { id }, query: days }), ...asked });
  const projects = useQuery({ ...query(teamApi.projects, { params: { id }, query: days }), ...asked });
  if (source.kind !== "team") return [];
  const choice = (
    name: string,
    chip: string,
    options: readonly (readonly [number, string])[],
  ): FilterField => ({
    ...{ kind: "choice", name, label: `选择${chip}`, chip, width: 128, isSearchable: true },
    options: [
      { value: "", label: `全部${chip}` },
      ...options.map(([value, label]) => ({ value: String(value), label })),
    ],
  });
  const people = (members.data ?? []).map(({ user_id, username }) => [user_id, username] as const);
  const known = (projects.data ?? []).map(({ id: project, name }) => [project, name] as const);
  return [
    ...FIELDS,
    ...(source.seesAll ? [choice("member", "成员", people)] : []),
    ...(known.length === 0 ? [] : [choice("project", "项目", known)]),
  ];
}

export function FilterBar({ filters, source, onChange }: FilterBarProps) {
  const ofTeam = useTeamFields(source);
  return (
    <ListFilters
      label="日志筛选"
      fields={{ own: FIELDS, all: ADMIN_FIELDS, team: ofTeam }[source.kind]}
      values={filterParams(filters)}
      onChange={(values) => onChange(readFilters(new URLSearchParams(values)))}
    />
  );
}
