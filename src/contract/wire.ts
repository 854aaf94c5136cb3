// The envelope and the odd codecs of the management wire. No resource knowledge here.
import { z } from "zod";

/** Quota units as a safe integer; 500,000 = $1 unless QuotaPerUnit says otherwise. */
export const Quota = z.int();

/** `"a,b,c"` ⇄ `["a","b","c"]`; blanks trimmed, empties and repeats dropped (requirements W7.5). */
export const Csv = z.codec(z.string(), z.array(z.string()), {
  decode: (text) => [
    ...new Set(
      text
        .split(",")
        .map((part) => part.trim())
        .filter((part) => part !== ""),
    ),
  ],
  encode: (list) => list.join(","),
});

/** Query text ⇄ whole number; missing, negative and non-numeric text count as `fallback` (requirements W1.5). */
function lenientInt(fallback: number, max: number) {
  return z.codec(z.string().optional(), z.int(), {
    decode: (text) => {
      const value = Number(text ?? "");
      if (text === undefined || text === "" || !Number.isInteger(value) || value < 0) return fallback;
      return Math.min(value, max);
    },
    encode: (value) => String(value),
  });
}

/** Text ⇄ optional text: an empty query value means "not filtered" (requirements W3.9). */
const filterText = z.codec(z.string().optional(), z.string(), {
  decode: (text) => (text ?? "").trim().slice(0, 200),
  encode: (text) => (text === "" ? undefined : text),
});

/** `true`, `1` ⇄ boolean in a query. */
const queryFlag = z.codec(z.string().optional(), z.boolean(), {
  decode: (text) => text === "true" || text === "1",
  encode: (flag) => (flag ? "true" : undefined),
});

const DIRECTIONS: ReadonlyMap<string | undefined, boolean> = new Map([
  ["true", true],
  ["1", true],
  ["false", false],
  ["0", false],
]);

/** Whether a list sorts downwards; undefined = the client does not say, and each column has its own way (requirements W3.5, W3.7). */
const queryDirection = z.codec(z.string().optional(), z.boolean().optional(), {
  decode: (text) => DIRECTIONS.get(text),
  encode: (isDown) => (isDown === undefined ? undefined : String(isDown)),
});

export const query = {
  /** Whole number ≥ 0, 0 when absent or unreadable. */
  count: lenientInt(0, Number.MAX_SAFE_INTEGER),
  /** 0-based page; at most a million (requirements D04). */
  page: lenientInt(0, 1_000_000),
  /** Page size 1–100, default 10 (requirements J3). 0 counts as absent. */
  size: z.codec(z.string().optional(), z.int(), {
    decode: (text) => {
      const value = Number(text ?? "");
      return Number.isInteger(value) && value >= 1 ? Math.min(value, 100) : 10;
    },
    encode: (value) => String(value),
  }),
  text: filterText,
  flag: queryFlag,
};

/** Query of every list: page, size and a sort column of the table; unknown columns are ignored by the server. */
export const ListQuery = z.object({
  p: query.page,
  size: query.size,
  order: query.text,
  desc: queryDirection,
});

/** Query of every search: like a list, with a keyword. */
export const SearchQuery = ListQuery.extend({ keyword: query.text });

/** Of a list: when its rows were made. Seconds, both included; 0 = open. */
export const MadeBetween = { start_timestamp: query.count, end_timestamp: query.count };

/**
 * Of a list: the rows for a file, in blocks of 1,000 by falling ids, without secrets; `before` = the last id of the block before, 0 = the
 * first block, which alone says how many there are (requirements Y60). Page and order count for nothing then.
 */
export const InBlocks = { export: query.flag, before: query.count };

/** Our addition beside `data` of every list: rows in all, for paging. */
export const ListBeside = z.object({ total: z.int().min(0).optional() });

/**
 * What other servers of the family leave out or send as null ⇄ the value with its fallback. Ours always sends the value, and the
 * API reference prints it so (openapi.ts).
 */
export function lenient<T extends z.ZodType>(schema: T, fallback: z.output<T>) {
  type Value = z.output<T>;
  return z
    .codec(schema.nullish(), z.custom<Value>(), {
      decode: (value) => value ?? fallback,
      encode: (value) => value,
    })
    .meta({ lenient: true });
}

/** Rows of a list; the family sends null for none. */
export function rowsOf<T extends z.ZodType>(row: T) {
  return lenient(z.array(row), []);
}

/** `:id` in a path. */
export const IdParams = z.object({
  id: z.codec(z.string(), z.int().min(1), { decode: Number, encode: String }),
});

/** Endpoints that answer nothing. */
export const Nothing = z.null();

/** Whether a text is valid JSON (requirements B5, "a helper checks whether text is valid JSON"). */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Whether a text is a JSON object whose values are all texts: the form of model_mapping. Empty text counts as none. */
export function isMapping(text: string): boolean {
  if (text.trim() === "") return true;
  try {
    const value: unknown = JSON.parse(text);
    return (
      typeof value === "object" &&
      value !== null &&
      !Array.isArray(value) &&
      Object.values(value).every((name) => typeof name === "string" && name !== "")
    );
  } catch {
    return false;
  }
}

/** An address without the slashes at its end (requirements B5). Where a run begins is looked for once: time is linear (requirements D07). */
export function withoutEndSlashes(address: string): string {
  return address.replace(/(?<!\/)\/+$/, "");
}
