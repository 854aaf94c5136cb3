// The filters of the usage log in one wrapping row, and chips for those that are on.
import { FilterOutlined, SearchOutlined } from "@ant-design/icons";
import { Button, DatePicker, Input, Select, Tag } from "antd";
import dayjs from "dayjs";
import { type FormEvent, useState } from "react";
import { formatTime } from "#console/base/format.ts";
import { NARROW, useMedia } from "#console/base/media.ts";
import { clearable } from "#console/ui/clearable.tsx";
import { LOG_TYPES, type LogFilters, NO_FILTERS, rangePresets, type Window } from "./filters.ts";

export interface FilterBarProps {
  readonly filters: LogFilters;
  readonly isAdmin: boolean;
  readonly onChange: (filters: LogFilters) => void;
}

interface FieldsProps {
  readonly draft: LogFilters;
  readonly isAdmin: boolean;
  /** Changes the draft; `now` applies it at once. */
  readonly onDraft: (change: Partial<LogFilters>, now?: "now") => void;
}

const moment = (seconds: number) => (seconds === 0 ? null : dayjs.unix(seconds));

type Range = readonly [dayjs.Dayjs | null, dayjs.Dayjs | null] | null;

/** Seconds of a chosen range; without a time of day it means whole days. */
function windowOf(range: Range, isWholeDays: boolean): Window {
  const [start, end] = range ?? [null, null];
  return {
    start: (isWholeDays ? start?.startOf("day") : start)?.unix() ?? 0,
    end: (isWholeDays ? end?.endOf("day") : end)?.unix() ?? 0,
  };
}

function TimeRange({ draft, onDraft }: FieldsProps) {
  const isNarrow = useMedia(NARROW);
  const presets = rangePresets(new Date()).map(({ label, window }) => ({
    label,
    value: [dayjs.unix(window.start), dayjs.unix(window.end)] as [dayjs.Dayjs, dayjs.Dayjs], // a pair, not a list
  }));
  return (
    <DatePicker.RangePicker
      className="tg-log-range"
      showTime={!isNarrow}
      allowEmpty={[true, true]}
      value={[moment(draft.start), moment(draft.end)]}
      presets={presets}
      placeholder={["起始时间", "结束时间"]}
      format={isNarrow ? "YYYY-MM-DD" : "YYYY-MM-DD HH:mm:ss"}
      aria-label="时间范围"
      onChange={(range) => onDraft(windowOf(range, isNarrow), "now")}
    />
  );
}

function TextFields({ draft, isAdmin, onDraft }: FieldsProps) {
  const text = (
    label: string,
    value: string,
    take: (typed: string) => Partial<LogFilters>,
    isNumber = false,
  ) => (
    <Input
      className="tg-log-text"
      value={value}
      aria-label={label}
      placeholder={label}
      {...(isNumber ? { inputMode: "numeric" } : {})}
      allowClear={clearable}
      onChange={(event) => onDraft(take(event.target.value))}
    />
  );
  const channelOf = (typed: string) => ({ channel: Number(typed.replace(/\D/g, "").slice(0, 9)) });
  return (
    <>
      {text("令牌名称", draft.token_name, (token_name) => ({ token_name }))}
      {text("模型名称", draft.model_name, (model_name) => ({ model_name }))}
      {isAdmin ? text("用户名称", draft.username, (username) => ({ username })) : null}
      {isAdmin ? text("渠道 ID", draft.channel === 0 ? "" : String(draft.channel), channelOf, true) : null}
    </>
  );
}

function Fields(props: FieldsProps) {
  const { draft, onDraft } = props;
  return (
    <>
      <Select
        className="tg-log-type"
        aria-label="选择明细分类"
        value={draft.type}
        options={[...LOG_TYPES]}
        onChange={(type) => onDraft({ type }, "now")}
      />
      <TimeRange {...props} />
      <TextFields {...props} />
      <Button type="primary" htmlType="submit" icon={<SearchOutlined aria-hidden="true" />}>
        查询
      </Button>
    </>
  );
}

/** Each filter in words; a chip stands for those that are on, and takes them off. */
const CHIPS: readonly (readonly [name: keyof LogFilters, text: (filters: LogFilters) => string])[] = [
  ["type", ({ type }) => `类型：${LOG_TYPES.find(({ value }) => value === type)?.label ?? type}`],
  ["start", ({ start }) => `自 ${formatTime(start)}`],
  ["end", ({ end }) => `至 ${formatTime(end)}`],
  ["token_name", ({ token_name }) => `令牌：${token_name}`],
  ["model_name", ({ model_name }) => `模型：${model_name}`],
  ["username", ({ username }) => `用户：${username}`],
  ["channel", ({ channel }) => `渠道：${channel}`],
];

function Chips({ filters, onChange }: FilterBarProps) {
  const chips = CHIPS.filter(([name]) => filters[name] !== NO_FILTERS[name]);
  if (chips.length === 0) return null;
  return (
    <div className="tg-log-chips">
      {chips.map(([name, text]) => (
        <Tag
          key={name}
          closable={{ "aria-label": `移除筛选 ${text(filters)}` }}
          onClose={(event) => {
            event.preventDefault();
            onChange({ ...filters, [name]: NO_FILTERS[name] });
          }}
        >
          {text(filters)}
        </Tag>
      ))}
      <Button type="link" size="small" onClick={() => onChange(NO_FILTERS)}>
        清除全部
      </Button>
    </div>
  );
}

export function FilterBar(props: FilterBarProps) {
  const { filters, isAdmin, onChange } = props;
  const [draft, setDraft] = useState(filters);
  const [isOpen, setOpen] = useState(false);
  const isNarrow = useMedia(NARROW);
  // What the address says counts, whether a link or this bar changed it. The fields stay the same ones: focused, unfolded, half filled in.
  const told = JSON.stringify(filters);
  const [heard, setHeard] = useState(told);
  if (told !== heard) {
    setHeard(told);
    setDraft(filters);
  }
  const onDraft: FieldsProps["onDraft"] = (change, now) => {
    const next = { ...draft, ...change };
    setDraft(next);
    if (now !== undefined) onChange(next);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onChange(draft);
    setOpen(false);
  };
  return (
    <div className="tg-log-filters">
      {isNarrow ? (
        <Button
          icon={<FilterOutlined aria-hidden="true" />}
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          筛选
        </Button>
      ) : null}
      {isNarrow && !isOpen ? null : (
        <form className="tg-log-fields" aria-label="日志筛选" onSubmit={submit}>
          <Fields draft={draft} isAdmin={isAdmin} onDraft={onDraft} />
        </form>
      )}
      <Chips {...props} />
    </div>
  );
}
