import { expect, it } from "vitest";
import { acceptNumber } from "./number-input.tsx";

interface Typing {
  readonly typed: number | null;
  readonly present: number;
  readonly min?: number;
}

it.each<[string, Typing, number | undefined]>([
  ["empty input", { typed: null, present: 5, min: 0 }, undefined],
  ["the present value", { typed: 5, present: 5, min: 0 }, undefined],
  ["a new value", { typed: 7, present: 5 }, 7],
  ["a weight below 0", { typed: -3, present: 5, min: 0 }, 0],
  ["a priority below 0", { typed: -3, present: 5 }, -3],
  ["a fraction", { typed: 2.9, present: 5, min: 0 }, 2],
])("reads %s by the rules of the spec", (_what, { typed, present, min }, accepted) => {
  expect(acceptNumber(typed, present, min)).toBe(accepted);
});
