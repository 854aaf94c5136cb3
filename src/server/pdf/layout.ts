// Where everything of a document stands on its pages: lines of text by character, columns as wide as they need, heads again on each page.
import type { PdfColumn, PdfDocument, PdfTable } from "./document.ts";
import type { Font } from "./font.ts";

/** Points; A4. */
export const PAGE = { width: 595.28, height: 841.89 } as const;
const MARGIN = 48;
const INNER = PAGE.width - 2 * MARGIN;
const BOTTOM = MARGIN + 16;
const GAP = 10;
const LABEL = 96;
const SIZES = { title: 17, heading: 11, text: 9, small: 8 } as const;
/** Height of a line by the size of its text. */
const LEADING = 1.5;
const PADDING = 3;
/** A column is at least so wide, however many there are. */
const NARROWEST = 28;
/** Sums of fractions differ in their last digits. */
const SPARE = 0.5;

/** From black to white. */
const BLACK = 0.1;
const GREY = 0.42;
const LINE = 0.82;

export interface Run {
  readonly x: number;
  /** The base line, from the foot of the page. */
  readonly y: number;
  readonly size: number;
  readonly grey: number;
  readonly text: string;
  readonly isBold: boolean;
}

export interface Rule {
  readonly y: number;
  readonly x: number;
  readonly width: number;
  readonly grey: number;
}

export interface Page {
  readonly runs: Run[];
  readonly rules: Rule[];
}

/** Everything of a document, page by page. */
export function layOut(document: PdfDocument, font: Font): readonly Page[] {
  const paper = new Paper(font);
  paper.paragraph(document.title, { size: SIZES.title, isBold: true });
  paper.paragraph(document.subtitle, { size: SIZES.text, grey: GREY });
  paper.space(GAP);
  for (const [label, value] of document.facts) paper.fact(label, value);
  for (const table of document.tables) paper.table(table);
  return paper.finish(document.footer);
}

interface Style {
  readonly size: number;
  readonly grey?: number;
  readonly isBold?: boolean;
}

class Paper {
  readonly #font: Font;
  readonly #pages: Page[] = [{ runs: [], rules: [] }];
  /** What is free ends here, going down. */
  #y = PAGE.height - MARGIN;

  constructor(font: Font) {
    this.#font = font;
  }

