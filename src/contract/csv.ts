// Tables as CSV files: cells cannot become formulas, nor texts of digits other numbers (requirements H10, Y60). The guard in front of such a
// text can be taken off again, so that what was exported can be brought in. Pure.

/** What a spreadsheet takes for a formula, or for a name of one. */
const FORMULA = /^[\s\u200b\ufeff]*[=+\-@＝＋－＠]|^[\t\r\n]/;

/**
 * Texts of digits that a spreadsheet changes when it reads a number: it rounds from the 16th digit on, writes twelve and more with an
 * exponent, drops zeros in front, and takes `1e5` for one, too.
 */
const MANGLED = /^\s*(\d{12,}|0\d+|\d+[eE]\d+)\s*$/;

const MONTH = "(jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*";
/** Texts that a spreadsheet takes for a day, a time, a fraction or a yes: `1/2`, `3-4`, `2026-11`, `1:30`, `MAR1`, `TRUE`. */
const READ_AS = new RegExp(
  `^\\s*(\\d+(\\s+\\d+)?(\\s*[/:-]\\s*\\d+)+|${MONTH}[\\s./-]*\\d{1,4}|\\d{1,4}[\\s./-]*${MONTH}|true|false)\\s*$`,
  "i",
);
/** A whole day, which is the same day there. */
const DAY = /^\d{4}-\d{2}-\d{2}$/;

const GUARD = "'";

/** A text that begins like a guarded one is guarded too, so that each guard that is read was written. */
function needsGuard(text: string): boolean {
  const bare = text.replace(/^'+/, "");
  return FORMULA.test(bare) || MANGLED.test(bare) || (READ_AS.test(bare) && !DAY.test(bare));
}

/** The text that was guarded: exactly the guard is taken off, and from no other text. */
export function unguarded(cell: string): string {
  return cell.startsWith(GUARD) && needsGuard(cell) ? cell.slice(GUARD.length) : cell;
}

/** A text, or a number; a decimal is one whose digits all stay. */
export type CsvValue = string | number | { readonly decimal: string };

/**
 * One cell of a CSV file. A text that a spreadsheet would read as a formula or as another number gets an apostrophe in front; numbers
 * stay.
 */
export function csvCell(value: CsvValue): string {
  if (typeof value === "number") return String(value);
  if (typeof value === "object") return value.decimal;
  const safe = needsGuard(value) ? GUARD + value : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Rows as CSV with a byte order mark, which spreadsheets need to read Chinese. */
export function csvText(rows: readonly (readonly CsvValue[])[]): string {
  return `\ufeff${rows.map((row) => row.map(csvCell).join(",")).join("\r\n")}\r\n`;
}
