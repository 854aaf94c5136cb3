// The filters of the usage log.
import { type FilterField, ListFilters } from "#console/ui/list-filters.tsx";
import { LogType } from "#contract/log.ts";
import { filterParams, LOG_TYPES, type LogFilters, readFilters } from "./filters.ts";

export interface FilterBarProps {
  readonly filters: LogFilters;
  readonly isAdmin: boolean;
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
  { kind: "text", name: "model_name", label: "模型名称", chip: "模型" },
];

const ADMIN_FIELDS: readonly FilterField[] = [
  ...FIELDS,
  { kind: "text", name: "username", label: "用户名称", chip: "用户" },
  { kind: "text", name: "channel", label: "渠道 ID", chip: "渠道", isNumber: true },
  { kind: "text", name: "project", label: "项目 ID", chip: "项目", isNumber: true },
];

export function FilterBar({ filters, isAdmin, onChange }: FilterBarProps) {
  return (
    <ListFilters
      label="日志筛选"
      fields={isAdmin ? ADMIN_FIELDS : FIELDS}
      values={filterParams(filters)}
      onChange={(values) => onChange(readFilters(new URLSearchParams(values)))}
    />
  );
}
