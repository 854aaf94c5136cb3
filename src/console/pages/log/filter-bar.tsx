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
  const text = (name: "token_name" | "model_name" | "username", label: string) => (
    <Input
      className="tg-log-text"
      value={draft[name]}
      aria-label={label}
      placeholder={label}
      allowClear={clearable}
      onChange={(event) => onDraft({ [name]: event.target.value })}
    />
  );
  return (
    <>
      {text("token_name", "令牌名称")}
      {text("model_name", "模型名称")}
      {isAdmin ? text("username", "用户名称") : null}
      {isAdmin ? (
        <Input
          className="tg-log-text"
          value={draft.channel === 0 ? "" : String(draft.channel)}
          aria-label="渠道 ID"
          placeholder="渠道 ID"
          inputMode="numeric"
          allowClear={clearable}
          onChange={(event) =>
            onDraft({ channel: Number(event.target.value.replace(/\D/g, "").slice(0, 9)) })
          }
        />
      ) : null}
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

interface Chip {
  readonly key: string;
  readonly text: string;
  readonly without: Partial<LogFilters>;
}

function chipsOf(filters: LogFilters): Chip[] {
  const type = LOG_TYPES.find(({ value }) => value === filters.type)?.label ?? String(filters.type);
  const all: (Chip & { readonly isOn: boolean })[] = [
    { key: "type", text: `类型：${type}`, without: { type: 0 }, isOn: filters.type !== 0 },
    {
      key: "start",
      text: `自 ${formatTime(filters.start)}`,
      without: { start: 0 },
      isOn: filters.start !== 0,
    },
    { key: "end", text: `至 ${formatTime(filters.end)}`, without: { end: 0 }, isOn: filters.end !== 0 },
    {
      key: "token",
      text: `令牌：${filters.token_name}`,
      without: { token_name: "" },
      isOn: filters.token_name !== "",
    },
    {
      key: "model",
      text: `模型：${filters.model_name}`,
      without: { model_name: "" },
      isOn: filters.model_name !== "",
    },
    {
      key: "user",
      text: `用户：${filters.username}`,
      without: { username: "" },
      isOn: filters.username !== "",
    },
    {
      key: "channel",
      text: `渠道：${filters.channel}`,
      without: { channel: 0 },
      isOn: filters.channel !== 0,
    },
  ];
  return all.filter((chip) => chip.isOn);
}

function Chips({ filters, onChange }: FilterBarProps) {
  const chips = chipsOf(filters);
  if (chips.length === 0) return null;
  return (
    <div className="tg-log-chips">
      {chips.map((chip) => (
        <Tag
          key={chip.key}
          closable={{ "aria-label": `移除筛选 ${chip.text}` }}
          onClose={(event) => {
            event.preventDefault();
            onChange({ ...filters, ...chip.without });
          }}
        >
          {chip.text}
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
