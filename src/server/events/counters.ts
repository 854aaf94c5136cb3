// Numbers for /metrics: counters, gauges and histograms in memory, and their Prometheus text. Names and labels come from
// small fixed sets, so memory is bounded; nothing here knows what is counted (requirements P08).

/** A sample of /metrics: name, labels from small fixed sets, value. */
export interface Sample {
  readonly name: string;
  readonly labels: string;
  value: number;
}

export type Kind = "counter" | "gauge" | "histogram";

/** What an operator reads above the samples of one name. */
export interface Family {
  readonly kind: Kind;
  readonly help: string;
}

/** Upper bounds in seconds: from an answer out of a cache to the longest stream. */
const BOUNDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300] as const;

class Histogram {
  readonly #name: string;
  readonly #labels: string;
  readonly #counts = new Array<number>(BOUNDS.length + 1).fill(0);
  #sum = 0;

  constructor(name: string, labels: string) {
    this.#name = name;
    this.#labels = labels;
  }

  observe(seconds: number): void {
    let index = 0;
    while (index < BOUNDS.length && seconds > (BOUNDS[index] ?? 0)) index += 1;
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#sum += seconds;
  }

  samples(): Sample[] {
    let total = 0;
    const buckets = this.#counts.map((count, index) => {
      total += count;
      const bound = `le="${BOUNDS[index] ?? "+Inf"}"`;
      const labels = this.#labels === "" ? bound : `${this.#labels},${bound}`;
      return { name: `${this.#name}_bucket`, labels, value: total };
    });
    return [
      ...buckets,
      { name: `${this.#name}_sum`, labels: this.#labels, value: this.#sum },
      { name: `${this.#name}_count`, labels: this.#labels, value: total },
    ];
  }
}

export type Counters = ReturnType<typeof createCounters>;

/** Builds an empty set of counters. */
export function createCounters() {
  // By name, then by labels: both are texts that the caller keeps, so that nothing is joined or hashed anew for a count.
  const values = new Map<string, Map<string, Sample>>();
  const histograms = new Map<string, Map<string, Histogram>>();
  const gauges = new Map<string, () => number>();
  const sampleOf = (name: string, labels: string): Sample => entryOf(values, name, labels, newSample);
  return {
    add(name: string, labels: string, amount = 1): void {
      sampleOf(name, labels).value += amount;
    },
    set(name: string, value: number): void {
      sampleOf(name, "").value = value;
    },
    /** Counts how long something took. */
    observe(name: string, labels: string, seconds: number): void {
      entryOf(histograms, name, labels, newHistogram).observe(seconds);
    },
    /** A gauge that is read at each scrape. */
    measure(name: string, read: () => number): void {
      gauges.set(name, read);
    },
    samples(): Sample[] {
      return [
        ...[...values.values()].flatMap((byLabels) => [...byLabels.values()]),
        ...[...gauges].map(([name, read]) => ({ name, labels: "", value: read() })),
        ...[...histograms.values()].flatMap((byLabels) =>
          [...byLabels.values()].flatMap((histogram) => histogram.samples()),
        ),
      ];
    },
  };
}

function newSample(name: string, labels: string): Sample {
  return { name, labels, value: 0 };
}

function newHistogram(name: string, labels: string): Histogram {
  return new Histogram(name, labels);
}

/** What is counted under a name and labels. `make` is no closure, since this is asked several times in each call. */
function entryOf<Entry>(
  all: Map<string, Map<string, Entry>>,
  name: string,
  labels: string,
  make: (name: string, labels: string) => Entry,
): Entry {
  let byLabels = all.get(name);
  if (byLabels === undefined) {
    byLabels = new Map();
    all.set(name, byLabels);
  }
  let entry = byLabels.get(labels);
  if (entry === undefined) {
    entry = make(name, labels);
    byLabels.set(labels, entry);
  }
  return entry;
}

/** The Prometheus text format: samples by family, each with its HELP and TYPE when it is known. */
export function renderSamples(
  samples: readonly Sample[],
  families: Readonly<Record<string, Family>>,
): string {
  const groups = new Map<string, string[]>();
  for (const { name, labels, value } of samples) {
    const bare = name.replace(/_(bucket|sum|count)$/, "");
    const family = families[bare]?.kind === "histogram" ? bare : name;
    const lines = groups.get(family) ?? headOf(family, families[family]);
    groups.set(family, lines);
    lines.push(`${name}${labels === "" ? "" : `{${labels}}`} ${value}`);
  }
  return `${[...groups.values()].flat().join("\n")}\n`;
}

function headOf(name: string, family: Family | undefined): string[] {
  return family ? [`# HELP ${name} ${family.help}`, `# TYPE ${name} ${family.kind}`] : [];
}
