// Draws stacked bars and lines with ECharts. Only ever imported lazily: it is the largest thing the console has.
import { BarChart, LineChart } from "echarts/charts";
import { GridComponent, LegendComponent, TooltipComponent } from "echarts/components";
import { type EChartsCoreOption, init, use } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";
import { FONT, type Shades } from "#console/base/colours.ts";

use([BarChart, LineChart, GridComponent, LegendComponent, TooltipComponent, CanvasRenderer]);

export interface Plan {
  readonly kind: "bar" | "line";
  readonly labels: readonly string[];
  readonly series: readonly {
    readonly name: string;
    readonly colour: string;
    readonly values: readonly (number | null)[];
  }[];
  readonly shades: Shades;
  /** Where the axis ends while all values are 0; undefined = where the chart thinks best. */
  readonly most: number | undefined;
  readonly format: (value: number) => string;
  readonly formatAxis: (value: number) => string;
  readonly isCalm: boolean;
  readonly isNarrow: boolean;
}

export interface Drawing {
  readonly show: (plan: Plan) => void;
  readonly end: () => void;
}

/** How the values of one name are drawn. */
function seriesOf(kind: Plan["kind"], { name, colour, values }: Plan["series"][number]) {
  const drawn = { name, data: values, itemStyle: { color: colour }, emphasis: { disabled: true } };
  if (kind === "bar") return { ...drawn, type: "bar", stack: "all", barMaxWidth: 36 };
  return {
    ...drawn,
    type: "line",
    symbol: "circle",
    symbolSize: values.length > 31 ? 3 : 6,
    lineStyle: { color: colour, width: 2 },
    areaStyle: { color: colour, opacity: 0.08 },
  };
}

/** What stacked bars come to, for the first line of the tooltip: nothing is drawn, and the legend does not name it. */
function totalOf(series: Plan["series"]) {
  const length = Math.max(...series.map(({ values }) => values.length));
  const data = Array.from({ length }, (_none, at) =>
    series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0),
  );
  return { name: "合计", type: "line", data, symbol: "none", color: "transparent", silent: true };
}

/** A plan in ECharts' words. */
export function optionOf(plan: Plan): EChartsCoreOption {
  const { kind, labels, series, shades, most, format, formatAxis, isCalm, isNarrow } = plan;
  // Narrow days leave the last date no room of its own.
  const right = labels.length > 14 ? 16 : 8;
  const text = { color: shades.textSecondary, fontFamily: FONT, fontSize: isNarrow ? 11 : 12 };
  return {
    animation: !isCalm,
    animationDuration: 150,
    textStyle: { fontFamily: FONT },
    grid: { left: 4, right, top: 12, bottom: series.length > 1 ? 34 : 4, outerBoundsMode: "same" },
    ...(series.length > 1
      ? {
          legend: {
            type: "scroll",
            data: series.map(({ name }) => name),
            bottom: 0,
            left: 0,
            itemWidth: 10,
            itemHeight: 10,
            textStyle: text,
            pageTextStyle: text,
            pageIconColor: shades.textSecondary,
            pageIconInactiveColor: shades.line,
          },
        }
      : {}),
    tooltip: {
      trigger: "axis",
      // Drawn in the canvas: no text becomes markup (requirements H03, H05).
      renderMode: "richText",
      confine: true,
      axisPointer: {
        type: kind === "bar" ? "shadow" : "line",
        lineStyle: { color: shades.line },
        shadowStyle: { color: shades.textTertiary, opacity: 0.1 },
      },
      backgroundColor: shades.tooltip,
      borderWidth: 0,
      textStyle: { color: "#ffffff", fontFamily: FONT, fontSize: 12 },
      order: "valueDesc",
      // Unknown values come as what ECharts makes of a gap.
      valueFormatter: (value: unknown) => (typeof value === "number" ? format(value) : "—"),
    },
    xAxis: {
      type: "category",
      data: labels,
      axisTick: { show: false },
      axisLine: { lineStyle: { color: shades.line } },
      axisLabel: { ...text, interval: 0, hideOverlap: true },
    },
    yAxis: {
      type: "value",
      splitNumber: 4,
      min: 0,
      // Bars are counts: there is no third of a request.
      minInterval: kind === "bar" ? 1 : 0,
      ...(most === undefined ? {} : { max: (extent: { max: number }) => (extent.max > 0 ? null : most) }),
      splitLine: { lineStyle: { color: shades.lineSoft } },
      axisLabel: { ...text, formatter: (value: number) => formatAxis(value) },
    },
    series: [
      ...series.map((one) => seriesOf(kind, one)),
      ...(kind === "bar" && series.length > 1 ? [totalOf(series)] : []),
    ],
  };
}

/** Starts a drawing that fills its box and follows its size. */
export function draw(box: HTMLElement): Drawing {
  const chart = init(box);
  const watcher = new ResizeObserver(() => chart.resize());
  watcher.observe(box);
  return {
    show: (plan) => chart.setOption(optionOf(plan), { notMerge: true }),
    end: () => {
      watcher.disconnect();
      chart.dispose();
    },
  };
}
