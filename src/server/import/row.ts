// Reading one row of a foreign database, whose columns and types depend on its age and engine: absent and null are the
// default, char columns are trimmed, numbers come as numbers, bigints or text. What cannot be read as it stands is noted.

export type SourceValue = null | string | number | bigint | boolean | Uint8Array;
export type SourceRow = Readonly<Record<string, SourceValue | undefined>>;

const MAX = BigInt(Number.MAX_SAFE_INTEGER);

/** Text without the blanks that char(n) columns are padded with on PostgreSQL (requirements W7.2). */
export function textOf(row: SourceRow, column: string, fallback = ""): string {
  const value = row[column];
  if (value === null || value === undefined) return fallback;
  const text = value instanceof Uint8Array ? Buffer.from(value).toString("utf8") : String(value);
  // PostgreSQL cannot store NUL.
  return text.replaceAll("\u0000", "").trim();
}

/**
 * Whole number; sums that overflowed in the source stay within what a number holds exactly (requirements W7.5). Absent, null and empty are
 * the default; what is no number is 0, which never allows more than was meant, and is noted.
 */
export function intOf(row: SourceRow, column: string, fallback = 0): number {
  const value = row[column];
  if (isAbsent(value)) return fallback;
  const number = wholeOf(value);
  const taken = clamp(number?.whole ?? 0n);
  if (number?.isExact !== true || BigInt(taken) !== number.whole) note(row, column, taken);
  return taken;
}

function isAbsent(value: SourceValue | undefined): value is null | undefined | string {
  return value === null || value === undefined || (typeof value === "string" && value.trim() === "");
}

const DECIMAL = /^([+-]?\d+)(?:\.(\d*))?$/;
const POWER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

/** What a value is without its fraction, and whether that was all of it; undefined = no number. */
function wholeOf(value: SourceValue): { whole: bigint; isExact: boolean } | undefined {
  if (typeof value === "bigint" || typeof value === "boolean") return { whole: BigInt(value), isExact: true };
  if (typeof value === "number")
    return Number.isFinite(value)
      ? { whole: BigInt(Math.trunc(value)), isExact: Number.isInteger(value) }
      : undefined;
  const text = typeof value === "string" ? value.trim() : "";
  const [, digits, fraction = ""] = DECIMAL.exec(text) ?? [];
  if (digits !== undefined) return { whole: BigInt(digits), isExact: !/[1-9]/.test(fraction) };
  return POWER.test(text) ? wholeOf(Number(text)) : undefined;
}

function clamp(value: bigint): number {
  if (value > MAX) return Number.MAX_SAFE_INTEGER;
  return value < -MAX ? -Number.MAX_SAFE_INTEGER : Number(value);
}

/** Number with a fraction, such as a balance in dollars; what is none is 0, and noted. */
export function realOf(row: SourceRow, column: string): number {
  const value = Number(row[column] ?? 0);
  if (Number.isFinite(value)) return value;
  note(row, column, 0);
  return 0;
}

/** By column what was taken for a number that is none, has a fraction, or is larger than can be held. */
const notes = new WeakMap<SourceRow, Map<string, number>>();

function note(row: SourceRow, column: string, taken: number): void {
  notes.set(row, (notes.get(row) ?? new Map()).set(column, taken));
}

/** What was read of a row otherwise than it stands there: column → the number that was taken. */
export function misreadOf(row: SourceRow): ReadonlyMap<string, number> {
  return notes.get(row) ?? new Map();
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
    if (Number.isFinite(ms)) return Math.max(0, Math.floor(ms / 1000));
    // MySQL's word for none.
    if (!value.startsWith("0000-00-00")) note(row, column, 0);
    return 0;
  }
  return Math.max(0, intOf(row, column));
}

/** A comma list without blanks, empties and repeats (requirements W7.5). */
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
