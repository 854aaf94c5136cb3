import { expect, test, vi } from "vitest";
import { Gatherer, redactText } from "./log.ts";

test.each([
  "key sk-proj-abcdefghijklmnopqrst",
  "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.abc",
  "connect postgres://tollgate:hunter2secret@db:5432/x",
  "AIzaSyA1234567890abcdefghijklmnopqrstuvw",
])("cuts the secret out of %j", (text) => {
  const cut = redactText(text);
  expect(cut).toContain("[redacted]");
  expect(cut).not.toMatch(/abcdefgh|eyJ|hunter2|AIzaSy/);
});

test("leaves ordinary text alone", () => {
  const text = "GET https://api.example.com:8443/v1/models risk-free task-force 12:30";
  expect(redactText(text)).toBe(text);
});

test("lines are handed on together, in order and whole: when there are many, soon, or at once when asked", () => {
  vi.useFakeTimers();
  const written: string[] = [];
  let flushes = 0;
  const gatherer = new Gatherer({
    write: (text) => void written.push(text),
    flushSync: () => {
      flushes += 1;
    },
  });
  gatherer.write("a\n");
  gatherer.write("b\n");
  expect(written).toEqual([]);
  vi.advanceTimersByTime(100);
  expect(written).toEqual(["a\nb\n"]);
  vi.advanceTimersByTime(1_000);
  expect(written).toHaveLength(1);
  const long = "x".repeat(9_000);
  gatherer.write(long);
  gatherer.write(long);
  expect(written.slice(1)).toEqual([long + long]);
  gatherer.write("last");
  gatherer.flushSync();
  expect([written.at(-1), flushes]).toEqual(["last", 2]);
  vi.useRealTimers();
});
