// Codes of authenticator apps against the vectors of RFC 6238 and of an independent program (requirements I27).
import { describe, expect, test } from "vitest";
import { base32, codeOf, fromBase32, matchStep, plainCode, provisioningUri, stepOf } from "./totp.ts";

const rfc = Buffer.from("12345678901234567890");

describe("codes", () => {
  test.each([
    [59, "94287082"],
    [1_111_111_109, "07081804"],
    [1_111_111_111, "14050471"],
    [1_234_567_890, "89005924"],
    [2_000_000_000, "69279037"],
    [20_000_000_000, "65353130"],
  ])("at %d seconds the RFC's secret has %s", (time, code) => {
    expect(codeOf(rfc, stepOf(time), 8)).toBe(code);
    expect(codeOf(rfc, stepOf(time))).toBe(code.slice(2));
  });

  test.each([
    [1_767_225_600, "260025"],
    [1_767_225_629, "260025"],
    [1_767_225_630, "307890"],
    [1_795_500_000, "882144"],
  ])("at %d seconds JBSWY3DPEHPK3PXP has %s", (time, code) => {
    expect(codeOf(fromBase32("JBSWY3DPEHPK3PXP"), stepOf(time))).toBe(code);
  });

  test("are accepted one step early and late, and no further", () => {
    const now = 1_767_225_600;
    const at = (steps: number) => matchStep(rfc, codeOf(rfc, stepOf(now) + steps), now);
    expect([-2, -1, 0, 1, 2].map(at)).toEqual([
      undefined,
      stepOf(now) - 1,
      stepOf(now),
      stepOf(now) + 1,
      undefined,
    ]);
  });

  test("are typed with blanks, and with six ASCII digits", () => {
    expect(plainCode(" 081 804 ")).toBe("081804");
    for (const typed of ["12345", "1234567", "１２３４５６", "12345a", "", "-12345", "1e5"])
      expect(plainCode(typed), typed).toBeUndefined();
  });
});

test("base32 comes back as it was, and is the RFC's", () => {
  expect(base32(rfc)).toBe("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
  for (const length of [0, 1, 2, 3, 4, 5, 19, 20]) {
    const bytes = Uint8Array.from({ length }, (_, index) => (index * 73 + length) & 255);
    expect([...fromBase32(base32(bytes))]).toEqual([...bytes]);
  }
});

test("a provisioning text names system and user, whatever they are called", () => {
  const uri = provisioningUri({ system: "网关: A&B", username: "li:hua?secret=x", secret: "ABC" });
  const url = new URL(uri);
  expect(url.searchParams.get("secret")).toBe("ABC");
  expect(url.searchParams.get("issuer")).toBe("网关  A&B");
  expect(decodeURIComponent(url.pathname)).toBe("/网关  A&B:li hua?secret=x");
});
