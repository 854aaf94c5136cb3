// What the calls of a month came to, by token and model, and by tag; of one tag with their sum.
import { Select, type TableColumnsType } from "antd";
import type { ReactNode } from "react";
import { formatCount } from "#console/base/format.ts";
import { NARROW, useMedia } from "#console/base/media.ts";
import { clearable } from "#console/ui/clearable.tsx";
import { Section } from "#console/ui/section.tsx";
import { Sheet } from "#console/ui/sheet.tsx";
import { useAddress } from "#console/ui/table-state.ts";
import type { StatementCounts, StatementUsage } from "#contract/statement.ts";
import {
  hasTokens,
  missingInUsage,
  type StatementMoney,
  sumUsage,
  type TagUsage,
  type UsageColumn,
  type UsageSums,
  usageByTag,
} from "#contract/statement-money.ts";
import { tagText, tokenText } from "#contract/statement-words.ts";
import { tagsOf } from "#contract/token.ts";
import "./usage.css";

interface UsageProps {
  readonly rows: readonly StatementUsage[];
  /** undefined = the operator shows no money. */
  readonly money: StatementMoney | undefined;
}

interface TagFilterProps extends UsageProps {
  readonly tag: string;
  readonly shown: readonly StatementUsage[];
  readonly onChange: (tag: string) => void;
}

function spentText(sums: UsageSums, money: StatementMoney | undefined): string {
  const units = `${formatCount(sums.quota)} 点`;
  return money === undefined ? units : `${money.textOf(sums.quota)}（${units}）`;
}

function TagFilter({ rows, money, tag, shown, onChange }: TagFilterProps) {
  const tags = [...new Set(rows.flatMap((row) => tagsOf(row.tags)))].sort();
  if (tags.length === 0) return null;
  const sums = sumUsage(shown);
  return (
    <div className="tg-statement-tag">
      <Select
        aria-label="按标签筛选用量"
        placeholder="全部标签"
        allowClear={clearable}
        showSearch
        value={tag === "" ? null : tag}
        style={{ minWidth: 180 }}
        popupMatchSelectWidth={false}
        options={tags.map((value) => ({ value, label: value }))}
        onChange={(value: string | null | undefined) => onChange(value ?? "")}
      />
      {tag === "" ? null : (
        <output>
          {formatCount(sums.calls)} 次，消费 {spentText(sums, money)}
        </output>
      )}
    </div>
  );
}

/** A line of the table: a token with a model, what rounding left, or the sum. */
interface Line {
  readonly key: string;
  readonly token: string;
  readonly model: string;
  readonly tags: string;
  readonly isSum: boolean;
  /** undefined = it has money only. */
  readonly sums: UsageSums | undefined;
  readonly money: Readonly<Record<UsageColumn, string>>;
}

/** Of what most tokens have nothing, and where it is not known. */
const NOTHING = "—";

function moneyTexts(sums: UsageSums, money: StatementMoney | undefined): Line["money"] {
  const text = (quota: number) => money?.textOf(quota) ?? formatCount(quota);
  return {
    quota: text(sums.quota),
    plan_quota: sums.plan_quota === 0 ? NOTHING : text(sums.plan_quota),
    shortfall: sums.shortfall === 0 ? NOTHING : text(sums.shortfall),
  };
}

/** What rounding left. */
function missingTexts(missing: Readonly<Record<UsageColumn, bigint>>, money: StatementMoney): Line["money"] {
  const text = (amount: bigint) => (amount === 0n ? NOTHING : money.text(amount));
  return {
    quota: text(missing.quota),
    plan_quota: text(missing.plan_quota),
    shortfall: text(missing.shortfall),
  };
}

function linesOf({ rows, money }: UsageProps): readonly Line[] {
  const missing = money && missingInUsage(money, rows);
  const none = { model: "", tags: "" };
  const sum = sumUsage(rows);
  return [
    ...rows.map((row) => ({
      ...{ key: `${row.token_id} ${row.model_name}`, token: tokenText(row), model: row.model_name },
      ...{ tags: row.tags.replaceAll(",", "、"), isSum: false, sums: row, money: moneyTexts(row, money) },
    })),
    ...(money === undefined || missing === undefined
      ? []
      : [
          {
            ...{ key: "rounded", token: "四舍五入差", ...none, isSum: false, sums: undefined },
            money: missingTexts(missing, money),
          },
        ]),
    ...(rows.length < 2
      ? []
      : [{ key: "sum", token: "合计", ...none, isSum: true, sums: sum, money: moneyTexts(sum, money) }]),
  ];
}

const COUNTS: readonly (readonly [title: string, name: keyof StatementCounts])[] = [
  ["提示", "prompt_tokens"],
  ["其中缓存", "cached_tokens"],
  ["补全", "completion_tokens"],
];

