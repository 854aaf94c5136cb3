// The odd codecs of the wire, and the helper that knows JSON (requirements B5, W1.5).
import { expect, test } from "vitest";
import { z } from "zod";
import { cpuMsOf } from "#test/worlds/cpu-time.ts";
import { optionTable } from "./option.ts";
import { Csv, isJson, isMapping, ListQuery, withoutEndSlashes } from "./wire.ts";

test("a helper knows whether a text is JSON (requirements B5)", () => {
  expect(["{}", "[]", "1", '"x"', "null", ' {"a": 1} '].map(isJson)).not.toContain(false);
  expect(["", "{", "{a:1}", "'x'", "undefined", "{}{}", "NaN"].map(isJson)).not.toContain(true);
});

test("a model mapping is an object of texts, or nothing", () => {
  expect(["", " ", "{}", '{"gpt-4":"gpt-4o"}'].map(isMapping)).not.toContain(false);
  expect(["[]", "1", "null", '{"a":1}', '{"a":""}', '{"a":{}}', "{"].map(isMapping)).not.toContain(true);
});

test("comma lists lose blanks, empties and repeats, and go back as text", () => {
  expect(z.decode(Csv, " a, b ,,a,")).toEqual(["a", "b"]);
  expect(z.decode(Csv, "")).toEqual([]);
  expect(z.encode(Csv, ["a", "b"])).toBe("a,b");
});

test.each([
  [{}, 0, 10],
  [{ p: "-1", size: "0" }, 0, 10],
  [{ p: "abc", size: "x" }, 0, 10],
  [{ p: "3", size: "101" }, 3, 100],
  [{ p: "1.5", size: "2.5" }, 0, 10],
  [{ p: "99999999999" }, 1_000_000, 10],
])("the page of %j is %i, of size %i", (query, page, size) => {
  expect(z.decode(ListQuery, query)).toMatchObject({ p: page, size });
});

test("an address loses the slashes at its end, and very many of them cost nothing (requirements D07)", () => {
  expect(["https://a.example/v1//", "//", "https://a.example", ""].map(withoutEndSlashes)).toEqual([
    "https://a.example/v1",
    "",
    "https://a.example",
    "",
  ]);
  const longAddress = `https:${"/".repeat(40_000)}x`;
  const costMs = cpuMsOf(() => {
    expect(withoutEndSlashes(longAddress)).toBe(longAddress);
    expect(optionTable.MessagePusherAddress.schema.safeDecode(longAddress).success).toBe(false);
  });
  // Work in the square of the length would take seconds.
  expect(costMs).toBeLessThan(1_000);
});
