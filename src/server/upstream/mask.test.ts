import { expect, test } from "vitest";
import { maskSecrets } from "./mask.ts";

const secrets = [Buffer.from("sk-secret-1"), Buffer.from("part-two")];

test("masks every occurrence and keeps the length", () => {
  const bytes = Buffer.from('{"a":"sk-secret-1 part-two sk-secret-1"}');
  const masked = maskSecrets(bytes, secrets);
  expect(masked.toString()).toBe('{"a":"*********** ******** ***********"}');
  expect(bytes.toString()).toContain("sk-secret-1");
});

test("hands on the same bytes when there is nothing to mask", () => {
  const bytes = Buffer.from("sk-secret- 1 part-tw");
  expect(maskSecrets(bytes, secrets)).toBe(bytes);
  expect(maskSecrets(bytes, [])).toBe(bytes);
});
