import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rounds } from "#test/worlds/soak.ts";
import { csvCell, csvText, unguarded } from "./csv.ts";

describe("cells of a CSV file", () => {
  test.each([
    ["=1+1", "'=1+1"],
    ["+1", "'+1"],
    ["-1", "'-1"],
    ["@SUM(A1)", "'@SUM(A1)"],
    [" =1+1", "' =1+1"],
    ["\t=1", "'\t=1"],
    ["\r=1", '"\'\r=1"'],
    ["＝cmd", "'＝cmd"],
    ["gpt-4o-mini", "gpt-4o-mini"],
    ['a "b", c', '"a ""b"", c"'],
    ['=HYPERLINK("http://x","y")', '"\'=HYPERLINK(""http://x"",""y"")"'],
    ["20261124000012345678", "'20261124000012345678"],
    ["202611240000", "'202611240000"],
    ["007", "'007"],
    ["12e5", "'12e5"],
    ["1/2", "'1/2"],
    ["1 2/3", "'1 2/3"],
    ["3-4", "'3-4"],
    ["2026-11", "'2026-11"],
    ["1:30", "'1:30"],
    ["MAR1", "'MAR1"],
    ["5 Jan", "'5 Jan"],
    ["true", "'true"],
    ["2026-11-24", "2026-11-24"],
    ["2026-11-24 16:00:05", "2026-11-24 16:00:05"],
    ["march-of-progress", "march-of-progress"],
    ["gpt-4.1-mini", "gpt-4.1-mini"],
    ["13800138000", "13800138000"],
    ["30.00", "30.00"],
    ["0.5", "0.5"],
    ["0", "0"],
    ["TG20261124000012345678", "TG20261124000012345678"],
    ["'quoted'", "'quoted'"],
    ["'=1", "''=1"],
    ["''007", "'''007"],
  ])("%j is written as %j", (value, cell) => expect(csvCell(value)).toBe(cell));

  test("numbers stay numbers, also negative ones", () => {
    expect(
      csvText([
        ["额度", "内容"],
        [-5, "-5"],
      ]),
    ).toBe("\ufeff额度,内容\r\n-5,'-5\r\n");
  });

  test("decimals keep their digits", () => {
    expect(csvText([[{ decimal: "-0.001400" }, { decimal: "12345678901.500000" }]])).toBe(
      "\ufeff-0.001400,12345678901.500000\r\n",
    );
  });

  test("the guard is taken off again, and nothing else is", () => {
    const part = fc.constantFrom("'", "=", "-", "＝", "0", "7", "e", " ", "\t", "a", ",", '"', "sk");
    const texts = fc.oneof(
      fc.array(part, { maxLength: 16 }).map((parts) => parts.join("")),
      fc.string(),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const cell = csvCell(text);
        const isQuoted = /[",\r\n]/.test(text);
        expect(unguarded(isQuoted ? cell.slice(1, -1).replaceAll('""', '"') : cell)).toBe(text);
      }),
      { numRuns: rounds(2_000, 100_000) },
    );
  });
});
