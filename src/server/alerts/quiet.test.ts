import { expect, test } from "vitest";
import { quietUntil } from "./quiet.ts";

const at = (text: string) => Date.parse(text);
const NIGHT = { from: "22:30", to: "08:00" };

test.each([
  ["2026-11-25T22:29:59+08:00", ""],
  ["2026-11-25T22:30:00+08:00", "2026-11-26T08:00:00+08:00"],
  ["2026-11-25T23:59:30+08:00", "2026-11-26T08:00:00+08:00"],
  ["2026-11-26T07:59:59+08:00", "2026-11-26T08:00:00+08:00"],
  ["2026-11-26T08:00:00+08:00", ""],
  ["2026-11-26T12:00:00+08:00", ""],
])("at %s the night is quiet until %s", (now, until) => {
  expect(quietUntil(NIGHT, at(now), "Asia/Shanghai")).toBe(until === "" ? 0 : at(until));
});

test("hours within a day, in the operator's zone", () => {
  const noon = { from: "12:00", to: "14:00" };
  expect(quietUntil(noon, at("2026-07-01T13:15:20+02:00"), "Europe/Berlin")).toBe(
    at("2026-07-01T14:00:00+02:00"),
  );
  expect(quietUntil(noon, at("2026-07-01T13:15:20+08:00"), "Europe/Berlin")).toBe(0);
});

test("without hours, or with equal ones, nothing is held back", () => {
  for (const hours of [
    { from: "", to: "" },
    { from: "09:00", to: "09:00" },
  ])
    expect(quietUntil(hours, at("2026-11-25T09:00:00+08:00"), "Asia/Shanghai")).toBe(0);
});
