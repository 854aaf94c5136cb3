import { createHmac } from "node:crypto";
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  constantTimeEqual,
  createSecrets,
  hashPassword,
  newAffCode,
  newRequestId,
  newTokenKey,
  randomHex,
  randomPassword,
  SealError,
  verifyPassword,
} from "./secrets.ts";

const secrets = createSecrets(Buffer.from("a master key of thirty-two chars"));

describe("sealed values", () => {
  test("open again with the same context, and hold nothing of the text", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const sealed = secrets.seal(text, "channels.key");
        expect(secrets.open(sealed, "channels.key")).toBe(text);
        if (text.length > 8) expect(sealed).not.toContain(text);
      }),
    );
  });

  test("never look the same twice", () => {
    expect(secrets.seal("x", "c")).not.toBe(secrets.seal("x", "c"));
  });

  test("do not open in another column, nor with another master key", () => {
    const sealed = secrets.seal("sk-upstream", "channels.key");
    expect(() => secrets.open(sealed, "tokens.key")).toThrow(SealError);
    const other = createSecrets(Buffer.from("another master key of 32 chars.."));
    expect(() => other.open(sealed, "channels.key")).toThrow(SealError);
  });

  test("fail cleanly whatever happens to them", () => {
    const sealed = secrets.seal("sk-upstream", "channels.key");
    fc.assert(
      fc.property(fc.nat(sealed.length - 1), fc.integer({ min: 1, max: 255 }), (at, bits) => {
        const flipped =
          sealed.slice(0, at) + String.fromCharCode(sealed.charCodeAt(at) ^ bits) + sealed.slice(at + 1);
        let opened: string | undefined;
        try {
          opened = secrets.open(flipped, "channels.key");
        } catch (error) {
          expect(error).toBeInstanceOf(SealError);
        }
        // base64url ignores some spare bits at its end; the text is then the same one.
        if (opened !== undefined) expect(opened).toBe("sk-upstream");
      }),
      { numRuns: 2000 },
    );
    for (const text of ["", "v1:", "v2:abc", "plain", sealed.slice(0, 20)]) {
      expect(() => secrets.open(text, "channels.key")).toThrow(SealError);
    }
  });
});

test("the keyed hash depends on the whole text and on the master key", () => {
  const key = newTokenKey();
  expect(secrets.hash(key)).toBe(secrets.hash(key));
  expect(secrets.hash(`${key.slice(0, 47)}x`)).not.toBe(secrets.hash(`${key.slice(0, 47)}y`));
  const bare = createHmac("sha256", "").update(key).digest("base64url");
  expect(secrets.hash(key)).not.toBe(bare);
});

describe("token keys", () => {
  test("are 48 letters and digits whose last six are the checksum", () => {
    for (let index = 0; index < 500; index += 1) {
      const key = newTokenKey();
      expect(key).toMatch(/^[0-9A-Za-z]{48}$/);
      // As docs/operations.md tells scanners to read it.
      const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
      const sum = [...key.slice(42)].reduce((total, digit) => total * 62 + digits.indexOf(digit), 0);
      expect(sum).toBe(crc32(key.slice(0, 42)));
    }
  });
});

test("random texts have their form and do not repeat", () => {
  const made = Array.from({ length: 2000 }, () => [randomHex(32), randomPassword()]).flat();
  expect(new Set(made).size).toBe(made.length);
  expect(randomHex(32)).toMatch(/^[0-9a-f]{32}$/);
  expect(randomPassword()).toHaveLength(20);
  expect(newAffCode()).toMatch(/^[2-9A-HJ-NP-Z]{5}$/);
});

test("request ids are unique and start with the local time", () => {
  const nowMs = new Date(2026, 10, 20, 7, 8, 9, 45).getTime();
  const ids = Array.from({ length: 5000 }, () => newRequestId(nowMs));
  expect(new Set(ids).size).toBe(5000);
  for (const id of ids.slice(0, 5)) expect(id).toMatch(/^20261120070809045\d{14}$/);
});

describe("passwords", () => {
  test("verify against their own hash only, to the last character", async () => {
    const long = "p".repeat(99);
    const stored = await hashPassword(`${long}a`);
    expect(stored).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(await verifyPassword(`${long}a`, stored)).toBe(true);
    expect(await verifyPassword(`${long}b`, stored)).toBe(false);
  });

  test("of an account without one are never right", async () => {
    expect(await verifyPassword("", "")).toBe(false);
    expect(await verifyPassword("x", "not a hash")).toBe(false);
  });

  test("hash many at once without failing", async () => {
    const stored = await hashPassword("one");
    const answers = await Promise.all(Array.from({ length: 12 }, () => verifyPassword("one", stored)));
    expect(answers.every(Boolean)).toBe(true);
  });
});

test("comparison tells equal from different", () => {
  expect(constantTimeEqual("abc", "abc")).toBe(true);
  expect(constantTimeEqual("abc", "abd")).toBe(false);
  expect(constantTimeEqual("abc", "abcd")).toBe(false);
});
