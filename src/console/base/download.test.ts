import { describe, expect, test } from "vitest";
import { cleanFileName } from "./download.ts";

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
