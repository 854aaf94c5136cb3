import { expect, it } from "vitest";
import { isOtherVersion } from "./status.ts";

it.each([
  ["v0.2.0", "0.1.0", true],
  ["0.1.0", "0.1.0", false],
  ["v0.1.0", "0.1.0", false],
  ["v0.0.0", "0.1.0", false],
  ["", "0.1.0", false],
])("takes server %s beside console %s as another version: %s", (server, own, isOther) => {
  expect(isOtherVersion(server, own)).toBe(isOther);
});
