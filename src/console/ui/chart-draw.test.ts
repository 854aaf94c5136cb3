// What charts write beside their axes, drawn as text instead of pixels.
import { init, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import { expect, it } from "vitest";
import { shadesOf } from "#console/base/colours.ts";
import { optionOf, type Plan } from "./chart-draw.ts";

use([SVGRenderer]);

/** The labels of the value axis. */
function axisOf(kind: Plan["kind"], values: readonly number[]): string[] {
  const seen = new Set<number>();
  const chart = init(null, null, { renderer: "svg", ssr: true, width: 600, height: 240 });
  chart.setOption(
    optionOf({
      kind,
      labels: values.map(String),
      series: [{ name: "one", colour: "#123456", values }],
      shades: shadesOf("light"),
      most: undefined,
      format: String,
      formatAxis: (value) => {
        seen.add(value);
        return String(value);
      },
      isCalm: true,
      isNarrow: false,
    }),
  );
  chart.renderToSVGString();
  chart.dispose();
  return [...seen].toSorted((one, other) => one - other).map(String);
}

/** A plan of bars or a line over two days. */
function planOf(kind: Plan["kind"], ...values: (readonly (number | null)[])[]): Plan {
  return {
    kind,
    labels: ["11-20", "11-21"],
    series: values.map((each, at) => ({ name: `model-${at}`, colour: "#123456", values: each })),
    shades: shadesOf("light"),
    most: undefined,
    format: String,
    formatAxis: String,
    isCalm: true,
    isNarrow: false,
  };
}

it("what is stacked has its sum, which is no name of the legend; one kind of bars and lines have none", () => {
  const stacked = optionOf(planOf("bar", [1, 2], [10, null]));
  expect(stacked).toMatchObject({
    legend: { data: ["model-0", "model-1"] },
    series: [{ name: "model-0" }, { name: "model-1" }, { name: "合计", data: [11, 2], silent: true }],
  });
  expect(optionOf(planOf("bar", [1, 2])).series).toHaveLength(1);
  expect(optionOf(planOf("line", [1, 2], [3, 4])).series).toHaveLength(2);
});

it("an axis of counts has whole numbers, however few there are", () => {
  expect(axisOf("bar", [0, 1])).toEqual(["0", "1"]);
  expect(axisOf("bar", [1, 2])).toEqual(["0", "1", "2"]);
  expect(axisOf("line", [0.1, 0.3]).length).toBeGreaterThan(2);
});
