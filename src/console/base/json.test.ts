import { describe, expect, it } from "vitest";
import { jsonFault, readPairs, writePairs } from "./json.ts";

describe("jsonFault", () => {
  it.each(["", "  ", "{}", '{"a":"b"}', "[1]"])("finds nothing in %j", (text) => {
    expect(jsonFault(text)).toBeUndefined();
  });

  it("tells line and column of a mistake", () => {
    expect(jsonFault('{\n  "a": "b",\n  oops\n}')).toMatchObject({ line: 3, column: 3 });
  });

  it.each([
    ['{"default": 1,\n "vip": }', 2, 9],
    ["[1, 2,]", 1, 7],
    ['{"a": 1,}', 1, 9],
    ['{"a" 1}', 1, 6],
    ["{'a': 1}", 1, 2],
    ['{"a": 01}', 1, 8],
    ['{"a": "x\ny"}', 1, 7],
    ["{} {}", 1, 4],
    ["nul", 1, 1],
  ])("tells the place in %j whatever the browser says", (text, line, column) => {
    expect(jsonFault(text)).toMatchObject({ line, column });
  });

  it("agrees with the parser on what is JSON", () => {
    for (const text of ['{"a":[1,-2.5e3,true,false,null,"\\u00e9\\n",{}],"b":{"c":[]}}', " 0 ", '"x"'])
      expect(jsonFault(text)).toBeUndefined();
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
