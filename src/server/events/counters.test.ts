import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createCounters, renderSamples } from "./counters.ts";
import { families } from "./families.ts";

test("histograms count into every bucket from theirs upwards, with sum and count", () => {
  const counters = createCounters();
  for (const seconds of [0.004, 0.01, 0.3, 1000]) counters.observe("h", `endpoint="chat"`, seconds);
  const text = renderSamples(counters.samples(), { h: { kind: "histogram", help: "Some." } });
  expect(text.split("\n").slice(0, 4)).toEqual([
    "# HELP h Some.",
    "# TYPE h histogram",
    'h_bucket{endpoint="chat",le="0.01"} 2',
    'h_bucket{endpoint="chat",le="0.025"} 2',
  ]);
  expect(text).toContain('h_bucket{endpoint="chat",le="0.25"} 2\nh_bucket{endpoint="chat",le="0.5"} 3\n');
  expect(text).toContain('h_bucket{endpoint="chat",le="+Inf"} 4\n');
  expect(text).toContain('h_sum{endpoint="chat"} 1000.314\nh_count{endpoint="chat"} 4\n');
});

test("a family stands together under one head, whatever the order of its samples", () => {
  const counters = createCounters();
  counters.add("a_total", `x="1"`);
  counters.set("b", 7);
  counters.add("a_total", `x="2"`, 3);
  counters.measure("c", () => 5);
  const head = { kind: "counter", help: "A." } as const;
  expect(renderSamples(counters.samples(), { a_total: head })).toBe(
    '# HELP a_total A.\n# TYPE a_total counter\na_total{x="1"} 1\na_total{x="2"} 3\nb 7\nc 5\n',
  );
});

test("every number that is counted somewhere is explained", () => {
  const files = [
    "../events.ts",
    "../ops.ts",
    "../relay/relay.ts",
    "../relay/services.ts",
    "../relay/realtime/realtime.ts",
    "../relay/realtime/upgrades.ts",
  ];
  const code = files.map((file) => readFileSync(new URL(file, import.meta.url), "utf8")).join("\n");
  const names = new Set([...code.matchAll(/"((?:tollgate|process)_\w+)"/g)].map(([, name]) => name ?? ""));
  expect([...names].filter((name) => families[name] === undefined)).toEqual([]);
  expect(Object.keys(families).filter((name) => !names.has(name))).toEqual([]);
});
