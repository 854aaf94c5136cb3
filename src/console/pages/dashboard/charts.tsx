// The charts of the dashboard over its days: spend by model, requests, tokens, failures and time to the first byte.
import { useMemo } from "react";
import { formatCharge, formatCount, formatMs, shortCount } from "#console/base/format.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { Chart, type ChartSeries } from "#console/ui/chart.tsx";
import { abbreviate, type QuotaDisplay } from "#contract/quota.ts";
import type { UsageReport } from "#contract/usage.ts";
import { dayLabel, daysOf, type ModelUsage, outcomesByDay, percent, sumByDay } from "./usage.ts";

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
  readonly report: UsageReport;
  readonly models: readonly ModelUsage[];
}

function useSeries({ report, models }: DayChartsProps) {
  return useMemo(() => {
    const days = daysOf(report);
    const daily = sumByDay(report.daily, days);
    const outcomes = outcomesByDay(report.outcomes, days);
    const one = (name: string, colour: ChartSeries["colour"], values: ChartSeries["values"]) => ({
      name,
      colour,
      values,
    });
    return {
      labels: days.map(dayLabel),
      spend: models.map((model) =>
        one(
          model.name,
          model.colour,
          sumByDay(model.rows, days).map(({ quota }) => quota),
        ),
      ),
      requests: [
        one(
          "请求次数",
          "blue",
          daily.map((day) => day.requests),
        ),
      ],
      tokens: [
        one(
          "提示",
          "teal",
          daily.map(({ prompt }) => prompt),
        ),
        one(
          "补全",
          "orange",
          daily.map(({ completion }) => completion),
        ),
      ],
      failures: [
        one(
          "失败率",
          "red",
          outcomes.map(({ failed }) => failed),
        ),
      ],
      firstBytes: [
        one(
          "首字时间",
          "violet",
          outcomes.map(({ firstByteMs }) => firstByteMs),
        ),
      ],
    };
  }, [report, models]);
}

export function DayCharts(props: DayChartsProps) {
  const { quotaPerUnit, inCurrency } = useQuotaDisplay();
  const { labels, spend, requests, tokens, failures, firstBytes } = useSeries(props);
  const period = `近 ${props.report.days} 天`;
  const money = useMemo(() => {
    const display = { quotaPerUnit, inCurrency };
    return {
      exact: (quota: number) => formatCharge(quota, display),
      axis: (quota: number) => axisQuota(quota, display),
    };
  }, [quotaPerUnit, inCurrency]);
  return (
    <>
      <div className="tg-charts-wide">
        <Chart
          title="每日花费"
          labels={labels}
          series={spend}
          format={money.exact}
          formatAxis={money.axis}
          summary={`${period}每日花费，按模型堆叠，共 ${props.models.length} 项；数据见下方表格`}
        />
      </div>
      <Chart
        title="每日请求"
        labels={labels}
        series={requests}
        format={formatCount}
        formatAxis={axisCount}
        summary={`${period}每日请求次数；数据见下方表格`}
      />
      <Chart
        title="每日 Tokens"
        labels={labels}
        series={tokens}
        format={formatCount}
        formatAxis={axisCount}
        summary={`${period}每日提示与补全 tokens；数据见下方表格`}
      />
      <Chart
        title="每日失败率"
        kind="line"
        labels={labels}
        series={failures}
        most={1}
        whyEmpty="近期没有完成的调用"
        format={percent}
        formatAxis={axisPercent}
        summary={`${period}每日失败的调用占比；数据见下方表格`}
      />
      <Chart
        title="平均首字时间"
        kind="line"
        labels={labels}
        series={firstBytes}
        whyEmpty="近期没有流式调用，所以没有首字时间"
        format={formatMs}
        formatAxis={axisSeconds}
        summary={`${period}每日流式调用的平均首字时间；数据见下方表格`}
      />
    </>
  );
}
