// Reading one row of a foreign database, whose columns and types depend on its age and engine: absent and null are the
// default, char columns are trimmed, numbers come as numbers, bigints or text.

export type SourceValue = null | string | number | bigint | boolean | Uint8Array;
export type SourceRow = Readonly<Record<string, SourceValue | undefined>>;

const MAX = BigInt(Number.MAX_SAFE_INTEGER);

/** Text without the blanks that char(n) columns are padded with on PostgreSQL (contract 7.2). */
export function textOf(row: SourceRow, column: string, fallback = ""): string {
  const value = row[column];
  if (value === null || value === undefined) return fallback;
  const text = value instanceof Uint8Array ? Buffer.from(value).toString("utf8") : String(value);
  // PostgreSQL cannot store NUL.
  return text.replaceAll("\u0000", "").trim();
}

/** Whole number; sums that overflowed in the source stay within what a number holds exactly (contract 7.5 #8). */
export function intOf(row: SourceRow, column: string, fallback = 0): number {
  const value = row[column];
  if (typeof value === "number") return Number.isFinite(value) ? clamp(BigInt(Math.trunc(value))) : fallback;
  if (typeof value === "bigint") return clamp(value);
  if (typeof value === "boolean") return Number(value);
  const digits = /^\s*([+-]?\d+)(?:\.\d*)?\s*$/.exec(typeof value === "string" ? value : "")?.[1];
  return digits === undefined ? fallback : clamp(BigInt(digits));
}

function clamp(value: bigint): number {
  if (value > MAX) return Number.MAX_SAFE_INTEGER;
  return value < -MAX ? -Number.MAX_SAFE_INTEGER : Number(value);
}

/** Number with a fraction, such as a balance in dollars. */
export function realOf(row: SourceRow, column: string): number {
  const value = Number(row[column] ?? 0);
  return Number.isFinite(value) ? value : 0;
}

/** A flag: 1, true, "1", "t", "true". */
export function flagOf(row: SourceRow, column: string): boolean {
  const value = row[column];
  return value === true || /^(1|t|true)$/i.test(String(value ?? ""));
}

/** Seconds since 1970 of a time column: seconds, or a date in text (later forks); 0 = none. */
export function secondsOf(row: SourceRow, column: string): number {
  const value = row[column];
  if (typeof value === "string" && /^\d{4}-\d\d-\d\d/.test(value)) {
    const ms = Date.parse(value.includes("T") || /[Z+]/.test(value) ? value : `${value.replace(" ", "T")}Z`);
    return Number.isFinite(ms) ? Math.max(0, Math.floor(ms / 1000)) : 0;
  }
  return Math.max(0, intOf(row, column));
}

/** A comma list without blanks, empties and repeats (contract 7.5 #5). */
export function listOf(row: SourceRow, column: string): string[] {
  const parts = textOf(row, column).split(",");
  return [...new Set(parts.map((part) => part.trim()).filter((part) => part !== ""))];
}

/** The object in a JSON text column; {} when it is none. */
export function objectOf(row: SourceRow, column: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(textOf(row, column, "{}"));
    // Just found to be an object; its fields are unknown.
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {
    // Not JSON: nothing can be read from it.
  }
  return {};
}
