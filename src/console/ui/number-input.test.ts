import { expect, it } from "vitest";
import { plainDigits } from "./number-input.tsx";

it.each([
  ["100", "100"],
  ["１２３", "123"],
  ["－１．５", "-1.5"],
  ["1。5", "1.5"],
  ["$ 123,456", "123456"],
  ["１，０００", "1000"],
  ["", ""],
  ["-", "-"],
])("reads %j as %j", (typed, plain) => {
  expect(plainDigits(typed)).toBe(plain);
});
