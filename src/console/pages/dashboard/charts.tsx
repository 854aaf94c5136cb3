// The charts of the dashboard: spend by day and model, requests and tokens by day, and the share of each model.
import { useMemo } from "react";
import { type ThemeMode, tagPalette } from "#console/base/colours.ts";
import { formatCharge, formatCount, shortCount } from "#console/base/format.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { useThemeMode } from "#console/base/theme-mode.ts";
import { Chart, type ChartSeries } from "#console/ui/chart.tsx";
import type { DashboardRow } from "#contract/account.ts";
import { abbreviate, type QuotaDisplay } from "#contract/quota.ts";
import { dayLabel, type ModelUsage, rankModels, sumByDay } from "./usage.ts";

/** Quota on an axis: whole and half dollars are short, small ones keep what tells them apart. */
function axisQuota(quota: number, { inCurrency, quotaPerUnit }: QuotaDisplay): string {
  if (!inCurrency) return abbreviate(quota);
  return `$${Number((quota / quotaPerUnit).toPrecision(3))}`;
}

function Share({ model, mode }: { readonly model: ModelUsage; readonly mode: ThemeMode }) {
  const display = useQuotaDisplay();
  const percent = `${(model.share * 100).toFixed(1)}%`;
  return (
    <tr>
      <th scope="row">
        <span className="tg-clip" title={model.name}>
          {model.name}
        </span>
        <i aria-hidden="true">
          <b style={{ width: percent, background: tagPalette[mode][model.colour].text }} />
        </i>
      </th>
      <td>{formatCharge(model.quota, display)}</td>
      <td>{percent}</td>
      <td>{formatCount(model.requests)}</td>
    </tr>
  );
}

function Shares({ models }: { readonly models: readonly ModelUsage[] }) {
  const mode = useThemeMode();
  return (
    <section className="tg-card tg-chart">
      <h2>模型占比</h2>
      <table className="tg-shares">
        <thead>
          <tr>
            <th scope="col">模型</th>
            <th scope="col">花费</th>
            <th scope="col">占比</th>
            <th scope="col">请求</th>
          </tr>
        </thead>
        <tbody>
          {models.map((model) => (
            <Share key={model.name} model={model} mode={mode} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface UsageChartsProps {
  readonly rows: readonly DashboardRow[];
  readonly days: readonly string[];
}

function useSeries({ rows, days }: UsageChartsProps) {
  return useMemo(() => {
    const models = rankModels(rows);
    const daily = sumByDay(rows, days);
    const spend: ChartSeries[] = models.map((model) => ({
      name: model.name,
      colour: model.colour,
      values: sumByDay(model.rows, days).map(({ quota }) => quota),
    }));
    const requests: ChartSeries[] = [
      { name: "请求次数", colour: "blue", values: daily.map((day) => day.requests) },
    ];
    const tokens: ChartSeries[] = [
      { name: "提示", colour: "teal", values: daily.map(({ prompt }) => prompt) },
      { name: "补全", colour: "orange", values: daily.map(({ completion }) => completion) },
    ];
    return { models, spend, requests, tokens, labels: days.map(dayLabel) };
  }, [rows, days]);
}

export function UsageCharts(props: UsageChartsProps) {
  const { quotaPerUnit, inCurrency } = useQuotaDisplay();
  const { models, spend, requests, tokens, labels } = useSeries(props);
  const money = useMemo(() => {
    const display = { quotaPerUnit, inCurrency };
    return {
      exact: (quota: number) => formatCharge(quota, display),
      axis: (quota: number) => axisQuota(quota, display),
    };
  }, [quotaPerUnit, inCurrency]);
  return (
    <div className="tg-charts">
      <div className="tg-charts-wide">
        <Chart
          title="每日花费"
          labels={labels}
          series={spend}
          format={money.exact}
          formatAxis={money.axis}
          summary={`近 7 天每日花费，按模型堆叠，共 ${models.length} 项；数据见下方表格`}
        />
      </div>
      <Chart
        title="每日请求"
        labels={labels}
        series={requests}
        format={formatCount}
        formatAxis={shortCount}
        summary="近 7 天每日请求次数；数据见下方表格"
      />
      <Chart
        title="每日 Tokens"
        labels={labels}
        series={tokens}
        format={formatCount}
        formatAxis={shortCount}
        summary="近 7 天每日提示与补全 tokens；数据见下方表格"
      />
      <div className="tg-charts-wide">
        <Shares models={models} />
      </div>
    </div>
  );
}
