// Writes a PDF file: pages, and one font that is embedded as a subset. The same document is the same bytes. Written by ISO 32000-1
// (PDF 1.7): objects 7.3, streams 7.3.8, composite fonts 9.7, text maps 9.10.3.
import { deflateSync } from "node:zlib";
import type { PdfDocument } from "./document.ts";
import { BOX, type Font } from "./font.ts";
import { layOut, PAGE, type Page, type Run } from "./layout.ts";

const REPLACEMENT = "\ufffd";
/** Text maps have at most so many rows in a block. */
const BLOCK = 100;
/** How much wider than drawn bold strokes are, by the size of the text. */
const BOLD = 0.03;

/** The bytes of a document. */
export function pdfOf(document: PdfDocument, font: Font): Buffer {
  const pages = layOut(document, font);
  const used = new Used(font);
  const contents = pages.map((page) => contentOf(page, used));
  const file = new File();
  const tree = file.reserve();
  const catalog = file.add(`<< /Type /Catalog /Pages ${tree} 0 R /Lang ${textOf(document.language)} >>`);
  const info = file.add(
    `<< /Title ${textOf(document.title)} /Producer (Tollgate) /CreationDate (${dateOf(document.createdSec)}) >>`,
  );
  const fontRef = addFont(file, font, used);
  const kids = contents.map((content) => {
    const stream = file.stream("", Buffer.from(content, "latin1"));
    return file.add(
      `<< /Type /Page /Parent ${tree} 0 R /MediaBox [0 0 ${PAGE.width} ${PAGE.height}] ` +
        `/Resources << /Font << /F ${fontRef} 0 R >> >> /Contents ${stream} 0 R >>`,
    );
  });
  const refs = kids.map((kid) => `${kid} 0 R`).join(" ");
  file.set(tree, `<< /Type /Pages /Count ${kids.length} /Kids [${refs}] >>`);
  return file.finish(`/Root ${catalog} 0 R /Info ${info} 0 R`);
}

/** Which glyphs a document has, each with the character that it stands for. */
class Used {
  readonly #font: Font;
  readonly characters = new Map<number, string>([[BOX, REPLACEMENT]]);

  constructor(font: Font) {
    this.#font = font;
  }

  /** Text as the glyphs that draw it, for `Tj`. */
  glyphs(text: string): string {
    let hex = "";
    for (const character of text) {
      const glyph = this.#font.glyphOf(character.codePointAt(0) ?? 0);
      if (!this.characters.has(glyph)) this.characters.set(glyph, character);
      hex += hex4(this.#font.cidOf(glyph));
    }
    return `<${hex}>`;
  }

  sorted(): readonly (readonly [glyph: number, character: string])[] {
    return [...this.characters].sort(([one], [other]) => one - other);
  }
}

function contentOf({ runs, rules }: Page, used: Used): string {
  const lines = rules.map(
    ({ x, y, width, grey }) =>
      `${grey} G 0.5 w ${fixed(x)} ${fixed(y)} m ${fixed(x + width)} ${fixed(y)} l S`,
  );
  return [...lines, "BT", ...runs.map((run) => runOf(run, used)), "ET"].join("\n");
}

/** Bold is drawn with an outline of the same grey: one font file is enough. */
function runOf({ x, y, size, grey, isBold, text }: Run, used: Used): string {
  const mode = isBold ? `2 Tr ${grey} G ${fixed(size * BOLD)} w` : "0 Tr";
  return `/F ${size} Tf ${mode} ${grey} g 1 0 0 1 ${fixed(x)} ${fixed(y)} Tm ${used.glyphs(text)} Tj`;
}

/** The font with its subset, its widths and what its glyphs mean. Returns its number. */
function addFont(file: File, font: Font, used: Used): number {
  const glyphs = used.sorted();
  const scale = 1_000 / font.unitsPerEm;
  const size = (units: number) => Math.round(units * scale);
  const name = `/${tagOf(glyphs.map(([glyph]) => glyph))}+${font.name}`;
  const program = file.stream("/Subtype /CIDFontType0C", font.subset(glyphs.map(([glyph]) => glyph)));
  const descriptor = file.add(
    `<< /Type /FontDescriptor /FontName ${name} /Flags 4 /FontBBox [${font.box.map(size).join(" ")}] ` +
      `/ItalicAngle 0 /Ascent ${size(font.ascent)} /Descent ${size(font.descent)} /CapHeight ${size(font.ascent)} ` +
      `/StemV 80 /FontFile3 ${program} 0 R >>`,
  );
  const widths = glyphs.map(([glyph]) => `${font.cidOf(glyph)} [${size(font.widthOf(glyph))}]`).join(" ");
  const descendant = file.add(
    `<< /Type /Font /Subtype /CIDFontType0 /BaseFont ${name} /FontDescriptor ${descriptor} 0 R /DW 1000 ` +
      `/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /W [${widths}] >>`,
  );
  const meanings = file.stream(
    "",
    Buffer.from(textMapOf(glyphs.map(([glyph, character]) => [font.cidOf(glyph), character])), "latin1"),
  );
  return file.add(
    `<< /Type /Font /Subtype /Type0 /BaseFont ${name} /Encoding /Identity-H ` +
      `/DescendantFonts [${descendant} 0 R] /ToUnicode ${meanings} 0 R >>`,
  );
}

/** What a reader copies from the page. */
function textMapOf(characters: readonly (readonly [cid: number, character: string])[]): string {
  const blocks: string[] = [];
  for (let at = 0; at < characters.length; at += BLOCK) {
    const rows = characters.slice(at, at + BLOCK);
    const lines = rows.map(([cid, character]) => `<${hex4(cid)}> <${utf16Of(character)}>`);
    blocks.push(`${rows.length} beginbfchar`, ...lines, "endbfchar");
  }
  return [
    "/CIDInit /ProcSet findresource begin 12 dict begin begincmap",
    "/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def",
    "/CMapName /Adobe-Identity-UCS def /CMapType 2 def",
    "1 begincodespacerange <0000> <ffff> endcodespacerange",
    ...blocks,
    "endcmap CMapName currentdict /CMap defineresource pop end end",
  ].join("\n");
}

/** Six letters that tell one subset of a font from another. */
function tagOf(glyphs: readonly number[]): string {
  let sum = 0;
  for (const glyph of glyphs) sum = (sum * 31 + glyph) % 308_915_776;
  let tag = "";
  for (let letter = 0; letter < 6; letter++) {
    tag += String.fromCharCode(65 + (sum % 26));
    sum = Math.floor(sum / 26);
  }
  return tag;
}

/** Collects the objects of a file by number, and where they begin. */
class File {
  readonly #bodies: (Buffer | undefined)[] = [];

