// The font of our documents: which glyph a character has and how wide it is, and a subset with those glyphs alone, made by HarfBuzz
// (decision 043). Runs in the thread of documents. Reads OpenType with CFF outlines and nothing else.
import { readFileSync } from "node:fs";
import { cidsOf } from "./cff.ts";

const FONT = new URL("../fonts/NotoSansHans-Regular.otf", import.meta.resolve("@embedpdf/fonts-sc"));
const SUBSETTER = new URL("harfbuzz-subset.wasm", import.meta.resolve("harfbuzzjs"));

/** The glyph of characters that the font lacks: a box with a cross. */
export const BOX = 0;

/** HB_MEMORY_MODE_WRITABLE of hb_blob_create: the memory stays where it is. */
const WRITABLE = 2;
/** HB_SUBSET_FLAGS_NO_LAYOUT_CLOSURE: no glyphs that a text set vertically or in other styles might want. */
const NO_LAYOUT_CLOSURE = 0x200;

/** What every JavaScript of our runtime has; its types come with browsers' only. */
interface Wasm {
  readonly Module: new (program: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown };
}
const { Module, Instance } = Reflect.get(globalThis, "WebAssembly") as Wasm;

/** What we call of HarfBuzz; all arguments and results are addresses or counts. */
interface HarfBuzz {
  readonly memory: { readonly buffer: ArrayBuffer };
  _initialize(): void;
  malloc(bytes: number): number;
  hb_blob_create(at: number, length: number, mode: number, data: number, destroy: number): number;
  hb_blob_get_data(blob: number, length: number): number;
  hb_blob_get_length(blob: number): number;
  hb_face_create(blob: number, index: number): number;
  hb_face_reference_blob(face: number): number;
  hb_set_add(set: number, value: number): void;
  hb_subset_input_create_or_fail(): number;
  hb_subset_input_glyph_set(input: number): number;
  hb_subset_input_set_flags(input: number, flags: number): void;
  hb_subset_or_fail(face: number, input: number): number;
}

export interface Font {
  readonly name: string;
  /** Per em, and so are all measures below. */
  readonly unitsPerEm: number;
  readonly ascent: number;
  readonly descent: number;
  readonly box: readonly [number, number, number, number];
  /** The glyph of a character; `BOX` when there is none. */
  glyphOf(codePoint: number): number;
  widthOf(glyph: number): number;
  /** What a PDF calls a glyph by. */
  cidOf(glyph: number): number;
  /** A CFF program with these glyphs and `BOX`; they keep their CIDs. */
  subset(glyphs: Iterable<number>): Buffer;
}

/** Reads the font of the house. */
export function openFont(): Font {
  const file = readFileSync(FONT);
  const tables = tablesOf(file);
  const [head, hhea] = [tables.get("head"), tables.get("hhea")];
  const [cmap, hmtx] = [tables.get("cmap"), tables.get("hmtx")];
  const [maxp, outlines] = [tables.get("maxp"), tables.get("CFF ")];
  if (!head || !hhea || !cmap || !hmtx || !maxp || !outlines)
    throw new Error("the font of documents is damaged");
  const glyphs = glyphsOf(cmap);
  const cids = cidsOf(outlines, maxp.readUInt16BE(4));
  const measured = hhea.readUInt16BE(34);
  return {
    name: "NotoSansHans-Regular",
    unitsPerEm: head.readUInt16BE(18),
    ascent: hhea.readInt16BE(4),
    descent: hhea.readInt16BE(6),
    box: [head.readInt16BE(36), head.readInt16BE(38), head.readInt16BE(40), head.readInt16BE(42)],
    glyphOf: (codePoint) => glyphs.get(codePoint) ?? BOX,
    // The glyphs after the last measured one are as wide as it.
    widthOf: (glyph) => hmtx.readUInt16BE(Math.min(glyph, measured - 1) * 4),
    cidOf: (glyph) => cids[glyph] ?? BOX,
    subset: (used) => subsetOf(file, used),
  };
}

/** The tables of an OpenType file by name. */
export function tablesOf(file: Buffer): Map<string, Buffer> {
  const tables = new Map<string, Buffer>();
  for (let index = 0; index < file.readUInt16BE(4); index++) {
    const at = 12 + index * 16;
    const start = file.readUInt32BE(at + 8);
    tables.set(file.toString("latin1", at, at + 4), file.subarray(start, start + file.readUInt32BE(at + 12)));
  }
  return tables;
}

/** Glyphs by character, from the subtable of format 12, which has all planes. */
function glyphsOf(cmap: Buffer): ReadonlyMap<number, number> {
  const glyphs = new Map<number, number>();
  for (let index = 0; index < cmap.readUInt16BE(2); index++) {
    const at = cmap.readUInt32BE(4 + index * 8 + 4);
    if (cmap.readUInt16BE(at) !== 12) continue;
    for (let group = 0; group < cmap.readUInt32BE(at + 12); group++) {
      const row = at + 16 + group * 12;
      const [first, last] = [cmap.readUInt32BE(row), cmap.readUInt32BE(row + 4)];
      const glyph = cmap.readUInt32BE(row + 8);
      for (let code = first; code <= last; code++) glyphs.set(code, glyph + code - first);
    }
  }
  return glyphs;
}

function subsetOf(file: Buffer, glyphs: Iterable<number>): Buffer {
  const { exports } = new Instance(new Module(readFileSync(SUBSETTER)), {});
  // The program of the pinned package exports these.
  const harfBuzz = exports as HarfBuzz;
  harfBuzz._initialize();
  const at = harfBuzz.malloc(file.length);
  new Uint8Array(harfBuzz.memory.buffer).set(file, at);
  const face = harfBuzz.hb_face_create(harfBuzz.hb_blob_create(at, file.length, WRITABLE, 0, 0), 0);
  const input = harfBuzz.hb_subset_input_create_or_fail();
  harfBuzz.hb_subset_input_set_flags(input, NO_LAYOUT_CLOSURE);
  const set = harfBuzz.hb_subset_input_glyph_set(input);
  for (const glyph of [BOX, ...glyphs]) harfBuzz.hb_set_add(set, glyph);
  const made = harfBuzz.hb_subset_or_fail(face, input);
  if (made === 0) throw new Error("no subset of the font could be made");
  const blob = harfBuzz.hb_face_reference_blob(made);
  const start = harfBuzz.hb_blob_get_data(blob, 0);
  const copy = Buffer.from(harfBuzz.memory.buffer.slice(start, start + harfBuzz.hb_blob_get_length(blob)));
  const program = tablesOf(copy).get("CFF ");
  if (!program) throw new Error("the subset of the font has no outlines");
  return program;
}
