// The charts of the dashboard over its days: spend by model, requests, tokens, failures and time to the first byte.
import { useMemo } from "react";
import { formatCharge, formatCount, formatMs, shortCount } from "#console/base/format.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { Chart, type ChartProps } from "#console/ui/chart.tsx";
import { abbreviate, type QuotaDisplay } from "#contract/quota.ts";
import type { UsageReport } from "#contract/usage.ts";
import {
  type BoardReport,
  dayLabel,
  daysOf,
  type ModelUsage,
  outcomesByDay,
  percent,
  sumByDay,
} from "./usage.ts";

/** As short as an axis needs it: `800K`, not `800.0K`. */
const axisText = (text: string) => text.replace(".0", "");
const axisCount = (value: number) => axisText(shortCount(value));

/** Quota on an axis: whole and half dollars are short, small ones keep what tells them apart. */
function axisQuota(quota: number, { inCurrency, quotaPerUnit }: QuotaDisplay): string {
  if (!inCurrency) return axisText(abbreviate(quota));
  const dollars = quota / quotaPerUnit;
  return `$${dollars >= 10_000 ? axisCount(dollars) : Number(dollars.toPrecision(3))}`;
}

const axisPercent = (part: number) => `${Number((part * 100).toPrecision(3))}%`;
const axisSeconds = (ms: number) => `${Number((ms / 1000).toPrecision(3))} 秒`;

export interface DayChartsProps {
  readonly report: BoardReport;
  readonly models: readonly ModelUsage[];
}

function outcomeCharts(
  rows: UsageReport["outcomes"],
  {
    days,
    labels,
    told,
  }: Pick<ChartProps, "labels"> & { days: readonly number[]; told: (what: string) => string },
): readonly ChartProps[] {
  const outcomes = outcomesByDay(rows, days);
  return [
    {
      title: "每日失败率",
      kind: "line",
      labels,
      series: [{ name: "失败率", colour: "red", values: outcomes.map(({ failed }) => failed) }],
      most: 1,
      whyEmpty: "近期没有完成的调用",
      format: percent,
      formatAxis: axisPercent,
      summary: told("失败的调用占比"),
    },
    {
      title: "平均首字时间",
      kind: "line",
      labels,
      series: [
        { name: "首字时间", colour: "violet", values: outcomes.map(({ firstByteMs }) => firstByteMs) },
      ],
      whyEmpty: "近期没有流式调用，所以没有首字时间",
      format: formatMs,
      formatAxis: axisSeconds,
      summary: told("流式调用的平均首字时间"),
    },
  ];
}

function chartsOf({ report, models }: DayChartsProps, display: QuotaDisplay): readonly ChartProps[] {
  const days = daysOf(report);
  const labels = days.map(dayLabel);
  const daily = sumByDay(report.daily, days);
  const told = (what: string) => `近 ${report.days} 天每日${what}；数据见下方表格`;
  const counts = { labels, format: formatCount, formatAxis: axisCount };
  return [
    {
      title: "每日花费",
      labels,
      series: models.map(({ name, colour, rows }) => {
        return { name, colour, values: sumByDay(rows, days).map(({ quota }) => quota) };
      }),
      format: (quota) => formatCharge(quota, display),
      formatAxis: (quota) => axisQuota(quota, display),
      summary: told(`花费，按模型堆叠，共 ${models.length} 项`),
    },
    {
      ...counts,
      title: "每日请求",
      series: [{ name: "请求次数", colour: "blue", values: daily.map(({ requests }) => requests) }],
      summary: told("请求次数"),
    },
    {
      ...counts,
      title: "每日 Tokens",
      series: [
        { name: "提示", colour: "teal", values: daily.map(({ prompt }) => prompt) },
        { name: "补全", colour: "orange", values: daily.map(({ completion }) => completion) },
      ],
      summary: told("提示与补全 tokens"),
    },
    ...(report.outcomes === undefined ? [] : outcomeCharts(report.outcomes, { days, labels, told })),
  ];
}

export function DayCharts({ report, models }: DayChartsProps) {
  const { quotaPerUnit, inCurrency } = useQuotaDisplay();
  // Drawn again only when what they show has changed.
  const charts = useMemo(
    () => chartsOf({ report, models }, { quotaPerUnit, inCurrency }),
    [report, models, quotaPerUnit, inCurrency],
  );
  return charts.map((chart, at) =>
    at === 0 ? (
      <div key={chart.title} className="tg-charts-wide">
        <Chart {...chart} />
      </div>
    ) : (
      <Chart key={chart.title} {...chart} />
    ),
  );
}
