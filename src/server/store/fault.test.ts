import { expect, test } from "vitest";
import { faultKind, isTaken, StoreError, sqliteKind } from "./fault.ts";

const coded = (code: unknown) => Object.assign(new Error("x"), { code });

test.each([
  [5, "busy"],
  [261, "busy"],
  [13, "full"],
  [1_032, "full"],
  [10, "broken"],
  [1_034, "broken"],
  [11, "broken"],
  [2_067, "constraint"],
  [1, "other"],
  [0, "other"],
])("SQLite's result %d is %s", (code, kind) => {
  expect(sqliteKind(code)).toBe(kind);
});

test.each([
  ["57014", "timeout"],
  ["40001", "busy"],
  ["40P01", "busy"],
  ["55P03", "busy"],
  ["53100", "full"],
  ["53300", "full"],
  ["25006", "full"],
  ["23505", "constraint"],
  ["23503", "constraint"],
  ["08006", "lost"],
  ["57P01", "lost"],
  ["25P03", "lost"],
  ["ECONNRESET", "lost"],
  ["ECONNREFUSED", "lost"],
  ["EPIPE", "lost"],
  ["42P01", "other"],
  [7, "other"],
])("PostgreSQL's or a socket's code %s is %s", (code, kind) => {
  expect(faultKind(coded(code))).toBe(kind);
});

test.each([
  ["Connection terminated unexpectedly", "lost"],
  ["Client has encountered a connection error and is not queryable", "lost"],
  ["Query read timeout", "lost"],
  ["timeout exceeded when trying to connect", "busy"],
  ["Cannot read properties of undefined", "other"],
])("%s without a code is %s", (message, kind) => {
  expect(faultKind(new Error(message))).toBe(kind);
});

test("our own errors say it themselves, and what is no error is other", () => {
  expect([faultKind(new StoreError("full", "x")), faultKind("text"), faultKind(undefined)]).toEqual([
    "full",
    "other",
    "other",
  ]);
});

test("a taken name is one of a unique index", () => {
  expect(isTaken(coded("23505"))).toBe(true);
  expect(isTaken(new StoreError("constraint", "UNIQUE constraint failed: users.username"))).toBe(true);
  expect(isTaken(new StoreError("constraint", "FOREIGN KEY constraint failed"))).toBe(false);
  expect(isTaken(coded("23503"))).toBe(false);
  expect(isTaken("UNIQUE constraint failed")).toBe(false);
});