  /** A number for what is written later. */
  reserve(): number {
    return this.#bodies.push(undefined);
  }

  set(number: number, body: string): void {
    this.#bodies[number - 1] = Buffer.from(body, "latin1");
  }

  add(body: string): number {
    return this.#bodies.push(Buffer.from(body, "latin1"));
  }

  stream(entries: string, data: Buffer): number {
    const packed = deflateSync(data, { level: 9 });
    const head = `<< ${entries} /Filter /FlateDecode /Length ${packed.length} >>\nstream\n`;
    return this.#bodies.push(
      Buffer.concat([Buffer.from(head, "latin1"), packed, Buffer.from("\nendstream")]),
    );
  }

  finish(trailer: string): Buffer {
    // The second line has bytes above 127, so that no program takes the file for text.
    const parts = [Buffer.from("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "latin1")];
    let length = parts[0]?.length ?? 0;
    const offsets: number[] = [];
    for (const [index, body] of this.#bodies.entries()) {
      const object = Buffer.concat([
        Buffer.from(`${index + 1} 0 obj\n`),
        body ?? Buffer.from("null"),
        Buffer.from("\nendobj\n"),
      ]);
      offsets.push(length);
      length += object.length;
      parts.push(object);
    }
    const rows = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
    const size = offsets.length + 1;
    parts.push(
      Buffer.from(
        `xref\n0 ${size}\n0000000000 65535 f \n${rows}trailer\n<< /Size ${size} ${trailer} >>\nstartxref\n${length}\n%%EOF\n`,
      ),
    );
    return Buffer.concat(parts);
  }
}

function fixed(points: number): string {
  return points.toFixed(2);
}

function hex4(value: number): string {
  return value.toString(16).padStart(4, "0");
}

/** UTF-16, big-endian, as hex. */
function utf16Of(text: string): string {
  let hex = "";
  for (let index = 0; index < text.length; index++) hex += hex4(text.charCodeAt(index));
  return hex;
}

/** A text string of the document (7.9.2.2). */
function textOf(text: string): string {
  return `<feff${utf16Of(text)}>`;
}

/** `D:20261101010000+08'00'`: Beijing time, which statements go by. */
function dateOf(seconds: number): string {
  const beijing = new Date((seconds + 8 * 3_600) * 1_000).toISOString();
  return `D:${beijing.slice(0, 19).replaceAll(/\D/g, "")}+08'00'`;
}
