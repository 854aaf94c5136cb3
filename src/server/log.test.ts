import { expect, test } from "vitest";
import { redactText } from "./log.ts";

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
