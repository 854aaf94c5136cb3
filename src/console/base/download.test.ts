import { describe, expect, test } from "vitest";
import { cleanFileName, csvCell, csvText } from "./download.ts";

describe("names of downloaded files", () => {
  test.each([
    ["十月活动", "十月活动"],
    ["../../x\r\n=cmd", "x_cmd"],
    ["..\\..\\windows", "windows"],
    [".htaccess", "htaccess"],
    ['a/b:c*d?e"f<g>h|i', "a_b_c_d_e_f_g_h_i"],
    ["gift\u202Etxt.exe", "gift_txt.exe"],
    ["   ", "codes"],
    ["///", "codes"],
    ["", "codes"],
  ])("%j becomes %j", (text, name) => expect(cleanFileName(text, "codes")).toBe(name));

  test("are not longer than file systems allow", () => {
    expect(cleanFileName("长".repeat(300), "codes").length).toBeLessThanOrEqual(60);
  });
});

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
  ])("%j is written as %j", (value, cell) => expect(csvCell(value)).toBe(cell));

  test("numbers stay numbers, also negative ones", () => {
    expect(
      csvText([
        ["额度", "内容"],
        [-5, "-5"],
      ]),
    ).toBe("\ufeff额度,内容\r\n-5,'-5\r\n");
  });
});
