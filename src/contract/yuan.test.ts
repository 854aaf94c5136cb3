import { expect, test } from "vitest";
import { microOf, yuanText } from "./yuan.ts";

test("yuan are exact decimal texts", () => {
  for (const [text, micro] of [
    ["0", 0n],
    ["25", 25_000_000n],
    ["0.005", 5_000n],
    ["0.000001", 1n],
    ["99.99", 99_990_000n],
    ["999999999.999999", 999_999_999_999_999n],
  ] as const) {
    expect(microOf(text)).toBe(micro);
    expect(yuanText(micro)).toBe(text);
  }
  expect(microOf("100.00")).toBe(100_000_000n);
  expect(yuanText(-1_500_000n)).toBe("-1.5");
  for (const text of ["", "-1", "1e3", "0.0000001", ".5", "1.", "1,5", "NaN", "1234567890", "１"])
    expect(microOf(text), text).toBeUndefined();
});
