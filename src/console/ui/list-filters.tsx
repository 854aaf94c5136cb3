// The filters of a list in one wrapping row, and chips for those that are on. What is filtered stands in the address, so that a view
// can be kept and sent; this file knows fields, not what they mean.
import { FilterOutlined, SearchOutlined } from "@ant-design/icons";
import { Button, DatePicker, Input, Select, Tag } from "antd";
import dayjs from "dayjs";
import { type FormEvent, type ReactNode, useState } from "react";
import { formatTime } from "#console/base/format.ts";
import { NARROW, useMedia } from "#console/base/media.ts";
import { rangePresets, type Window, wholeIn } from "#console/base/time-range.ts";
import { clearable } from "./clearable.tsx";
import { useAddress } from "./table-state.ts";
import "./list-filters.css";

interface Choice {
  readonly value: string;
  readonly label: string;
}

export type FilterField =
  /** One of a few; the value "" stands for all. */
  | {
      readonly kind: "choice";
      readonly name: string;
      readonly label: string;
      readonly chip: string;
      readonly options: readonly (Choice | { readonly label: string; readonly options: Choice[] })[];
      /** Pixels. */
      readonly width: number;
      readonly isSearchable?: boolean;
      /** The server takes a number. */
      readonly isNumber?: boolean;
    }
  | {
      readonly kind: "text";
      readonly name: string;
      readonly label: string;
      readonly chip: string;
      readonly isNumber?: boolean;
    }
  /** `start` and `end`, in seconds. */
  | { readonly kind: "range" };

/** The value of each field by its name; "" = not filtered. */
export type FilterValues = Readonly<Record<string, string>>;

export interface ListFiltersProps {
  readonly fields: readonly FilterField[];
  readonly values: FilterValues;
  readonly onChange: (values: FilterValues) => void;
  /** Accessible name of the form. */
  readonly label: string;
}

const moment = (text: string | undefined) => {
  const seconds = wholeIn(text);
  return seconds === 0 ? null : dayjs.unix(seconds);
};

type Range = readonly [dayjs.Dayjs | null, dayjs.Dayjs | null] | null;

/** Seconds of a chosen range; without a time of day it means whole days. */
function windowOf(range: Range, isWholeDays: boolean): Window {
  const [start, end] = range ?? [null, null];
  return {
    start: (isWholeDays ? start?.startOf("day") : start)?.unix() ?? 0,
    end: (isWholeDays ? end?.endOf("day") : end)?.unix() ?? 0,
  };
}

const textOf = (value: number) => (value === 0 ? "" : String(value));

/** Changes the draft; `now` applies it at once. */
type OnDraft = (change: FilterValues, now?: "now") => void;

interface FieldProps<Kind extends FilterField["kind"]> {
  readonly field: Extract<FilterField, { readonly kind: Kind }>;
  readonly draft: FilterValues;
  readonly onDraft: OnDraft;
}

function RangeField({ draft, onDraft }: Omit<FieldProps<"range">, "field">) {
  const isNarrow = useMedia(NARROW);
  const presets = rangePresets(new Date()).map(({ label, window }) => ({
    label,
    value: [dayjs.unix(window.start), dayjs.unix(window.end)] as [dayjs.Dayjs, dayjs.Dayjs], // a pair, not a list
  }));
  const take = (range: Range) => {
    const { start, end } = windowOf(range, isNarrow);
    onDraft({ start: textOf(start), end: textOf(end) }, "now");
  };
  return (
    <DatePicker.RangePicker
      className="tg-filter-range"
      showTime={!isNarrow}
      allowEmpty={[true, true]}
      value={[moment(draft["start"]), moment(draft["end"])]}
      presets={presets}
      placeholder={["起始时间", "结束时间"]}
      format={isNarrow ? "YYYY-MM-DD" : "YYYY-MM-DD HH:mm:ss"}
      aria-label="时间范围"
      onChange={take}
    />
  );
}

function TextField({ field, draft, onDraft }: FieldProps<"text">) {
  const { name, label, isNumber = false } = field;
  return (
    <Input
      className="tg-filter-text"
      value={draft[name] ?? ""}
      aria-label={label}
      placeholder={label}
      {...(isNumber ? { inputMode: "numeric" as const } : {})}
      allowClear={clearable}
      onChange={({ target }) =>
        onDraft({
          [name]: isNumber ? textOf(wholeIn(target.value.replace(/\D/g, "").slice(0, 9))) : target.value,
        })
      }
    />
  );
}

function ChoiceField({ field, draft, onDraft }: FieldProps<"choice">) {
  const { name, label, options, width, isSearchable = false } = field;
  return (
    <Select
      className="tg-filter-choice"
      style={{ width }}
      aria-label={label}
      value={draft[name] ?? ""}
      options={[...options]}
      {...(isSearchable ? { showSearch: { optionFilterProp: "label" } } : {})}
      onChange={(value: string) => onDraft({ [name]: value }, "now")}
    />
  );
}

function Field({ field, draft, onDraft }: FieldProps<FilterField["kind"]>) {
  if (field.kind === "range") return <RangeField draft={draft} onDraft={onDraft} />;
  if (field.kind === "text") return <TextField field={field} draft={draft} onDraft={onDraft} />;
  return <ChoiceField field={field} draft={draft} onDraft={onDraft} />;
}

