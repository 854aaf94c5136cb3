// 毛利: what models, channels, groups, users, tokens and days brought, cost and earned, and what caches saved.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { query } from "#console/base/call.ts";
import { moneyOf, partOf } from "#console/base/earned.ts";
import { formatCount, shortCount } from "#console/base/format.ts";
import type { Currency } from "#console/base/money-price.ts";
import { useStatus } from "#console/base/status.ts";
import { ClippedText } from "#console/ui/cell.tsx";
import {
  type FilterField,
  type FilterValues,
  ListFilters,
  useAddressFilters,
} from "#console/ui/list-filters.tsx";
import { Page } from "#console/ui/page.tsx";
import { ResourceTable } from "#console/ui/resource-table.tsx";
import type { Column } from "#console/ui/row-view.ts";
import { Tooltip } from "#console/ui/tooltip.tsx";
import { MARGIN_BY, type MarginBy, type MarginRow, type MarginSums, marginApi } from "#contract/margin.ts";
import { BY_WORDS } from "./words.ts";
import "./margin.css";

const DAYS = ["1", "7", "30", "90"] as const;

const FIELDS: readonly FilterField[] = [
  {
    kind: "choice",
    name: "by",
    label: "汇总方式",
    chip: "按",
    width: 120,
    options: MARGIN_BY.map((by) => ({ value: by === "model" ? "" : by, label: `按${BY_WORDS[by]}` })),
  },
  {
    kind: "choice",
    name: "days",
    label: "时间",
    chip: "时间",
    width: 130,
    options: DAYS.map((days) => ({
      value: days === "7" ? "" : days,
      label: days === "1" ? "今天" : `最近 ${days} 天`,
    })),
  },
  {
    kind: "choice",
    name: "currency",
    label: "货币",
    chip: "货币",
    width: 140,
    options: [
      { value: "", label: "默认货币" },
      { value: "USD", label: "美元（$）" },
      { value: "CNY", label: "人民币（¥）" },
    ],
  },
];

interface Wanted {
  readonly by: MarginBy;
  readonly days: number;
  readonly offset: number;
}

function wantedOf(values: FilterValues): Wanted {
  const by = MARGIN_BY.find((name) => name === values["by"]) ?? "model";
  const days = DAYS.find((name) => name === values["days"]) ?? "7";
  const offset = (-new Date().getTimezoneOffset() + 1_440) % 1_440;
  return { by, days: Number(days), offset };
}

function Figure({
  label,
  children,
  hint,
}: {
  readonly label: string;
  readonly children: ReactNode;
  readonly hint?: string | undefined;
}) {
  return (
    <div className="tg-margin-figure">
      <dt>{label}</dt>
      <dd>
        {hint === undefined ? (
          children
        ) : (
          <Tooltip title={hint}>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what the tooltip says must be reachable by keyboard */}
            <span tabIndex={0}>{children}</span>
          </Tooltip>
        )}
      </dd>
    </div>
  );
}

interface FiguresProps {
  /** Nothing yet while the page is asked for: the figures keep their room. */
  readonly found: { readonly sums: MarginSums } | undefined;
  readonly currency: Currency;
}

const BONE = <span className="tg-bone" />;

function Figures({ found, currency }: FiguresProps) {
  const show = (tell: (sums: MarginSums) => ReactNode) => (found === undefined ? BONE : tell(found.sums));
  return (
    <dl className="tg-card tg-margin-figures" aria-busy={found === undefined}>
      <Figure
        label="收入"
        hint="用户付款的实价；套餐按周期价格 ÷ 额度，赠送的额度为 0，没有售价的兑换码与来历不明的余额按“每美元额度实收”。"
      >
        {show(({ revenue }) => moneyOf(revenue, currency))}
      </Figure>
      <Figure label="成本">{show(({ cost }) => moneyOf(cost, currency))}</Figure>
      <Figure label="支付手续费" hint="付款时按收款渠道的“平台扣费”，减去用户已付的手续费；按额度摊到调用。">
        {show(({ fees }) => moneyOf(fees, currency))}
      </Figure>
      <Figure label="返现" hint="邀请人因这些额度所得；按额度摊到调用。">
        {show(({ commission }) => moneyOf(commission, currency))}
      </Figure>
      <Figure label="毛利" hint="收入减成本、支付手续费与返现；各行之和。">
        {show(({ margin, revenue }) => (
          <>
            <Balance value={margin} currency={currency} />{" "}
            <small className="tg-muted">{partOf(margin, revenue)}</small>
          </>
        ))}
      </Figure>
      <Figure
        label="成本未知的收入"
        hint="模型没有价格也不在渠道的成本价目里，或由旧版本结算；不计入左边各项。"
      >
        {show(({ uncosted }) => moneyOf(uncosted, currency))}
      </Figure>
      <Figure
        label="缓存命中率"
        hint={
          found &&
          `输入 ${formatCount(found.sums.prompt_tokens)} token，其中缓存 ${formatCount(found.sums.cached_tokens)}`
        }
      >
        {show(({ cached_tokens, prompt_tokens }) => partOf(cached_tokens, prompt_tokens))}
      </Figure>
      <Figure label="缓存为用户节省">{show(({ saved }) => moneyOf(saved, currency))}</Figure>
    </dl>
  );
}

