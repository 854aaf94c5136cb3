import { describe, expect, it } from "vitest";
import { pageCount } from "./paging.ts";

describe("pageCount", () => {
  it.each([
    [{ page: 0, size: 20, received: 20, total: 41 }, 3],
    [{ page: 2, size: 20, received: 1, total: 41 }, 3],
    [{ page: 0, size: 20, received: 20, total: 20 }, 1],
    [{ page: 0, size: 20, received: 0, total: 0 }, 1],
  ])("goes by the total where the server gives one: %j", (facts, pages) => {
    expect(pageCount(facts)).toBe(pages);
  });

  it.each([
    [{ page: 0, size: 20, received: 20 }, 2],
    [{ page: 1, size: 20, received: 7 }, 2],
    [{ page: 3, size: 20, received: 0 }, 4],
    [{ page: 0, size: 20, received: 0 }, 1],
  ])("offers one more page while the last one is full: %j", (facts, pages) => {
    expect(pageCount(facts)).toBe(pages);
  });

  it("notices servers that ignore the size and give ten rows", () => {
    expect(pageCount({ page: 0, size: 50, received: 10 })).toBe(2);
    expect(pageCount({ page: 1, size: 50, received: 4 })).toBe(2);
  });
});
