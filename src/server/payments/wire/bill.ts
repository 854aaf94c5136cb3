// Bills as providers write them: lines of cells under a line of titles. Cells are found by title, so that a new column moves nothing. Pure.

/**
 * Alipay and WeChat Pay make bills by 9 or 10 o'clock of the next day, later at times; one that is not there by now will never be. Unit: seconds
 * after the day's end.
 */
export const BILL_MADE_SEC = 12 * 3_600;

/** A row's cell by the name of its field. */
export type BillRow<Field extends string> = (field: Field) => string;

/** The lines under the line of titles, as far as `isLast` says. Undefined = there are no such titles, or a line does not fit them. */
export function billRows<Field extends string>(
  lines: readonly string[],
  { titles, cellsOf, isLast }: BillShape<Field>,
): readonly BillRow<Field>[] | undefined {
  const fields = Object.entries<RegExp>(titles);
  const head = lines.findIndex((line) =>
    fields.every(([, title]) => namesIn(line).some((name) => title.test(name))),
  );
  if (head === -1) return undefined;
  const names = namesIn(lines[head] ?? "");
  const places = new Map(
    fields.map(([field, title]) => [field, names.findIndex((name) => title.test(name))]),
  );
  const rows: BillRow<Field>[] = [];
  for (const line of lines.slice(head + 1)) {
    if (line === "") continue;
    if (isLast(line)) return rows;
    const cells = cellsOf(line);
    if (cells.length < names.length) return undefined;
    rows.push((field) => (cells[places.get(field) ?? -1] ?? "").trim());
  }
  // Its end is missing: it was cut off.
  return undefined;
}

function namesIn(line: string): string[] {
  return line.split(",").map((name) => name.trim());
}

export interface BillShape<Field extends string> {
  /** The titles of the columns that are read. */
  readonly titles: Readonly<Record<Field, RegExp>>;
  cellsOf(line: string): readonly string[];
  /** The line after the rows. */
  isLast(line: string): boolean;
}

/** Lines of a text, with either end. */
export function linesOf(text: string): readonly string[] {
  return text.split(/\r?\n/);
}

/** `2026-11-24 12:00:00`, which providers in China write in Beijing time, in seconds; undefined = it is none. */
export function beijingSec(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(text)) return undefined;
  const at = Date.parse(`${text.replace(" ", "T")}+08:00`);
  return Number.isNaN(at) ? undefined : at / 1_000;
}