function Balance({ value, currency }: { readonly value: number; readonly currency: Currency }) {
  return <strong className={value < 0 ? "tg-margin-loss" : ""}>{moneyOf(value, currency)}</strong>;
}

function nameOf({ name, subject_id }: MarginRow, by: MarginBy): string {
  if (by === "day") return new Date(Number(name) * 1_000).toLocaleDateString("sv-SE");
  if (subject_id === 0) return name;
  return name === "" ? `#${subject_id}` : `${name}（#${subject_id}）`;
}

function Earned({ row, currency }: { readonly row: MarginRow; readonly currency: Currency }) {
  return (
    <span className={row.margin < 0 ? "tg-number tg-margin-loss" : "tg-number"}>
      {moneyOf(row.margin, currency)}
    </span>
  );
}

function columnsOf(by: MarginBy, currency: Currency): readonly Column<MarginRow>[] {
  const money = (
    key: "revenue" | "cost" | "fees" | "commission" | "uncosted" | "saved",
    title: string,
  ): Column<MarginRow> => ({
    key,
    title,
    width: 98,
    isNumber: true,
    isSortable: true,
    render: (row) => <span className="tg-number">{moneyOf(row[key], currency)}</span>,
  });
  return [
    {
      key: "name",
      title: BY_WORDS[by],
      width: 190,
      isFixed: true,
      isInHead: true,
      isSortable: true,
      render: (row) => <ClippedText text={nameOf(row, by)} none="无" />,
    },
    {
      key: "requests",
      title: "调用",
      width: 84,
      isNumber: true,
      isSortable: true,
      render: ({ requests }) => shortCount(requests),
    },
    money("revenue", "收入"),
    money("cost", "成本"),
    money("fees", "手续费"),
    money("commission", "返现"),
    {
      key: "margin",
      title: "毛利",
      width: 98,
      isNumber: true,
      isSortable: true,
      render: (row) => <Earned row={row} currency={currency} />,
    },
    {
      key: "percent",
      title: "毛利率",
      width: 84,
      isNumber: true,
      render: ({ margin, revenue }) => partOf(margin, revenue),
    },
    money("uncosted", "成本未知"),
    {
      key: "cached_tokens",
      title: "缓存命中率",
      width: 104,
      isNumber: true,
      isSortable: true,
      render: ({ cached_tokens, prompt_tokens }) => partOf(cached_tokens, prompt_tokens),
    },
    money("saved", "缓存节省"),
  ];
}

export function MarginPage() {
  const filters = useAddressFilters(FIELDS);
  const wanted = wantedOf(filters.values);
  const own = useStatus()?.price_currency ?? "USD";
  const asked = filters.values["currency"];
  const currency = asked === "USD" || asked === "CNY" ? asked : own;
  const { data, isError } = useQuery({
    ...query(marginApi.list, { query: { ...wanted, p: 0, size: 1, order: "", desc: false, keyword: "" } }),
    placeholderData: keepPreviousData,
    meta: { silent: true },
  });
  return (
    <Page
      title="毛利"
      lead="收入、手续费与返现按结算时用户付款与套餐的实价，成本按渠道的成本价目或成本倍率；毛利已减去全部三项。"
    >
      {isError && data === undefined ? null : <Figures found={data} currency={currency} />}
      <ResourceTable<MarginRow>
        name="margin"
        label="毛利列表"
        searchHint="搜索名称"
        filters={
          <ListFilters fields={FIELDS} label="筛选毛利" values={filters.values} onChange={filters.change} />
        }
        load={(input) => query(marginApi.list, { query: { ...input, ...wanted } })}
        columns={columnsOf(wanted.by, currency)}
        cardTitle={(row) => nameOf(row, wanted.by)}
        cardState={(row) => <Earned row={row} currency={currency} />}
        cardFacts={["revenue", "cost", "fees", "commission", "percent", "cached_tokens"]}
        empty={{ text: "这段时间没有调用。" }}
      />
    </Page>
  );
}
