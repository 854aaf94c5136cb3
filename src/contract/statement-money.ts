// Quota of a statement as money: every line is rounded by itself, so what is then missing to the rounded sum is a line too (四舍五入差, requirements
// Y59). Whole-number arithmetic; pure.
import type { QuotaDisplay } from "./quota.ts";
import type { Statement, StatementCounts, StatementHead, StatementUsage } from "./statement.ts";
import { tagsOf } from "./token.ts";

const LEAST_DIGITS = 2;
/** A unit of quota is two millionths of a dollar, unless the operator says otherwise. */
const MOST_DIGITS = 6;

interface Fraction {
  readonly n: bigint;
  readonly d: bigint;
}

/** Any positive number, by its shortest text. */
function fractionOf(value: number): Fraction {
  const [mantissa = "", exponent = "0"] = String(value).split("e");
  const [whole = "", decimals = ""] = mantissa.split(".");
  const power = Number(exponent) - decimals.length;
  const digits = BigInt(whole + decimals);
  return power < 0 ? { n: digits, d: 10n ** BigInt(-power) } : { n: digits * 10n ** BigInt(power), d: 1n };
}

/** The sums of columns of a table. */
export interface UsageSums {
  readonly calls: number;
  readonly quota: number;
  readonly plan_quota: number;
  readonly shortfall: number;
  /** Absent = not known of all the calls. */
  readonly tokens?: StatementCounts | undefined;
}

export type UsageColumn = "quota" | "plan_quota" | "shortfall";

export function sumUsage(rows: readonly UsageSums[]): UsageSums {
  const sum = (column: UsageColumn | "calls") => rows.reduce((all, row) => all + row[column], 0);
  const tokens = sumTokens(rows);
  return {
    calls: sum("calls"),
    quota: sum("quota"),
    plan_quota: sum("plan_quota"),
    shortfall: sum("shortfall"),
    ...(tokens !== undefined && { tokens }),
  };
}

/** undefined = of some row they are not known, or there is none. */
function sumTokens(rows: readonly UsageSums[]): StatementCounts | undefined {
  const known = rows.flatMap(({ tokens }) => (tokens === undefined ? [] : [tokens]));
  if (known.length === 0 || known.length < rows.length) return undefined;
  const sum = (column: keyof StatementCounts) => known.reduce((all, tokens) => all + tokens[column], 0);
  return {
    prompt_tokens: sum("prompt_tokens"),
    cached_tokens: sum("cached_tokens"),
    completion_tokens: sum("completion_tokens"),
  };
}

/** Whether a table of usage has columns of tokens: months that older versions closed know none. */
export function hasTokens(rows: readonly UsageSums[]): boolean {
  return rows.some(({ tokens }) => tokens !== undefined);
}

export interface TagUsage extends UsageSums {
  /** "" = the tokens without a tag. */
  readonly tag: string;
}

/** By the tags of tokens, those without behind; empty where no token has one. A token of several tags counts in each. */
export function usageByTag(rows: readonly StatementUsage[]): readonly TagUsage[] {
  const byTag = new Map<string, StatementUsage[]>();
  for (const row of rows) {
    const tags = new Set(tagsOf(row.tags));
    for (const tag of tags.size === 0 ? [""] : tags) byTag.set(tag, [...(byTag.get(tag) ?? []), row]);
  }
  const untagged = byTag.get("");
  byTag.delete("");
  if (byTag.size === 0) return [];
  const sorted = [...byTag].sort(([one], [other]) => (one < other ? -1 : 1));
  const all = untagged === undefined ? sorted : [...sorted, ["", untagged] as const];
  return all.map(([tag, of]) => ({ tag, ...sumUsage(of) }));
}

/** The money of one statement: all of its amounts have the same decimals. Amounts are whole units of the last one. */
export class StatementMoney {
  readonly #unit: Fraction;
  readonly #digits: number;

  /** Two decimals, or as many more, up to six, as its amounts have. */
  constructor(amounts: readonly number[], quotaPerUnit: number) {
    this.#unit = fractionOf(quotaPerUnit);
    let digits = LEAST_DIGITS;
    while (digits < MOST_DIGITS && amounts.some((quota) => !this.#isExact(quota, digits))) digits += 1;
    this.#digits = digits;
  }

  #isExact(quota: number, digits: number): boolean {
    const { n, d } = this.#unit;
    return (BigInt(quota) * d * 10n ** BigInt(digits)) % n === 0n;
  }

  /** A half is rounded away from zero. */
  of(quota: number): bigint {
    const { n, d } = this.#unit;
    const size = BigInt(Math.abs(quota)) * d * 10n ** BigInt(this.#digits);
    const rounded = (size * 2n + n) / (n * 2n);
    return quota < 0 ? -rounded : rounded;
  }

  /** What rounded lines lack to their rounded sum; 0 = they add up. */
  missing(lines: readonly number[]): bigint {
    const sum = lines.reduce((all, quota) => all + quota, 0);
    return lines.reduce((rest, quota) => rest - this.of(quota), this.of(sum));
  }

  /** `-0.0014`: for spreadsheets. */
  decimal(amount: bigint): string {
    const digits = String(amount < 0n ? -amount : amount).padStart(this.#digits + 1, "0");
    const at = digits.length - this.#digits;
    return `${amount < 0n ? "-" : ""}${digits.slice(0, at)}.${digits.slice(at)}`;
  }

  /** `-$1,234.50`. */
  text(amount: bigint): string {
    const [whole = "", decimals = ""] = this.decimal(amount < 0n ? -amount : amount).split(".");
    return `${amount < 0n ? "-" : ""}$${whole.replace(/\B(?=(?:\d{3})+$)/g, ",")}.${decimals}`;
  }

  /** Of quota, rounded. */
  textOf(quota: number): string {
    return this.text(this.of(quota));
  }
}

/** How the money of a month is shown. */
export function displayOf(head: Pick<StatementHead, "quota_per_unit" | "in_currency">): QuotaDisplay {
  return { quotaPerUnit: head.quota_per_unit, inCurrency: head.in_currency };
}

type MoneyParts = Pick<Statement, "opening" | "closing" | "sums" | "usage" | "debt">;

/** undefined = the operator shows no money. */
export function moneyOf(
  { opening, closing, sums, usage, debt }: MoneyParts,
  { inCurrency, quotaPerUnit }: QuotaDisplay,
): StatementMoney | undefined {
  if (!inCurrency) return undefined;
  const lines = usage.flatMap((row) => [row.quota, row.plan_quota, row.shortfall]);
  return new StatementMoney(
    [opening, closing, debt, ...sums.map(({ quota }) => quota), ...lines],
    quotaPerUnit,
  );
}

/** What the lines from 期初 on lack to 期末. */
export function missingInSums(
  money: StatementMoney,
  { opening, sums }: Pick<Statement, "opening" | "sums">,
): bigint {
  return money.missing([opening, ...sums.map(({ quota }) => quota)]);
}

/** What the lines of a table of usage lack to their sum, by column; undefined = they add up. */
export function missingInUsage(
  money: StatementMoney,
  rows: readonly UsageSums[],
): Readonly<Record<UsageColumn, bigint>> | undefined {
  const missing = (column: UsageColumn) => money.missing(rows.map((row) => row[column]));
  const all = {
    quota: missing("quota"),
    plan_quota: missing("plan_quota"),
    shortfall: missing("shortfall"),
  };
  return all.quota === 0n && all.plan_quota === 0n && all.shortfall === 0n ? undefined : all;
}
