// Reads back what our PDF files hold: objects, the font program, what each glyph stands for, and the text of the pages. Knows only what we
// write, and fails on anything else.
import { inflateSync } from "node:zlib";

export interface ReadPdf {
  readonly title: string;
  readonly pages: number;
  /** Everything that is drawn, run by run, in the order of the file. */
  readonly texts: readonly string[];
  /** Character by CID, as readers copy it. */
  readonly characters: ReadonlyMap<number, string>;
  /** Thousandths of an em by CID. */
  readonly widths: ReadonlyMap<number, number>;
  /** The CFF program of its one font. */
  readonly program: Buffer;
}

/** Throws: when the file is not as ours are. */
export function readPdf(file: Buffer): ReadPdf {
  const objects = objectsOf(file);
  const find = (sign: string) => objects.filter(({ head }) => head.includes(sign));
  const [type0] = find("/Subtype /Type0");
  const [program] = find("/Subtype /CIDFontType0C");
  const [descendant] = find("/Subtype /CIDFontType0 ");
  const meanings = objects[Number(/\/ToUnicode (\d+) 0 R/.exec(type0?.head ?? "")?.[1]) - 1];
  if (!program?.data || !descendant || !meanings?.data) throw new Error("the file has no font");
  const characters = charactersOf(meanings.data.toString("latin1"));
  const pages = find("/Type /Page /Parent");
  const contents = pages.map(({ head }) => {
    const data = objects[Number(/\/Contents (\d+) 0 R/.exec(head)?.[1]) - 1]?.data;
    if (!data) throw new Error("a page has no content");
    return data.toString("latin1");
  });
  const title = /\/Title <([0-9a-f]+)>/.exec(find("/Producer")[0]?.head ?? "")?.[1] ?? "";
  return {
    title: utf16(title).slice(1),
    pages: pages.length,
    texts: contents.flatMap((content) => textsOf(content, characters)),
    characters,
    widths: new Map(
      [...descendant.head.matchAll(/(\d+) \[(\d+)\]/g)].map(([, cid, width]) => [Number(cid), Number(width)]),
    ),
    program: program.data,
  };
}

interface PdfObject {
  readonly head: string;
  readonly data: Buffer | undefined;
}

/** By the table at the end of the file, so that a wrong offset is noticed. */
function objectsOf(file: Buffer): PdfObject[] {
  const text = file.toString("latin1");
  const table = Number(/startxref\n(\d+)\n%%EOF\n$/.exec(text)?.[1]);
  const rows = [...text.slice(table).matchAll(/^(\d{10}) 00000 n $/gm)];
  return rows.map(([, offset], index) => {
    const at = Number(offset);
    const begin = `${index + 1} 0 obj\n`;
    if (!text.startsWith(begin, at)) throw new Error(`object ${index + 1} is not where the table says`);
    const body = at + begin.length;
    const stream = text.indexOf("\nstream\n", body);
    const end = text.indexOf("\nendobj\n", body);
    if (stream < 0 || stream > end) return { head: text.slice(body, end), data: undefined };
    const head = text.slice(body, stream);
    const start = stream + "\nstream\n".length;
    const length = Number(/\/Length (\d+)/.exec(head)?.[1]);
    if (!text.startsWith("\nendstream\nendobj\n", start + length))
      throw new Error("a stream has another length");
    return { head, data: inflateSync(file.subarray(start, start + length)) };
  });
}

function charactersOf(map: string): Map<number, string> {
  const rows = [...map.matchAll(/^<([0-9a-f]{4})> <([0-9a-f]+)>$/gm)];
  return new Map(rows.map(([, cid = "", text = ""]) => [Number.parseInt(cid, 16), utf16(text)]));
}

function textsOf(content: string, characters: ReadonlyMap<number, string>): string[] {
  return [...content.matchAll(/<([0-9a-f]*)> Tj/g)].map(([, hex = ""]) =>
    (hex.match(/.{4}/g) ?? []).map((cid) => characters.get(Number.parseInt(cid, 16)) ?? "").join(""),
  );
}

function utf16(hex: string): string {
  return (hex.match(/.{4}/g) ?? []).map((unit) => String.fromCharCode(Number.parseInt(unit, 16))).join("");
}
