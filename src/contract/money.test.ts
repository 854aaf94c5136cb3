// Money from its text: exactly, or not at all (requirements Y01).
import { expect, test } from "vitest";
import { minorOf, minorText, moneyText } from "./money.ts";

test.each([
  ["0", 0],
  ["0.0", 0],
  ["0.01", 1],
  ["0.1", 10],
  ["1", 100],
  ["30", 3_000],
  ["30.0", 3_000],
  ["30.00", 3_000],
  ["30.05", 3_005],
  ["30.50", 3_050],
  ["999999999.99", 99_999_999_999],
])("%s is %i fen", (text, minor) => {
  expect(minorOf(text)).toBe(minor);
});

test.each([
  "",
  " ",
  "3e1",
  "3E1",
  " 30",
  "30 ",
  "30\n",
  "+30",
  "-1",
  "-0",
  "30.001",
  "30.000",
  "030",
  "00",
  "00.10",
  ".5",
  "30.",
  "30..0",
  "1,000",
  "1_000",
  "0x1e",
  "１０",
  "٣",
  "三十",
  "NaN",
  "Infinity",
  "null",
  "¥30",
  "30元",
  "30.0.0",
  "1000000000",
  "30\u0000",
  "30\u200b",
])("%j is refused", (text) => {
  expect(minorOf(text)).toBeUndefined();
});

test("100,000 amounts come back from their text as they were", () => {
  // A walk with a prime step reaches amounts of every length, the same ones in each run.
  for (let turn = 0, minor = 0; turn < 100_000; turn += 1) {
    minor = (minor + 61_803_398_867) % 100_000_000_000;
    const text = minorText(minor);
    if (minorOf(text) !== minor || !/^\d+\.\d\d$/.test(text)) throw new Error(`${minor} became ${text}`);
  }
});

test("what was taken back is written with its sign", () => {
  expect([minorText(-5), minorText(-3_000)]).toEqual(["-0.05", "-30.00"]);
  expect([moneyText(3_000, "CNY"), moneyText(1, "SGD")]).toEqual(["¥30.00", "SGD 0.01"]);
});
