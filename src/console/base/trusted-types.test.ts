import { expect, it } from "vitest";
import { knownScript, plainTextOnly, TURNSTILE_SCRIPT } from "./trusted-types.ts";

it("lets style sheets through and refuses anything with a tag", () => {
  expect(plainTextOnly(".a > .b{color:red}")).toBe(".a > .b{color:red}");
  expect(plainTextOnly("<img src=x onerror=alert(1)>")).toBeNull();
});

it("lets the human check's script in and no other", () => {
  expect(knownScript(TURNSTILE_SCRIPT)).toBe(TURNSTILE_SCRIPT);
  expect(knownScript("https://evil.example/turnstile/v0/api.js?render=explicit")).toBeNull();
});
