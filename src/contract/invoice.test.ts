// What an invoice needs to know of its buyer, and the check digit of tax numbers (GB 32100).
import { expect, test } from "vitest";
import { INVOICE_PROFILE } from "#test/seeds/invoice-recipes.ts";
import { hasRightCheckDigit, InvoiceProfile, InvoiceWish, profileFault } from "./invoice.ts";

test.each([
  ["91350100M000100Y43", true],
  ["91350100M000100Y44", false],
  ["91350100M000100Y4I", false],
  // Older numbers have none.
  ["350100000001004", true],
  ["", true],
])("the check digit of %s", (taxNumber, isRight) => {
  expect(hasRightCheckDigit(taxNumber)).toBe(isRight);
});

test("a company needs a number, a special invoice everything, a person has ordinary ones only", () => {
  const full = {
    ...INVOICE_PROFILE,
    kind: "special",
    address: "示例路 1 号",
    telephone: "010-1",
    bank_name: "示例银行",
    bank_account: "1",
  } as const;
  expect(profileFault(INVOICE_PROFILE)).toBeUndefined();
  expect(profileFault({ ...INVOICE_PROFILE, tax_number: "" })?.field).toBe("tax_number");
  expect(profileFault({ ...INVOICE_PROFILE, buyer: "person", tax_number: "" })).toBeUndefined();
  expect(profileFault(full)).toBeUndefined();
  for (const field of ["address", "telephone", "bank_name", "bank_account"] as const)
    expect(profileFault({ ...full, [field]: "" })?.field).toBe(field);
  expect(profileFault({ ...full, buyer: "person" })?.field).toBe("kind");
});

test.each([
  ["a line break in the title", { title: "甲\n乙" }],
  ["no title", { title: " " }],
  ["a number of 16 characters", { tax_number: "1".repeat(16) }],
  ["a number with other signs", { tax_number: "9135-0100M00010" }],
  ["no address", { mail: "nobody" }],
])("%s is refused", (_name, change) => {
  expect(InvoiceProfile.safeParse({ ...INVOICE_PROFILE, ...change }).success).toBe(false);
});

test.each(["0", "0.00", "-1", "1.001", "1e3", "１", ""])("the amount %j is refused", (amount) => {
  expect(InvoiceWish.safeParse({ currency: "CNY", amount, profile: INVOICE_PROFILE }).success).toBe(false);
});

test("letters of a number are written as capitals", () => {
  const read = InvoiceProfile.parse({ ...INVOICE_PROFILE, tax_number: "91350100m000100y43" });
  expect(read.tax_number).toBe("91350100M000100Y43");
});