function choiceText(field: Extract<FilterField, { readonly kind: "choice" }>, value: string): string {
  const all = field.options.flatMap((option) => ("options" in option ? option.options : [option]));
  return all.find((option) => option.value === value)?.label ?? value;
}

/** What is filtered, in words; the names are those of the values that a chip takes off. */
function chipsOf(fields: readonly FilterField[], values: FilterValues): (readonly [string, string])[] {
  return fields
    .flatMap((field): (readonly [string, string])[] => {
      if (field.kind === "range")
        return [
          ["start", `自 ${formatTime(wholeIn(values["start"]))}`],
          ["end", `至 ${formatTime(wholeIn(values["end"]))}`],
        ];
      const value = values[field.name] ?? "";
      return [[field.name, `${field.chip}：${field.kind === "choice" ? choiceText(field, value) : value}`]];
    })
    .filter(([name]) => (values[name] ?? "") !== "");
}

/** Every value that the fields have, empty. */
function nothing(fields: readonly FilterField[]): FilterValues {
  const names = fields.flatMap((field) => (field.kind === "range" ? ["start", "end"] : [field.name]));
  return Object.fromEntries(names.map((name) => [name, ""]));
}

function Chips({ fields, values, onChange }: ListFiltersProps) {
  const chips = chipsOf(fields, values);
  if (chips.length === 0) return null;
  return (
    <div className="tg-filter-chips">
      {chips.map(([name, text]) => (
        <Tag
          key={name}
          closable={{ "aria-label": `移除筛选 ${text}` }}
          onClose={(event) => {
            event.preventDefault();
            onChange({ ...values, [name]: "" });
          }}
        >
          {text}
        </Tag>
      ))}
      <Button type="link" size="small" onClick={() => onChange({ ...values, ...nothing(fields) })}>
        清除全部
      </Button>
    </div>
  );
}

export function ListFilters(props: ListFiltersProps) {
  const { fields, values, onChange, label } = props;
  const [draft, setDraft] = useState(values);
  const [isOpen, setOpen] = useState(false);
  const isNarrow = useMedia(NARROW);
  // What the address says counts, whether a link or this bar changed it. The fields stay the same ones: focused, unfolded, and what has
  // been typed into others meanwhile stays.
  const [heard, setHeard] = useState(values);
  const news = Object.entries(values).filter(([name, value]) => value !== heard[name]);
  if (news.length > 0) {
    setHeard(values);
    setDraft({ ...draft, ...Object.fromEntries(news) });
  }
  const onDraft: OnDraft = (change, now) => {
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
    <div className="tg-filters">
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
        <form className="tg-filter-fields" aria-label={label} onSubmit={submit}>
          {fields.map((field) => (
            <Field
              key={field.kind === "range" ? "range" : field.name}
              field={field}
              draft={draft}
              onDraft={onDraft}
            />
          ))}
          {/* A choice counts at once. */}
          {fields.some(({ kind }) => kind === "text") ? (
            <Button type="primary" htmlType="submit" icon={<SearchOutlined aria-hidden="true" />}>
              查询
            </Button>
          ) : null}
        </form>
      )}
      <Chips {...props} />
    </div>
  );
}

export interface AddressFilters {
  readonly values: FilterValues;
  readonly change: (values: FilterValues) => void;
  readonly isFiltered: boolean;
  readonly clear: () => void;
  /** What the server is asked; nothing of what is not filtered. */
  readonly filter: Readonly<Record<string, string | number>>;
}

/** Filters as the query of a list has them: its window is of `start_timestamp` and `end_timestamp`, and numbers are numbers. */
export function filterQuery(
  fields: readonly FilterField[],
  values: FilterValues,
): Readonly<Record<string, string | number>> {
  const asked = fields.flatMap((field): (readonly [string, string | number])[] => {
    if (field.kind === "range")
      return [
        ["start_timestamp", wholeIn(values["start"])],
        ["end_timestamp", wholeIn(values["end"])],
      ];
    const value = values[field.name] ?? "";
    return [[field.name, field.isNumber === true ? wholeIn(value) : value]];
  });
  return Object.fromEntries(asked.filter(([, value]) => value !== "" && value !== 0));
}

/** What stands where a list has no rows: nothing is there yet, or the filters leave nothing. */
export function emptyOf(
  { isFiltered, clear }: Pick<AddressFilters, "isFiltered" | "clear">,
  empty: { readonly text: string; readonly action?: ReactNode },
) {
  if (!isFiltered) return empty;
  return { text: "没有符合筛选条件的记录。", action: <Button onClick={clear}>清除筛选</Button> };
}

/** The filters that the address holds. Changing them starts at the first page. */
export function useAddressFilters(fields: readonly FilterField[]): AddressFilters {
  const [params, write] = useAddress();
  const none = nothing(fields);
  const values = Object.fromEntries(Object.keys(none).map((name) => [name, params.get(name) ?? ""]));
  const change = (next: FilterValues) => {
    const trimmed = Object.fromEntries(Object.entries(next).map(([name, value]) => [name, value.trim()]));
    write({ ...trimmed, page: "" });
  };
  const isFiltered = Object.values(values).some((value) => value !== "");
  const filter = filterQuery(fields, values);
  return { values, change, isFiltered, clear: () => change(none), filter };
}
