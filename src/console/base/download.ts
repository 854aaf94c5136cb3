// Files that the browser makes: their names are cleaned, cells of tables cannot become formulas (requirements H10).

const NAME_LENGTH = 60;

/** A text as the name of a file, without its ending: no paths, no control characters, no leading dots; never empty. */
export function cleanFileName(text: string, fallback: string): string {
  const plain = text
    .normalize("NFKC")
    // What is neither a letter, a digit nor a harmless sign: separators, quotes, control and direction characters.
    .replace(/[^\p{L}\p{N} ._-]+/gu, "_")
    .replace(/^[\s._-]+|[\s._-]+$/g, "");
  return [...plain].slice(0, NAME_LENGTH).join("") || fallback;
}

/** One cell of a CSV file. A text that a spreadsheet would read as a formula gets an apostrophe in front; numbers stay. */
export function csvCell(value: string | number): string {
  if (typeof value === "number") return String(value);
  const safe =
    /^[\s\u200b\ufeff]*[=+\-@＝＋－＠]/.test(value) || /^[\t\r\n]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Rows as CSV with a byte order mark, which spreadsheets need to read Chinese. */
export function csvText(rows: readonly (readonly (string | number)[])[]): string {
  return `\ufeff${rows.map((row) => row.map(csvCell).join(",")).join("\r\n")}\r\n`;
}

export interface TextFile {
  /** With its ending; clean it first. */
  readonly name: string;
  readonly text: string;
  readonly type: "text/plain" | "text/csv";
}

/** Gives a file to the browser's downloads. */
export function downloadText({ name, text, type }: TextFile): void {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The browser has read the content by then.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
