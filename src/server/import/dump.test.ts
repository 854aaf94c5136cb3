// MySQL dumps: every way in which a value can be written, and files that are not what they seem.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { temporaryDir } from "#test/worlds/process.ts";
import { readTuples } from "./dump-values.ts";
import { openSource } from "./open.ts";
import type { SourceRow } from "./row.ts";

const dir = temporaryDir();
afterAll(dir.remove);
let serial = 0;

async function read(text: string, table: string): Promise<SourceRow[]> {
  const file = join(dir.path, `${serial++}.sql`);
  writeFileSync(file, text);
  const source = await openSource(file);
  try {
    const rows: SourceRow[] = [];
    for await (const row of source.rows(table)) rows.push(row);
    return rows;
  } finally {
    await source.close();
  }
}

const CREATE =
  "CREATE TABLE `t` (\n  `id` bigint(20) NOT NULL,\n  `a` longtext,\n  PRIMARY KEY (`id`)\n) ENGINE=InnoDB;\n";

describe("values", () => {
  test.each([
    ["NULL", null],
    ["null", null],
    ["0", 0],
    ["-17", -17],
    ["1.5", "1.5"],
    ["-2.5e-7", "-2.5e-7"],
    ["9007199254740993", "9007199254740993"],
    ["TRUE", true],
    ["''", ""],
    ["'it''s'", "it's"],
    ["'a\\'b\\\"c\\\\d'", "a'b\"c\\d"],
    ["'\\n\\r\\t\\0\\b\\Z'", "\n\r\t\u0000\b\u001a"],
    ["'100\\%'", "100%"],
    ["'); DROP TABLE t; -- '", "); DROP TABLE t; -- "],
    ["\"double 'quoted'\"", "double 'quoted'"],
    ["_utf8mb4'渠道'", "渠道"],
    ["_binary 'x'", "x"],
    ["0x616263", "abc"],
    ["x'616263'", "abc"],
    ["'line\nbreak'", "line\nbreak"],
    ["'😀'", "😀"],
  ])("%s", (written, value) => {
    expect([...readTuples(`(${written})`, 0)]).toEqual([[value]]);
    expect([...readTuples(`( ${written} , 1 ),\n(2,${written})`, 0)]).toEqual([
      [value, 1],
      [2, value],
    ]);
  });

  test("any text comes back as it was", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" }), { minLength: 1 }), (texts) => {
        const written = texts.map((text) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`);
        expect([...readTuples(`(${written.join(",")})`, 0)]).toEqual([texts]);
      }),
    );
  });

  test.each(["(1", "(1,)", "('a)", "1,2", "(nonsense)"])("%s is refused", (written) => {
    expect(() => [...readTuples(written, 0)]).toThrow(/dump cannot be read/);
  });
});

describe("files", () => {
  test("columns come from CREATE TABLE, rows from all their INSERTs, whatever stands between", async () => {
    const text = `-- it's a comment; with a quote\n/*!40101 SET NAMES utf8mb4; */;\n# another 'one\n${CREATE}
      INSERT INTO \`t\` VALUES (1,'a;b'),(2,NULL);\nINSERT INTO \`other\` VALUES (9,'no');
      /* ; ' */ INSERT INTO \`t\` VALUES (3,'-- no comment');\nREPLACE INTO db.t (a, id) VALUES ('named', 4);`;
    expect(await read(text, "t")).toEqual([
      { id: 1, a: "a;b" },
      { id: 2, a: null },
      { id: 3, a: "-- no comment" },
      { a: "named", id: 4 },
    ]);
  });

  test("statements longer than what is read at once", async () => {
    const long = "长".repeat(700_000);
    const text = `${CREATE}INSERT INTO \`t\` VALUES (1,'${long}'),(2,'x');`;
    expect(await read(text, "t")).toEqual([
      { id: 1, a: long },
      { id: 2, a: "x" },
    ]);
  });

  test("a row with a value too few is named", async () => {
    await expect(read(`${CREATE}INSERT INTO \`t\` VALUES (1);`, "t")).rejects.toThrow(
      "2 columns has 1 values",
    );
  });

  test("a dump that was cut off is refused, wherever: its users would lose what they have", async () => {
    const body = `${CREATE}INSERT INTO \`t\` VALUES (1,'a;b');\nINSERT INTO \`t\` VALUES (2,'-- c');\n`;
    const whole = `-- MySQL dump 10.13\n--\n${body}/* end */\n-- Dump completed on 2024-05-01\n`;
    expect(await read(whole, "t")).toHaveLength(2);
    // Told to write no comments.
    expect(await read(body, "t")).toHaveLength(2);
    const first = whole.indexOf(";") + 1;
    for (let cut = first; cut < whole.indexOf("-- Dump completed"); cut += 1)
      await expect(read(whole.slice(0, cut), "t"), `cut at ${cut}`).rejects.toThrow("is cut off");
    const inside = body.indexOf("(2");
    await expect(read(body.slice(0, inside), "t")).rejects.toThrow("is cut off");
    await expect(read(body.slice(0, inside + 5), "t")).rejects.toThrow("is cut off");
  });

  test.each([
    ["PGDMP\u0001\u0010", "a dump of PostgreSQL"],
    [
      "--\n-- PostgreSQL database dump\n--\n\nCREATE TABLE public.users (\n  id bigint\n);\n",
      "a dump of PostgreSQL",
    ],
    [
      "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE users (id integer);\nCOMMIT;\n",
      "a dump of SQLite",
    ],
    ["BEGIN TRANSACTION;\nCREATE TABLE users (id integer);\nCOMMIT;\n", "a dump of SQLite"],
    ["\u00ff\u00fe-\u0000-\u0000", "UTF-16"],
  ])("%j is reported as what it is", async (text, told) => {
    const file = join(dir.path, "other.sql");
    writeFileSync(file, text, "latin1");
    await expect(openSource(file)).rejects.toThrow(told);
  });

  test("what is no database is refused with a reason", async () => {
    await expect(read("hello", "t")).rejects.toThrow("neither a SQLite database nor a dump");
    await expect(openSource(join(dir.path, "missing"))).rejects.toThrow("cannot read");
    await expect(openSource("root:pw@tcp(127.0.0.1:3306)/oneapi")).rejects.toThrow("mysqldump");
    const packed = join(dir.path, "x.sql.gz");
    writeFileSync(packed, Buffer.from([0x1f, 0x8b, 8, 0]));
    await expect(openSource(packed)).rejects.toThrow("gunzip");
    await expect(openSource("postgres://nobody:pw@127.0.0.1:1/none")).rejects.toThrow(
      "cannot read the PostgreSQL",
    );
  });
});
