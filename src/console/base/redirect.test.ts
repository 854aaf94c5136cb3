import { describe, expect, it } from "vitest";
import { safePath } from "./redirect.ts";

const at = (pathname: string, search = "", hash = "") => ({ pathname, search, hash });

describe("safePath", () => {
  it("returns to pages of this site with their query", () => {
    expect(safePath(at("/log", "?type=2", "#x"))).toBe("/log?type=2#x");
  });

  it.each([
    ["two slashes", at("//evil.example")],
    ["a backslash", at("/\\evil.example")],
    ["an inner backslash", at("/a\\..\\..")],
    ["a scheme", at("https:evil.example")],
    ["a script", at("javascript:alert(1)")],
    ["blanks", at("/ /evil")],
    ["an empty path", at("")],
    ["the login page itself", at("/login", "?expired=true")],
    ["no location", "/token"],
    ["nothing", undefined],
    ["null", null],
    ["wrong fields", { pathname: 1, search: "", hash: "" }],
  ])("refuses %s", (_what, from) => {
    expect(safePath(from)).toBeUndefined();
  });
});
