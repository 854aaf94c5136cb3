import { describe, expect, test } from "vitest";
import { isForeign } from "./frame.tsx";

describe("an address is foreign when its origin is not ours", () => {
  const own = "https://gate.example/chat";
  test.each([
    ["https://chat.example/", true],
    ["http://gate.example/", true],
    ["https://gate.example:8443/", true],
    ["https://gate.example/app", false],
    ["/app", false],
    ["//gate.example/app", false],
    ["https://", false],
    ["javascript:alert(1)", true],
  ])("%s: %s", (address, answer) => expect(isForeign(address, own)).toBe(answer));
});
