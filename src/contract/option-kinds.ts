// The kinds of values that options have: each a schema of the stored text (requirements B3, B5, W6.1). Pure.
import { z } from "zod";
import { sanitizeHtml } from "./html.ts";
import { isOneLine } from "./name.ts";
import { withoutEndSlashes } from "./wire.ts";

/** `true` ⇄ boolean; anything but `true` is false (requirements W6.1). */
export const flag = z.codec(z.string(), z.boolean(), {
  decode: (text) => text === "true",
  encode: (value) => String(value),
});

const TOO_LARGE = `不能大于 ${Number.MAX_SAFE_INTEGER.toLocaleString("en-US")}`;

function number(message: string, check: (value: number) => boolean) {
  return z.codec(
    z
      .string()
      .refine((text) => text.trim() !== "" && check(Number(text)), { error: message, abort: true })
      .refine((text) => Number(text) <= Number.MAX_SAFE_INTEGER, TOO_LARGE),
    z.number(),
    { decode: Number, encode: String },
  );
}
export const whole = number("须为不小于 0 的整数", (value) => Number.isInteger(value) && value >= 0);
export const amount = number("须为不小于 0 的数字", (value) => Number.isFinite(value) && value >= 0);
export const positive = number("须为大于 0 的数字", (value) => Number.isFinite(value) && value > 0);
export const port = number(
  "须为 1 到 65535 的端口号",
  (value) => Number.isInteger(value) && value >= 1 && value <= 65_535,
);

export const percent = number(
  "须为 0 到 100 的整数",
  (value) => Number.isInteger(value) && value >= 0 && value <= 100,
);

/** Whole yuan, as much as a text of the partner plan may hold. */
export const wholeYuan = number(
  "须为 0 到 999,999,999 的整数",
  (value) => Number.isInteger(value) && value >= 0 && value <= 999_999_999,
);

export const graceDays = number(
  "须为 0 到 365 的整数",
  (value) => Number.isInteger(value) && value >= 0 && value <= 365,
);

/** How long a plan that has ended goes on lending its group. */
export const lendingDays = number(
  "须为 0 到 3 的整数",
  (value) => Number.isInteger(value) && value >= 0 && value <= 3,
);

/** One line: it may stand in a mail's head, a title or an address. */
export const text = z
  .string()
  .trim()
  .max(2_000, "最多 2,000 个字符")
  .refine(isOneLine, "不能含有换行或控制字符");
/** Markdown, HTML or an address; HTML is cut down to an allowlist, also what an import brought (requirements H01). */
export const html = z.string().max(200_000, "内容过长，最多 200,000 个字符").overwrite(sanitizeHtml);

/** http(s) address without trailing slashes; "" allowed. */
export const url = z
  .string()
  .trim()
  .max(2_000, "最多 2,000 个字符")
  .refine((value) => value === "" || /^https?:\/\/[^/]/.test(value), "地址须以 http:// 或 https:// 开头")
  .refine((value) => !/[\s@]/.test(value), "地址里不能有空格或 @")
  .overwrite(withoutEndSlashes);

/** http(s) address or a path of this site; keeps its trailing slash (requirements H06). */
export const link = z
  .string()
  .trim()
  .max(2_000, "最多 2,000 个字符")
  .refine(
    (value) => value === "" || /^(https?:\/\/|\/(?![/\\]))/.test(value),
    "链接须以 http(s):// 或 / 开头",
  )
  .refine((value) => !/\s/.test(value), "链接里不能有空格");

/** Where releases are published: `owner/name` on GitHub; "" = nowhere. */
export const repository = z
  .string()
  .trim()
  .refine((value) => value === "" || isRepository(value), "须为 owner/name 形式的 GitHub 仓库");

/** Whether a text is `owner/name`, and nothing that could lead elsewhere in an address. */
export function isRepository(text: string): boolean {
  return /^[A-Za-z0-9][\w-]{0,38}\/(?!\.{1,2}$)[\w.-]{1,100}$/.test(text);
}

function partsOf(value: string): string[] {
  return value.trim() === "" ? [] : value.split(",").map((part) => part.trim().toLowerCase());
}

/** Comma list without empty and repeated entries (requirements B5). */
export const domains = z.codec(
  z.string().refine((value) => {
    const parts = partsOf(value);
    return parts.every((part) => part !== "") && new Set(parts).size === parts.length;
  }, "邮箱域名白名单不能有空项或重复项"),
  z.array(z.string()),
  {
    decode: partsOf,
    encode: (list) => list.join(","),
  },
);

/** Comma list of origins: scheme, host and port, as browsers write them. */
export const origins = z.codec(
  z
    .string()
    .max(2_000, "最多 2,000 个字符")
    .refine(
      (value) => partsOf(value).every((part) => /^https?:\/\/[a-z0-9.-]+(:\d+)?$/.test(part)),
      "须为逗号分隔的来源，如 https://console.example.com，末尾不带斜杠",
    ),
  z.array(z.string()),
  { decode: partsOf, encode: (list) => list.join(",") },
);

/** Empty text ⇄ null: no ratio at all. */
export const maybeAmount = z.codec(
  z
    .string()
    .refine(
      (value) => value.trim() === "" || (Number.isFinite(Number(value)) && Number(value) >= 0),
      "须留空或为不小于 0 的数字",
    ),
  z.number().nullable(),
  {
    decode: (value) => (value.trim() === "" ? null : Number(value)),
    encode: (value) => (value === null ? "" : String(value)),
  },
);

/** An IANA zone by its name. `UTC+8` and offsets are none: they know no daylight saving time. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Z][A-Za-z_]+(\/[A-Za-z0-9_+-]+)*$/.test(name)) return false;
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
export const timeZone = z
  .string()
  .trim()
  .refine(isTimeZone, "须为 IANA 时区名，例如 Asia/Shanghai（中国标准时间）或 UTC");
