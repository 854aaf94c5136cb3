// What an import found and did: counts, the sums that must be the same on both sides, and remarks. Renders them as text.

/** Sums that people check an import by (contract 7.5 #13). */
export const SUM_NAMES = [
  "quota",
  "used_quota",
  "remain_quota",
  "log quota",
  "token used_quota",
  "channel used_quota",
] as const;
export type SumName = (typeof SUM_NAMES)[number];
export type Sums = Record<SumName, bigint>;

export function noSums(): Sums {
  return {
    quota: 0n,
    used_quota: 0n,
    remain_quota: 0n,
    "log quota": 0n,
    "token used_quota": 0n,
    "channel used_quota": 0n,
  };
}

export interface TableCount {
  /** Rows of the source. */
  found: number;
  /** Rows written by this run, or that a real run would write. */
  written: number;
  /** Rows that an earlier, interrupted run had written. */
  present: number;
  /** Rows that cannot be taken; a remark says why. */
  skipped: number;
}

/** Examples that one remark carries. */
const EXAMPLES = 5;

export class Tally {
  readonly counts = new Map<string, TableCount>();
  readonly before = noSums();
  after = noSums();
  readonly #remarks = new Map<string, { count: number; examples: string[] }>();

  of(table: string): TableCount {
    const known = this.counts.get(table) ?? { found: 0, written: 0, present: 0, skipped: 0 };
    this.counts.set(table, known);
    return known;
  }

  /** Adds to a sum of the source. */
  add(name: SumName, amount: number): void {
    this.before[name] += BigInt(amount);
  }

  /** Notes something the operator should know; the same remark is counted, with a few examples. */
  remark(text: string, example = ""): void {
    const known = this.#remarks.get(text) ?? { count: 0, examples: [] };
    this.#remarks.set(text, known);
    known.count += 1;
    if (example !== "" && known.examples.length < EXAMPLES) known.examples.push(example);
  }

  get isEqual(): boolean {
    return SUM_NAMES.every((name) => this.before[name] === this.after[name]);
  }

  render(): string {
    const lines = [["table", "found", "written", "present", "skipped"]];
    for (const [table, { found, written, present, skipped }] of this.counts)
      lines.push([table, ...[found, written, present, skipped].map(String)]);
    const sums = [["sum", "before", "after", ""]];
    for (const name of SUM_NAMES) {
      const [before, after] = [this.before[name], this.after[name]];
      sums.push([name, String(before), String(after), before === after ? "equal" : "DIFFERS"]);
    }
    return [...columns(lines), "", ...columns(sums), ...this.#renderRemarks()].join("\n");
  }

  #renderRemarks(): string[] {
    const remarks = [...this.#remarks].map(([text, { count, examples }]) => {
      const times = count > 1 ? ` (${count})` : "";
      const more =
        examples.length > 0 ? `: ${examples.join(", ")}${count > examples.length ? " …" : ""}` : "";
      return `- ${text}${times}${more}`;
    });
    return remarks.length > 0 ? ["", "remarks", ...remarks] : [];
  }
}

/** Lines of cells, the first column to the left and the others to the right. */
function columns(lines: readonly (readonly string[])[]): string[] {
  const widths = (lines[0] ?? []).map((_, index) =>
    Math.max(...lines.map((cells) => cells[index]?.length ?? 0)),
  );
  return lines.map((cells) =>
    cells
      .map((cell, index) =>
        index === 0 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0),
      )
      .join("  ")
      .trimEnd(),
  );
}
