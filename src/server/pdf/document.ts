// What a PDF document of ours consists of: a title, facts, tables. Data that goes to the thread that makes it; knows no statement.

export interface PdfColumn {
  readonly title: string;
  readonly align?: "right";
}

export interface PdfTable {
  readonly title: string;
  readonly columns: readonly PdfColumn[];
  /** Each as long as `columns`. */
  readonly rows: readonly (readonly string[])[];
  /** In place of a table without rows. */
  readonly empty: string;
}

export interface PdfDocument {
  readonly title: string;
  /** Below the title, e.g. who issues it. */
  readonly subtitle: string;
  /** Label and value, in their order. */
  readonly facts: readonly (readonly [label: string, value: string])[];
  readonly tables: readonly PdfTable[];
  /** At the foot of every page, before its number. */
  readonly footer: string;
  /** BCP 47. */
  readonly language: string;
  /** What the file says of when it was made, so that the same document is the same bytes. Unit: seconds. */
  readonly createdSec: number;
}
