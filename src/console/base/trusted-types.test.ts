import { expect, it } from "vitest";
import { plainTextOnly } from "./trusted-types.ts";

it("lets style sheets through and refuses anything with a tag", () => {
  expect(plainTextOnly(".a > .b{color:red}")).toBe(".a > .b{color:red}");
  expect(plainTextOnly("<img src=x onerror=alert(1)>")).toBeNull();
});
