// What an import found and did: counts, the sums that must be the same on both sides, remarks, and every number that could not be
// taken as it stands. Renders them as text.
import { misreadOf, type SourceRow, textOf } from "./row.ts";
import { ImportError } from "./source.ts";

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
/** Numbers that are told one by one, and as much of what stood there. */
const MISREAD_LINES = 1_000;
const MISREAD_LENGTH = 40;

export class Tally {
  readonly counts = new Map<string, TableCount>();
  readonly before = noSums();
  after = noSums();
  readonly #remarks = new Map<string, { count: number; examples: string[] }>();
  readonly #misread: string[] = [];
  #misreadCount = 0;

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

  /** Notes which of these columns of a row hold something that has no place here. */
  tellLeftOut(text: string, row: SourceRow, name: string, columns: readonly string[]): void {
    for (const column of columns)
      if (!/^(?:|null|\{\}|\[\])$/.test(textOf(row, column))) this.remark(text, `${name} (${column})`);
  }

  /**
   * Tells of the numbers of rows that were read and could not be taken as they stand: who loses a balance by that must not learn it from its
   * owner. Throws: ImportError for an id, by which the other tables know the row.
   */
  tellMisread(table: string, rows: readonly SourceRow[]): void {
    for (const row of rows) {
      for (const [column, taken] of misreadOf(row)) {
        const text = JSON.stringify(textOf(row, column).slice(0, MISREAD_LENGTH));
        if (column === "id") throw new ImportError(`a row of ${table} has no number for an id, but ${text}`);
        this.#misreadCount += 1;
        if (this.#misread.length < MISREAD_LINES)
          this.#misread.push(`- ${table} ${textOf(row, "id")} ${column}: ${text} → ${taken}`);
      }
    }
  }

  /** Sums are the same on both sides, and every number was taken as it stood. */
  get isExact(): boolean {
    return this.#misreadCount === 0 && SUM_NAMES.every((name) => this.before[name] === this.after[name]);
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
    return [...columns(lines), "", ...columns(sums), ...this.#renderRemarks(), ...this.#renderMisread()].join(
      "\n",
    );
  }

  #renderMisread(): string[] {
    if (this.#misreadCount === 0) return [];
    const more = this.#misreadCount - this.#misread.length;
    return [
      "",
      `numbers that could not be taken as they stand (${this.#misreadCount}), and what was taken`,
      ...this.#misread,
      ...(more > 0 ? [`- and ${more} more`] : []),
    ];
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