  get #page(): Page {
    const page = this.#pages.at(-1);
    if (!page) throw new Error("a document has a page");
    return page;
  }

  space(points: number): void {
    this.#y -= points;
  }

  paragraph(text: string, style: Style): void {
    if (text === "") return;
    for (const line of this.#wrap(text, style.size, INNER)) {
      this.#need(style.size * LEADING);
      this.#write(line, MARGIN, style);
      this.#y -= style.size * LEADING;
    }
  }

  fact(label: string, value: string): void {
    const size = SIZES.text;
    const lines = this.#wrap(value, size, INNER - LABEL);
    for (const [index, line] of lines.entries()) {
      this.#need(size * LEADING);
      if (index === 0) this.#write(label, MARGIN, { size, grey: GREY });
      this.#write(line, MARGIN + LABEL, { size });
      this.#y -= size * LEADING;
    }
  }

  table(table: PdfTable): void {
    const { title, columns, rows, empty } = table;
    const row = SIZES.small * LEADING + 2 * PADDING;
    // The head of a section does not stay alone at the foot of a page.
    this.#need(GAP * 2 + SIZES.heading * LEADING + 2 * row);
    this.space(GAP * 2);
    this.paragraph(title, { size: SIZES.heading, isBold: true });
    this.space(PADDING);
    if (rows.length === 0) {
      this.paragraph(empty, { size: SIZES.text, grey: GREY });
      return;
    }
    const widths = this.#widths(table);
    const titles = columns.map((column) => column.title);
    const head = () => this.#row(titles, { columns, widths, style: { size: SIZES.small, grey: GREY } });
    head();
    for (const cells of rows) this.#row(cells, { columns, widths, style: { size: SIZES.small }, head });
  }

  /** Numbers the pages, which is known at the end only. */
  finish(footer: string): readonly Page[] {
    const total = this.#pages.length;
    for (const [index, { runs, rules }] of this.#pages.entries()) {
      const [size, y, grey, isBold] = [SIZES.small, MARGIN - 6, GREY, false];
      const number = `${index + 1} / ${total}`;
      const x = PAGE.width - MARGIN - this.#width(number, size);
      rules.push({ x: MARGIN, y: MARGIN + 8, width: INNER, grey: LINE });
      runs.push(
        { x: MARGIN, y, size, grey, isBold, text: footer },
        { x, y, size, grey, isBold, text: number },
      );
    }
    return this.#pages;
  }

  #row(
    cells: readonly string[],
    how: {
      readonly columns: readonly PdfColumn[];
      readonly widths: readonly number[];
      readonly style: Style;
      readonly head?: () => void;
    },
  ): void {
    const { columns, widths, style, head } = how;
    const wrapped = cells.map((cell, index) => this.#wrap(cell, style.size, (widths[index] ?? 0) - GAP));
    const height = Math.max(...wrapped.map((lines) => lines.length)) * style.size * LEADING + 2 * PADDING;
    if (this.#need(height)) head?.();
    this.#y -= PADDING;
    let x = MARGIN;
    for (const [index, lines] of wrapped.entries()) {
      const width = widths[index] ?? 0;
      for (const [at, line] of lines.entries()) {
        const isRight = columns[index]?.align === "right";
        const gap = index === columns.length - 1 ? 0 : GAP;
        const indent = isRight ? width - gap - this.#width(line, style.size) : 0;
        this.#write(line, x + indent, style, at * style.size * LEADING);
      }
      x += width;
    }
    this.#y -= height - PADDING;
    this.#page.rules.push({ x: MARGIN, y: this.#y, width: INNER, grey: LINE });
  }

  /** As wide as the longest cell. What is left over is shared; what is missing is taken from the texts, so that no number is broken. */
  #widths({ columns, rows }: PdfTable): number[] {
    const wanted = columns.map(({ title }, index) => {
      let widest = this.#width(title, SIZES.small);
      for (const cells of rows) widest = Math.max(widest, this.#width(cells[index] ?? "", SIZES.small));
      return Math.max(NARROWEST, Math.min(widest + GAP + SPARE, INNER / 2));
    });
    const sum = (widths: readonly number[]) => widths.reduce((total, width) => total + width, 0);
    const isText = (index: number) => columns[index]?.align !== "right";
    const texts = wanted.filter((_, index) => isText(index));
    const most = shareOf(texts, INNER - (sum(wanted) - sum(texts)));
    const fitted = wanted.map((width, index) => (isText(index) ? Math.min(width, most) : width));
    return fitted.map((width) => (width * INNER) / sum(fitted));
  }

  /** Begins a new page when the free space is less. Returns whether it did. */
  #need(points: number): boolean {
    if (this.#y - points >= BOTTOM) return false;
    this.#pages.push({ runs: [], rules: [] });
    this.#y = PAGE.height - MARGIN;
    return true;
  }

  #write(text: string, x: number, { size, grey = BLACK, isBold = false }: Style, down = 0): void {
    if (text !== "") this.#page.runs.push({ x, y: this.#y - down - size, size, grey, isBold, text });
  }

  /** Lines no wider than this: after a space where there is one, else after any character. At least one line. */
  #wrap(text: string, size: number, width: number): string[] {
    const lines: string[] = [];
    let line = "";
    let used = 0;
    for (const character of clean(text)) {
      const more = this.#width(character, size);
      if (used + more > width && line !== "") {
        const cut = line.lastIndexOf(" ") + 1;
        const kept = cut > line.length / 2 ? cut : line.length;
        lines.push(line.slice(0, kept).trimEnd());
        line = line.slice(kept);
        used = this.#width(line, size);
      }
      line += character;
      used += more;
    }
    return [...lines, line];
  }

  #width(text: string, size: number): number {
    let units = 0;
    for (const character of text)
      units += this.#font.widthOf(this.#font.glyphOf(character.codePointAt(0) ?? 0));
    return (units / this.#font.unitsPerEm) * size;
  }
}

/** How wide a column may be, so that all fit into `left`: narrow ones keep what they want. */
function shareOf(wanted: readonly number[], left: number): number {
  let rest = left;
  const ascending = wanted.toSorted((one, other) => one - other);
  for (const [index, width] of ascending.entries()) {
    const share = rest / (ascending.length - index);
    if (width > share) return Math.max(NARROWEST, share);
    rest -= width;
  }
  return left;
}

/** Names may hold line breaks and tabs; on paper they are spaces. */
function clean(text: string): string {
  return text.replaceAll(/[\t\n\r\v\f\u2028\u2029]+/g, " ");
}
