// Texts by which users are told apart: what a user name may consist of, and which texts hide no character. Knows text only, not which
// user has which name.
import { z } from "zod";

/** Scripts that names are written in (UAX 31, table 5; Mongolian and Yi, which are in daily use in China too). */
const ALONE = (
  "Arabic Armenian Bengali Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi Hebrew Kannada Khmer Lao Malayalam " +
  "Mongolian Myanmar Oriya Sinhala Tamil Telugu Thaana Thai Tibetan Yi"
).split(" ");
/** Scripts that are written together and are not mistaken for one another. */
const TOGETHER = [
  ["Latin", "Han"],
  ["Han", "Hiragana", "Katakana"],
  ["Han", "Hangul"],
  ["Han", "Bopomofo"],
];

/** Characters that print nothing by themselves, such as the fillers of Hangul, which are letters. */
const BLANK = String.raw`\p{Default_Ignorable_Code_Point}`;
/** Most marks that a letter of any script carries; Tibetan stacks as many. */
const MOST_MARKS = 4;

/** Signs, digits and the letters of these scripts with their marks. The long-vowel sign belongs to both kinds of kana. */
function writtenIn(scripts: readonly string[]): RegExp {
  const script = scripts.map((name) => String.raw`\p{Script=${name}}`).join("");
  const kana = scripts.includes("Katakana") ? "\u30fc" : "";
  const letter = String.raw`(?!${BLANK})(?=\p{L})[${script}${kana}]`;
  const mark = String.raw`(?!${BLANK})(?=[\p{Mn}\p{Mc}])[\p{Script=Inherited}${script}]`;
  return new RegExp(`^(?:[0-9._-]|${letter}(?:${mark}){0,${MOST_MARKS}})+$`, "u");
}

const WRITTEN = [...TOGETHER, ...ALONE.map((script) => [script])].map(writtenIn);

/** Pictures that are made of several by what is hidden elsewhere: a family, a heart in colour, a digit on a key. */
const PICTURE = String.raw`\p{ExtPict}[\ufe0f\p{EMod}]?(?:\u200d\p{ExtPict}[\ufe0f\p{EMod}]?)*|[0-9#*]\ufe0f\u20e3`;
/** Controls, line ends, and what has no width or turns the direction. */
const UNSEEN = String.raw`[\p{Cc}\p{Cf}\p{Zl}\p{Zp}${BLANK}]`;
const PICTURE_OR_UNSEEN = new RegExp(`(${PICTURE})|${UNSEEN}`, "gu");

/** A text without its invisible characters. */
export function withoutUnseen(text: string): string {
  return text.replace(PICTURE_OR_UNSEEN, (_found, picture: string | undefined) => picture ?? "");
}

/** Whether all characters of a text can be seen. */
export function isSeen(text: string): boolean {
  return withoutUnseen(text) === text;
}

/** Whether a text stays on one line, in a mail's head as in a title. */
export function isOneLine(text: string): boolean {
  return !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text);
}

/** A name as it is kept: one code for what looks and means the same (NFKC), nothing around it. */
export function plainName(text: string): string {
  return text.normalize("NFKC").trim();
}

/** Why a plain text is no user name; undefined = it is one, or empty. */
function nameFault(name: string): string | undefined {
  if (name === "") return undefined;
  if (!isSeen(name)) return "用户名不能含有看不见的字符";
  if (!WRITTEN.some((written) => written.test(name)))
    return "用户名只能由同一种文字的字母、数字和 . _ - 组成（汉字可以和拉丁字母同用）";
  return /[^._-]/.test(name) ? undefined : "用户名至少要有一个字母或数字";
}

/** The name of an account that is new or gets another one; those there are may be otherwise, and stay. */
export const Username = z
  .string()
  .overwrite(plainName)
  .min(1, "请输入用户名")
  .max(12, "用户名最多 12 个字符")
  .check(({ value, issues }) => {
    const message = nameFault(value);
    if (message !== undefined) issues.push({ code: "custom", input: value, message });
  });

/** What other users see of an account beside its name: free text without invisible characters. */
export const DisplayName = z
  .string()
  .trim()
  .max(20, "显示名称最多 20 个字符")
  .refine(isSeen, "显示名称不能含有看不见的字符");
