import { describe, expect, it } from "vitest";
import {
  lookIn,
  looksLikeKey,
  readListInput,
  type TableState,
  viewAddress,
  withParams,
} from "./table-state.ts";

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

  it("tells page size and columns in the address of a view, and reads them from it", () => {
    const free = ["status", "quota", "time"];
    // Of the state only what the address says.
    const state = { input: { size: 50 }, hidden: ["quota"] } as unknown as TableState;
    const address = new URL(
      viewAddress("https://a.cn/user?page=3&role=10&order=quota&desc=true", state, free),
    );
    expect(Object.fromEntries(address.searchParams)).toEqual({
      role: "10",
      order: "quota",
      desc: "true",
      size: "50",
      columns: "status,time",
    });
    expect(lookIn(address.searchParams, free)).toEqual({ size: 50, hidden: ["quota"] });
    const bare = viewAddress("https://a.cn/user", { ...state, hidden: free }, free);
    expect(lookIn(new URL(bare).searchParams, free)).toEqual({ size: 50, hidden: free });
    expect(lookIn(new URLSearchParams("size=33&columns=nonsense"), free)).toEqual({ hidden: free });
    expect(lookIn(new URLSearchParams(), free)).toEqual({});
  });

  it("keeps anything like a key out of the address bar", () => {
    expect(looksLikeKey("sk-abc")).toBe(true);
    expect(looksLikeKey("appid1234567890|secret1234567890")).toBe(true);
    expect(looksLikeKey("生产环境")).toBe(false);
    expect(looksLikeKey("OpenAI main account")).toBe(false);
  });
});
