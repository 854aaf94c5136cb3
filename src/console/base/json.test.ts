import { describe, expect, it } from "vitest";
import { jsonFault, readPairs, writePairs } from "./json.ts";

describe("jsonFault", () => {
  it.each(["", "  ", "{}", '{"a":"b"}', "[1]"])("finds nothing in %j", (text) => {
    expect(jsonFault(text)).toBeUndefined();
  });

  it("tells line and column of a mistake", () => {
    expect(jsonFault('{\n  "a": "b",\n  oops\n}')).toMatchObject({ line: 3, column: 3 });
  });

  it("points at the end of a text that stops too early", () => {
    expect(jsonFault('{\n"a": ')).toMatchObject({ line: 2 });
  });
});

describe("pairs", () => {
  it("reads and writes name tables in their order", () => {
    const pairs = [
      ["gpt-4", "gpt-4o"],
      ["a", "b"],
    ] as const;
    expect(readPairs(writePairs(pairs))).toEqual(pairs);
    expect(writePairs([])).toBe("");
    expect(readPairs("")).toEqual([]);
  });

  it.each(["[]", "1", "{", '{"a":1}', "null"])("refuses %s", (text) => {
    expect(readPairs(text)).toBeUndefined();
  });
});
