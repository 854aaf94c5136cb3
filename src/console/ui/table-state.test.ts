import { describe, expect, it } from "vitest";
import { looksLikeKey, readListInput, withParams } from "./table-state.ts";

describe("table state", () => {
  it("reads page, order and keyword from the URL and forgives garbage", () => {
    expect(readListInput(new URLSearchParams("page=3&order=name&desc=true&keyword= x "), 20)).toEqual({
      p: 2,
      size: 20,
      order: "name",
      desc: true,
      keyword: "x",
    });
    expect(readListInput(new URLSearchParams("page=-1&desc=1"), 20)).toMatchObject({ p: 0, desc: false });
  });

  it("removes names whose value is empty", () => {
    expect(withParams(new URLSearchParams("page=2&type=1"), { page: "", type: "3" }).toString()).toBe(
      "type=3",
    );
  });

  it("keeps anything like a key out of the address bar", () => {
    expect(looksLikeKey("sk-abc")).toBe(true);
    expect(looksLikeKey("appid1234567890|secret1234567890")).toBe(true);
    expect(looksLikeKey("生产环境")).toBe(false);
    expect(looksLikeKey("OpenAI main account")).toBe(false);
  });
});
