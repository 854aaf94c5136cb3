import { expect, test } from "vitest";
import { isTooCommon } from "./password.ts";

test.each(["12345678", "password1", "PASSWORD", "aaaaaaaa", "abcabcabc", "87654321", "qwertyui", "19900101"])(
  "refuses %s",
  (password) => {
    expect(isTooCommon(password, [])).toBe(true);
  },
);

// From several places of the published list of the 3,000 most common of at least 8 characters.
test.each([
  "samantha",
  "liverpool",
  "Mustang1",
  "12qwaszx",
  "butterfly",
  "qazwsxedc",
  "godfather",
  "alphabet",
])("refuses %s, which is on the list", (password) => {
  expect(isTooCommon(password, [])).toBe(true);
});

test("refuses the name of the account with a short tail", () => {
  expect(isTooCommon("wangxiaoming1", ["wangxiaoming"])).toBe(true);
});

test.each(["correct horse battery", "x7#kfP2qLm", "gateway-of-the-river", "20260230-x"])(
  "accepts %s",
  (password) => {
    expect(isTooCommon(password, ["root", "Tollgate"])).toBe(false);
  },
);
