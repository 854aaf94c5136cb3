import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DisplayName, isOneLine, isSeen, Username, withoutUnseen } from "./name.ts";

const isName = (text: string) => Username.safeParse(text).success;
const faultOf = (text: string) => Username.safeParse(text).error?.issues[0]?.message;

/** One letter in use of each script, which no other script has. */
const LETTERS = {
  Latin: "a",
  Cyrillic: "\u0430",
  Greek: "\u03b1",
  Hebrew: "\u05d0",
  Arabic: "\u0628",
  Devanagari: "\u0915",
  Thai: "\u0e01",
  Tibetan: "\u0f40",
  Georgian: "\u10d0",
  Armenian: "\u0561",
  Mongolian: "\u1820",
  Han: "\u4e2d",
  Hiragana: "\u3042",
  Katakana: "\u30a2",
  Hangul: "\uac00",
  Bopomofo: "\u3105",
} as const;
const SCRIPTS = Object.keys(LETTERS) as (keyof typeof LETTERS)[]; // the keys of the object above
const TOGETHER = new Set([
  "Latin Han",
  "Han Hiragana",
  "Han Katakana",
  "Hiragana Katakana",
  "Han Hangul",
  "Han Bopomofo",
]);

describe("a user name", () => {
  test.each(SCRIPTS.map((script) => [script]))(
    "is written in %s, alone or with what belongs to it",
    (script) => {
      expect(isName(`${LETTERS[script]}9._-`)).toBe(true);
      for (const other of SCRIPTS) {
        const isPair =
          other === script || TOGETHER.has(`${script} ${other}`) || TOGETHER.has(`${other} ${script}`);
        expect([other, isName(LETTERS[script] + LETTERS[other])]).toEqual([other, isPair]);
      }
    },
  );

  test.each([
    ["คุณ", "vowel signs of Thai"],
    ["हिन्दी", "signs of Devanagari"],
    ["བསྒྲུབས", "stacked letters of Tibetan"],
    ["José", "a composed letter"],
    ["Jose\u0301", "a letter and its mark"],
    ["q\u0303", "a letter and a mark that have no composed form"],
    ["スーパー", "long vowels of kana"],
    ["佐々木", "the sign that repeats a Han letter"],
    ["𠮷野家", "Han letters beyond 16 bits"],
  ])("%s is one: %s", (name) => {
    expect(faultOf(name)).toBeUndefined();
  });

  test.each([
    ["\u0301a", "a mark without its letter"],
    ["9\u0301", "a mark on a digit"],
    ["q\u0301\u0302\u0303\u0304\u0305", "more marks than letters carry"],
    ["a\u20dd", "a letter in a circle that is drawn around it"],
    ["\u0663\u0664", "digits of another kind"],
    ["a\u30fc", "a long vowel in Latin"],
    ["a b", "a space"],
    ["a/b", "a sign that means something elsewhere"],
    ["\ufdfa", "a character that stands for a whole sentence"],
  ])("%s is none: %s", (name) => {
    expect(isName(name)).toBe(false);
  });

  test("that is too long after it was made plain is refused", () => {
    expect(faultOf("\u3300\u3300\u3300\u3300")).toBe("用户名最多 12 个字符");
    expect(faultOf("\u3300")).toBeUndefined();
  });

  test("that is accepted is plain, can be seen, fits, and stays as it is when it is read again", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 12 }), (text) => {
        const read = Username.safeParse(text);
        if (!read.success) return;
        const name = read.data;
        expect(name.normalize("NFKC")).toBe(name);
        expect(name.length).toBeLessThanOrEqual(12);
        expect(isSeen(name)).toBe(true);
        expect(name).toMatch(/^[\p{L}\p{M}0-9._-]+$/u);
        expect(name).toMatch(/[\p{L}0-9]/u);
        expect(Username.parse(name)).toBe(name);
      }),
    );
  });

  test("of letters, digits and signs of ASCII is accepted as it is", () => {
    const unit = fc.constantFrom(..."abcXYZ019._-");
    fc.assert(
      fc.property(fc.string({ unit, minLength: 1, maxLength: 12 }), (text) => {
        fc.pre(/[^._-]/.test(text));
        expect(Username.parse(text)).toBe(text);
      }),
    );
  });

  test("with anything hidden in it is refused", () => {
    const hidden = fc
      .integer({ min: 0, max: 0x10ffff })
      .filter((code) => code < 0xd800 || code > 0xdfff)
      .map((code) => String.fromCodePoint(code))
      .filter((text) => /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u.test(text.normalize("NFKC")));
    const known = fc.constantFrom(
      ..."\u200b\u200c\u200d\u2060\ufeff\u202e\u2066\u00ad\u034f\u115f\u3164\uffa0\ufe0f\u0007",
    );
    fc.assert(
      fc.property(fc.oneof(hidden, known), (text) => {
        expect(faultOf(`a${text}b`)).toBe("用户名不能含有看不见的字符");
      }),
    );
  });
});

describe("what can be seen", () => {
  test.each(["王 小明", "👨‍👩‍👧‍👦", "❤️ love", "👍🏽", "1️⃣", "🇨🇳", "Анна & Bob (α)", ""])("%s is", (text) => {
    expect(DisplayName.safeParse(text).success).toBe(true);
    expect(withoutUnseen(text)).toBe(text);
  });

  test.each([
    ["a\u202eb", "ab"],
    ["1\u200d2", "12"],
    ["👨\u200d", "👨"],
    ["\u200d👨", "👨"],
    ["\ufe0f", ""],
    ["a\r\nb", "ab"],
    ["a\u2028b", "ab"],
    ["\u{e0041}x", "x"],
  ])("%j is not, but for %j", (text, rest) => {
    expect(DisplayName.safeParse(text).error?.issues[0]?.message).toBe("显示名称不能含有看不见的字符");
    expect(withoutUnseen(text)).toBe(rest);
  });

  test("once the hidden is gone nothing hidden comes forth", () => {
    const unit = fc.constantFrom("a", "1", "👨", "\u200d", "\ufe0f", "\u202e", "🏽", "\n", "\u20e3");
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 12 }), (text) => {
        const seen = withoutUnseen(text);
        expect(withoutUnseen(seen)).toBe(seen);
      }),
    );
  });
});

test("a line ends at every kind of line end, and no control is in it", () => {
  for (const end of ["\r", "\n", "\u0085", "\u2028", "\u2029", "\u0000", "\t", "\u001b", "\u007f"])
    expect(isOneLine(`a${end}b`)).toBe(false);
  expect(isOneLine("Tollgate 网关 <mail@example.com>")).toBe(true);
});
