// A chart over days, bars or a line, with the same data as a table beneath: for screen readers, and for users that want the numbers.
// What draws it is loaded with the first chart.
import { useEffect, useRef } from "react";
import { type TagColour, tagPalette } from "#console/base/colours.ts";
import { CALM, NARROW, useMedia } from "#console/base/media.ts";
import { useShades, useThemeMode } from "#console/base/theme-mode.ts";
import type { Drawing } from "./chart-draw.ts";
import "./chart.css";

export interface ChartSeries {
  readonly name: string;
  readonly colour: TagColour;
  /** null = unknown on that day: a gap. */
  readonly values: readonly (number | null)[];
}

export interface ChartProps {
  readonly title: string;
  /** Bars stacked on each other, or a line with its points. Bars unless told. */
  readonly kind?: "bar" | "line";
  readonly labels: readonly string[];
  readonly series: readonly ChartSeries[];
  /** Exact value as text, for tooltips and the table. */
  readonly format: (value: number) => string;
  /** Where the axis ends while all values are 0; it follows them otherwise. */
  readonly most?: number;
  /** Value as short text, for the axis. */
  readonly formatAxis: (value: number) => string;
  /** One sentence for users that do not see the chart. */
  readonly summary: string;
  /** Why there is nothing to draw, when no day has a value; absent where that cannot be. */
  readonly whyEmpty?: string;
}

function Canvas({ kind = "bar", labels, series, most, format, formatAxis, summary }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const drawing = useRef<Drawing>(undefined);
  const mode = useThemeMode();
  const shades = useShades();
  const isCalm = useMedia(CALM);
  const isNarrow = useMedia(NARROW);
  useEffect(() => {
    let isGone = false;
    const show = async () => {
      const { draw } = await import("./chart-draw.ts");
      if (isGone || box.current === null) return;
      drawing.current ??= draw(box.current);
      drawing.current.show({
        kind,
        labels,
        series: series.map(({ name, colour, values }) => ({
          name,
          values,
          colour: tagPalette[mode][colour].text,
        })),
        shades,
        most,
        format,
        formatAxis,
        isCalm,
        isNarrow,
      });
    };
    void show();
    return () => {
      isGone = true;
    };
  }, [kind, labels, series, most, format, formatAxis, mode, shades, isCalm, isNarrow]);
  useEffect(
    () => () => {
      drawing.current?.end();
      drawing.current = undefined;
    },
    [],
  );
  return <div ref={box} className="tg-chart-canvas" role="img" aria-label={summary} />;
}

function DataTable({ title, labels, series, format }: ChartProps) {
  const exact = (value: number | null) => (value === null ? "—" : format(value));
  return (
    <details className="tg-chart-data">
      <summary>以表格查看</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scroll area must be reachable by keyboard */}
      <section tabIndex={0} aria-label={`${title}的数据`}>
        <table>
          <thead>
            <tr>
              <th scope="col">日期</th>
              {series.map(({ name }) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {labels.map((label, at) => (
              <tr key={label}>
                <th scope="row">{label}</th>
                {series.map(({ name, values }) => (
                  <td key={name}>{exact(values[at] ?? null)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </details>
  );
}

export function Chart(props: ChartProps) {
  const isEmpty = props.series.every(({ values }) => values.every((value) => value === null));
  return (
    <section className="tg-card tg-chart">
      <h2>{props.title}</h2>
      {isEmpty && props.whyEmpty !== undefined ? (
        <p className="tg-chart-canvas tg-chart-empty">{props.whyEmpty}</p>
      ) : (
        <>
          <Canvas {...props} />
          <DataTable {...props} />
        </>
      )}
    </section>
  );
}
