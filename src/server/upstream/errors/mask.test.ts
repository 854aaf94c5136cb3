import { describe, expect, it, test } from "vitest";
import { cpuMsOf } from "#test/worlds/cpu-time.ts";
import { canaryOf, maskSecrets } from "./mask.ts";

const secrets = ["sk-secret-1", "part-two"].map(canaryOf);

test("masks every occurrence and keeps the length", () => {
  const bytes = Buffer.from('{"a":"sk-secret-1 part-two sk-secret-1"}');
  const masked = maskSecrets(bytes, secrets);
  expect(masked.toString()).toBe('{"a":"*********** ******** ***********"}');
  expect(bytes.toString()).toContain("sk-secret-1");
});

test("returns the same bytes when there is nothing to mask", () => {
  for (const text of ["sk-secret- 1 part-tw", '{"a":"\\n\\"\\u003c\\u0073k-secret"}', "\\".repeat(1_000)]) {
    const bytes = Buffer.from(text);
    expect(maskSecrets(bytes, secrets)).toBe(bytes);
    expect(maskSecrets(bytes, [])).toBe(bytes);
  }
});

describe("a key in JSON's escapes", () => {
  const KEYS = [
    "sk-canary-0123456789",
    "aws/secret+key/0123456789=",
    'a"quoted\\key\\\\0123',
    '{"private_key":"-----BEGIN\\nMIIE/abc+\\n-----END"}',
    "-----BEGIN\nMIIE/abc+\n-----END",
  ];
  const hex = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  const WRITERS: readonly [string, (key: string) => string][] = [
    ["as JSON.stringify writes it", (key) => JSON.stringify(key)],
    ["with slashes escaped", (key) => JSON.stringify(key).replaceAll("/", "\\/")],
    ["as code units", (key) => `"${key.split("").map(hex).join("")}"`],
    [
      "as code units in capitals",
      (key) => `"${key.split("").map(hex).join("").toUpperCase().replaceAll("U", "u")}"`,
    ],
    [
      "with one code unit in the middle",
      (key) => JSON.stringify(key).replace("0", "\\u0030").replace("M", "\\u004d"),
    ],
    ["in a text within a text", (key) => JSON.stringify(JSON.stringify({ key }).replaceAll("/", "\\/"))],
    ["three texts deep", (key) => JSON.stringify(JSON.stringify(`"${key.split("").map(hex).join("")}"`))],
  ];

  it.each(WRITERS)("is masked %s", (_, write) => {
    for (const key of KEYS) {
      const text = `{"text":"\\u003cline\\n",${JSON.stringify("a")}:${write(key)},"é":"\\/"}`;
      const masked = maskSecrets(Buffer.from(text), [canaryOf(key)]).toString();
      expect(JSON.parse(masked)).toMatchObject({ text: "<line\n", é: "/" });
      // However often the text is unescaped, the key does not appear.
      let inner: unknown = JSON.parse(masked).a;
      for (let depth = 0; depth < 4; depth += 1) {
        expect(JSON.stringify(inner)).not.toContain(key.slice(2, 12));
        expect(String(inner)).toContain("****");
        try {
          inner = JSON.parse(String(inner));
        } catch {
          break;
        }
        if (typeof inner === "object") inner = Object.values(inner ?? {})[0];
      }
      expect(masked).toHaveLength(text.length);
    }
  });

  it("costs little to search for among backslashes", () => {
    const [key = ""] = KEYS;
    for (const noise of ["\\".repeat(400_000), "\\u005c".repeat(80_000), "\\u0073k-".repeat(60_000)]) {
      const text = `\\u00${noise}${key.replace("0", "\\u0030")}`;
      const costMs = cpuMsOf(() => {
        expect(maskSecrets(Buffer.from(text), KEYS.map(canaryOf)).toString()).not.toContain("canary");
      });
      expect(costMs).toBeLessThan(3_000);
    }
  });
});
