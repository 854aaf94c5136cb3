// What an import found and did: counts, the sums that must be the same on both sides, remarks, prices that are lost or change, and
// every number that could not be taken as it stands. Renders them as text.
import { misreadOf, type SourceRow, textOf } from "./row.ts";
import { ImportError } from "./source.ts";

/** Sums by which operators check an import (requirements W7.5). */
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
  // One for each name.
  return Object.fromEntries(SUM_NAMES.map((name) => [name, 0n])) as Sums;
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
/** Numbers that are reported one by one, and as much of what stood there. */
const MISREAD_LINES = 1_000;
const MISREAD_LENGTH = 40;

/** What is reported of prices, row by row and model by model. */
const PRICE_LISTS = {
  skipped: ["rows of price tables that are no ratio were skipped", ""],
  changed: ["models whose price changes", ": there → here, model ratio and completion ratio"],
  unpriced: [
    "models that are left without a price",
    ": calls to them are refused here; what they cost there",
  ],
} as const;
type PriceList = keyof typeof PRICE_LISTS;
const PRICE_LIST_NAMES = ["skipped", "changed", "unpriced"] as const;

export class Tally {
  readonly counts = new Map<string, TableCount>();
  readonly before = noSums();
  after = noSums();
  readonly #remarks = new Map<string, { count: number; examples: string[] }>();
  readonly #prices: Record<PriceList, string[]> = { skipped: [], changed: [], unpriced: [] };
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
  remark(text: string, example = "", most = EXAMPLES): void {
    const known = this.#remarks.get(text) ?? { count: 0, examples: [] };
    this.#remarks.set(text, known);
    known.count += 1;
    if (example !== "" && known.examples.length < most) known.examples.push(example);
  }

  /** The same where each one has to be named. */
  remarkAll(text: string, example: string): void {
    this.remark(text, example, Number.POSITIVE_INFINITY);
  }

  /** Notes a rule that holds for many. */
  remarkOnce(text: string): void {
    if (!this.#remarks.has(text)) this.remark(text);
  }

  /** Notes a price: a row that was skipped, a model that costs something else, one that has lost its price. */
  tellPrice(list: PriceList, line: string): void {
    this.#prices[list].push(line);
  }

  /** Notes which of these columns of a row hold something that has no place here. */
  tellLeftOut(text: string, row: SourceRow, name: string, columns: readonly string[]): void {
    for (const column of columns)
      if (!/^(?:|0|false|null|\{\}|\[\])$/.test(textOf(row, column)))
        this.remark(text, `${name} (${column})`);
  }

  /**
   * Reports the numbers of rows that were read and could not be taken as they stand: an operator must not learn of a lost balance from its
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

  /** Sums are the same on both sides, every number was taken as it stood, and no price was lost. */
  get isExact(): boolean {
    const { skipped, unpriced } = this.#prices;
    if (skipped.length > 0 || unpriced.length > 0) return false;
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
    const prices = PRICE_LIST_NAMES.flatMap((list) => this.#renderPrices(list));
    return [
      ...columns(lines),
      "",
      ...columns(sums),
      ...this.#renderRemarks(),
      ...prices,
      ...this.#renderMisread(),
    ].join("\n");
  }

  #renderPrices(list: PriceList): string[] {
    const found = this.#prices[list];
    if (found.length === 0) return [];
    const [title, note] = PRICE_LISTS[list];
    return ["", `${title} (${found.length})${note}`, ...found.map((line) => `- ${line}`)];
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
