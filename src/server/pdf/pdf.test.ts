// Documents on paper (requirements Y61): every character has its glyph in the file, drawn as the font draws it, and what the font lacks is
// a box. HarfBuzz reads both fonts; the file is read back by its own table.
import { readFileSync } from "node:fs";
import { Blob, Face, Font } from "harfbuzzjs";
import { expect, test } from "vitest";
import { readPdf } from "#test/worlds/pdf-reader.ts";
import { cidsOf } from "./cff.ts";
import type { PdfDocument } from "./document.ts";
import { pdfOf } from "./file.ts";
import { openFont, tablesOf } from "./font.ts";
import { makePdf } from "./pdf.ts";

const SOURCE = new URL("../fonts/NotoSansHans-Regular.otf", import.meta.resolve("@embedpdf/fonts-sc"));
const original = readFileSync(SOURCE);

function fontOf(file: Buffer): Font {
  return new Font(new Face(new Blob(file)));
}

/** The program of a PDF as a font file, with the measures of the font that it is a part of. */
function asFile(program: Buffer, glyphs: number): Buffer {
  const tables = tablesOf(original);
  const maxp = Buffer.from(tables.get("maxp") ?? "");
  maxp.writeUInt16BE(glyphs, 4);
  const hhea = Buffer.from(tables.get("hhea") ?? "");
  hhea.writeUInt16BE(1, 34);
  const head = tables.get("head") ?? Buffer.alloc(0);
  const parts: [string, Buffer][] = [
    ["CFF ", program],
    ["head", head],
    ["hhea", hhea],
    ["hmtx", Buffer.alloc(4 + (glyphs - 1) * 2)],
    ["maxp", maxp],
  ];
  const directory = Buffer.alloc(12 + parts.length * 16);
  directory.write("OTTO", 0, "latin1");
  directory.writeUInt16BE(parts.length, 4);
  let at = directory.length;
  for (const [index, [name, part]] of parts.entries()) {
    const row = 12 + index * 16;
    directory.write(name, row, "latin1");
    directory.writeUInt32BE(at, row + 8);
    directory.writeUInt32BE(part.length, row + 12);
    at += part.length;
  }
  return Buffer.concat([directory, ...parts.map(([, part]) => part)]);
}

function documentOf(text: string, rows: readonly (readonly string[])[] = []): PdfDocument {
  return {
    title: "月度账单 2026 年 10 月",
    subtitle: "Tollgate",
    facts: [["户名", text]],
    tables: [
      { title: "用量", columns: [{ title: "模型" }, { title: "次数", align: "right" }], rows, empty: "无" },
    ],
    footer: "ST-202610-7",
    language: "zh-CN",
    createdSec: 1_793_466_000,
  };
}

/** Letters, digits, signs, all of GB 2312's characters, and traditional ones. */
function manyCharacters(): string {
  const decoder = new TextDecoder("gb18030");
  let all = "ABCxyz0123456789¥$€£-–—,.()（），。：；“”‘’《》、%#·…éüñßЖяΩ龍龘鎔堃喆";
  for (let row = 0xb0; row <= 0xf7; row++)
    for (let cell = 0xa1; cell <= 0xfe; cell++)
      all += decoder.decode(Uint8Array.of(row, cell)).replaceAll(/[\ue000-\uf8ff\ufffd]/g, "");
  return all;
}

test("every character of a document is drawn as the font draws it, is as wide, and is copied as itself", () => {
  const text = manyCharacters();
  const file = readPdf(pdfOf(documentOf(text), openFont()));
  const own = fontOf(original);
  const glyphs = [...file.characters.keys()].sort((one, other) => one - other);
  const cids = cidsOf(file.program, glyphs.length);
  const embedded = fontOf(asFile(file.program, glyphs.length));
  const glyphOfCid = new Map([...cids].map((cid, glyph) => [cid, glyph]));
  const wanted = new Set([...text, ..."月度账单2026户名用量无ST-/"]);
  const wrong: string[] = [];
  let seen = 0;
  for (const [cid, character] of file.characters) {
    if (character === "\ufffd") continue;
    const before = own.nominalGlyph(character.codePointAt(0) ?? 0) ?? 0;
    const path = own.glyphToPath(before);
    const after = embedded.glyphToPath(glyphOfCid.get(cid) ?? 0);
    if (
      path !== after ||
      (path === "" && character.trim() !== "") ||
      own.glyphHAdvance(before) !== file.widths.get(cid)
    )
      wrong.push(character);
    wanted.delete(character);
    seen += 1;
  }
  expect(wrong).toEqual([]);
  expect([...wanted]).toEqual([]);
  expect(seen).toBeGreaterThan(6_763);
  expect(file.texts.join("").replaceAll(" ", "")).toContain(text.slice(200, 230));
});

test("a character outside the font is a box that one sees", () => {
  const file = readPdf(pdfOf(documentOf("甲𠀀乙😀丙"), openFont()));
  expect(file.texts).toContain("甲\ufffd乙\ufffd丙");
  const embedded = fontOf(asFile(file.program, file.characters.size));
  expect(embedded.glyphToPath(0)).toBe(fontOf(original).glyphToPath(0));
  expect(embedded.glyphToPath(0)).toMatch(/^M.*L.*Z/);
  expect(file.widths.get(0)).toBe(1_000);
});

test("the same document is the same bytes, made in a thread or not", async () => {
  const document = documentOf("李华", [["gpt-4o", "1,024"]]);
  const [one, other] = await Promise.all([makePdf(document), makePdf(document)]);
  expect(one.equals(other)).toBe(true);
  expect(one.equals(pdfOf(document, openFont()))).toBe(true);
});

test("rows go on over as many pages as they need, each with its head and number, and none is lost", () => {
  const rows = Array.from({ length: 400 }, (_, index) => [`model-${index}`, String(index)]);
  const file = readPdf(pdfOf(documentOf("李华", rows), openFont()));
  expect(file.pages).toBeGreaterThan(8);
  for (const [name = "", count = ""] of rows) {
    const at = file.texts.indexOf(name);
    expect(file.texts[at + 1]).toBe(count);
  }
  expect(file.texts.filter((text) => text === "模型")).toHaveLength(file.pages);
  expect(file.texts).toContain(`${file.pages} / ${file.pages}`);
  expect(file.title).toBe("月度账单 2026 年 10 月");
});

test("a number is never broken: texts beside it make room", () => {
  const numbers = ["$1,234.567890", "1,234,567,890", "12,345,678"];
  const columns = [
    { title: "令牌" },
    { title: "模型" },
    ...["金额", "额度（点）", "套餐额度（点）"].map((title) => ({ title, align: "right" }) as const),
  ];
  const rows = [["研发一组的令牌，名字比较长".repeat(3), "claude-sonnet-4-5-20250929-thinking", ...numbers]];
  const document = { ...documentOf("李华"), tables: [{ title: "用量", columns, rows, empty: "" }] };
  const { texts } = readPdf(pdfOf(document, openFont()));
  expect(texts).toEqual(expect.arrayContaining([...numbers, ...columns.slice(2).map(({ title }) => title)]));
});

test("what is too long for its column goes on below, and line breaks of names are spaces", () => {
  const long = "x".repeat(300);
  const file = readPdf(
    pdfOf(
      documentOf("甲\n乙", [
        [long, "1"],
        ["", "2"],
      ]),
      openFont(),
    ),
  );
  expect(file.texts).toContain("甲 乙");
  expect(file.texts.filter((text) => /^x+$/.test(text)).join("")).toBe(long);
  expect(file.texts).toContain("2");
});