/** The columns of what models counted; none in a month of which nothing is known. */
function tokenColumns<Row>(
  rows: UsageProps["rows"],
  read: (row: Row) => UsageSums | undefined,
): TableColumnsType<Row> {
  if (!hasTokens(rows)) return [];
  return COUNTS.map(([title, name]) => ({
    title,
    key: name,
    align: "right",
    render: (_: unknown, row: Row) => {
      const sums = read(row);
      if (sums === undefined) return "";
      return sums.tokens === undefined ? NOTHING : formatCount(sums.tokens[name]);
    },
  }));
}

/** On a telephone what models counted stands below a name: the columns of it would be out of sight, and the name when they are not. */
function withCounts(name: string, sums: UsageSums | undefined): ReactNode {
  const tokens = sums?.tokens;
  if (tokens === undefined) return name;
  return (
    <>
      {name}
      {COUNTS.map(([title, key]) => (
        <div key={key} className="tg-sheet-why">
          {title} {formatCount(tokens[key])}
        </div>
      ))}
    </>
  );
}

interface ColumnProps extends UsageProps {
  readonly isNarrow: boolean;
}

/** The columns of amounts, the first of which a phone shows: money where there is some, and units beside what was spent. */
function amountColumns<Row>(
  { rows, money, isNarrow }: ColumnProps,
  read: (row: Row) => Pick<Line, "sums" | "money">,
): TableColumnsType<Row> {
  type Column = TableColumnsType<Row>[number];
  const column = (title: string, name: UsageColumn): Column => ({
    title,
    key: name,
    align: "right",
    render: (_: unknown, row: Row) => read(row).money[name],
  });
  const counted = (title: string, name: "quota" | "calls"): Column => ({
    title,
    key: `${name}-count`,
    align: "right",
    render: (_: unknown, row: Row) => {
      const count = read(row).sums?.[name];
      return count === undefined ? "" : formatCount(count);
    },
  });
  return [
    ...(money === undefined ? [] : [column("消费", "quota")]),
    counted("点数", "quota"),
    counted("次数", "calls"),
    ...(isNarrow ? [] : tokenColumns<Row>(rows, (row) => read(row).sums)),
    ...(rows.some(({ plan_quota }) => plan_quota > 0) ? [column("套餐", "plan_quota")] : []),
    ...(rows.some(({ shortfall }) => shortfall > 0) ? [column("少收", "shortfall")] : []),
  ];
}

/** Below it names would be broken into letters. Unit: pixels. */
function widthOf(columns: number): number {
  return 90 * columns;
}

function ByToken({ rows, money }: UsageProps) {
  const isNarrow = useMedia(NARROW);
  const text = (value: string, { isSum }: Line) => (isSum ? <strong>{value}</strong> : value);
  const columns: TableColumnsType<Line> = [
    { title: "令牌", dataIndex: "token", render: text },
    {
      title: "模型",
      dataIndex: "model",
      render: (model: string, { sums }) => (isNarrow ? withCounts(model, sums) : model),
    },
    ...amountColumns<Line>({ rows, money, isNarrow }, (line) => line),
    ...(rows.some(({ tags }) => tags !== "") ? [{ title: "标签", dataIndex: "tags" }] : []),
  ];
  return (
    <Sheet<Line>
      label="用量"
      width={widthOf(columns.length)}
      rowKey="key"
      rows={linesOf({ rows, money })}
      columns={columns}
    />
  );
}

/** Of tokens without tags there is none. */
export function UsageByTag({ rows, money }: UsageProps) {
  const isNarrow = useMedia(NARROW);
  const tags = usageByTag(rows);
  if (tags.length === 0) return null;
  const columns: TableColumnsType<TagUsage> = [
    {
      title: "标签",
      dataIndex: "tag",
      render: (_: unknown, row) => (isNarrow ? withCounts(tagText(row), row) : tagText(row)),
    },
    ...amountColumns<TagUsage>({ rows, money, isNarrow }, (sums) => ({
      ...{ sums, money: moneyTexts(sums, money) },
    })),
  ];
  return (
    <Section title="按标签" lead="一个令牌有多个标签时，每个标签都计入，各标签之和可能大于消费。">
      <Sheet<TagUsage>
        label="按标签"
        width={widthOf(columns.length)}
        rowKey="tag"
        rows={tags}
        columns={columns}
      />
    </Section>
  );
}

export function Usage({ rows, money }: UsageProps) {
  const [params, change] = useAddress();
  const tag = params.get("tag") ?? "";
  const shown = tag === "" ? rows : rows.filter((row) => tagsOf(row.tags).includes(tag));
  const hasPlans = rows.some(({ plan_quota }) => plan_quota > 0);
  return (
    <Section title="用量" lead={hasPlans ? "套餐支付的部分不计入余额的消费。" : undefined}>
      <TagFilter
        rows={rows}
        money={money}
        tag={tag}
        shown={shown}
        onChange={(value) => change({ tag: value }, { replace: true })}
      />
      {rows.length === 0 ? (
        <p className="tg-muted">本期没有调用。</p>
      ) : (
        <ByToken rows={shown} money={money} />
      )}
    </Section>
  );
}
