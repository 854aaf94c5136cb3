// What a field says of a value that is too much or too little, where its schema has no words of its own. Nothing about types.
import type { z } from "zod";
import en from "zod/v4/locales/en.js";
import zhCN from "zod/v4/locales/zh-CN.js";

// By the name that the build replaces, so that each build has one language alone.
const { localeError: othersOf } = __LANGUAGE__ === "en" ? en() : zhCN();

/** Numbers are written with separators, since those that are too large have many digits. */
function bound(limit: number | bigint): string {
  return limit.toLocaleString("en-US");
}

/** The sentence for an issue of a schema. */
export const sentenceOf: z.core.$ZodErrorMap = (issue) => {
  if (issue.code !== "too_big" && issue.code !== "too_small") return othersOf(issue);
  const { origin } = issue;
  const isMore = issue.code === "too_big";
  const limit = bound(isMore ? issue.maximum : issue.minimum);
  if (origin === "string") return isMore ? `最多 ${limit} 个字符` : `至少 ${limit} 个字符`;
  if (origin === "array" || origin === "set") return isMore ? `最多 ${limit} 项` : `至少 ${limit} 项`;
  if (issue.inclusive === false) return isMore ? `须小于 ${limit}` : `须大于 ${limit}`;
  return isMore ? `不能大于 ${limit}` : `不能小于 ${limit}`;
};

const PLACES: readonly (readonly [RegExp, string])[] = [
  [/iPhone/, "iPhone"],
  [/iPad/, "iPad"],
  [/Android/, "Android 设备"],
  [/Windows/, "Windows 电脑"],
  [/Mac OS X|Macintosh/, "Mac"],
  [/Linux|X11/, "Linux 电脑"],
];

/** What a passkey is called that is made in this browser; its owner can tell them apart by day and device. */
export function describePlace(agent: string): string {
  return PLACES.find(([pattern]) => pattern.test(agent))?.[1] ?? "通行密钥";
}
