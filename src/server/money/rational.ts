// Exact fractions of whole numbers. Nothing here rounds unless its name says so.

/** `n / d` with `d` > 0; not necessarily in lowest terms. */
export interface Rational {
  readonly n: bigint;
  readonly d: bigint;
}

const DECIMAL = /^(\d+)(?:\.(\d+))?(?:e([+-]?\d{1,3}))?$/i;

/** Reads `1.25`, `4/3`, `1e-7`; numbers are taken as the decimal they print as (requirements M01). Throws: RangeError. */
export function parseRational(value: string | number): Rational {
  const text = String(value).trim();
  const [top = "", bottom, ...more] = text.split("/");
  if (bottom !== undefined) {
    const upper = parseDecimal(top.trim(), text);
    const lower = parseDecimal(bottom.trim(), text);
    if (lower.n === 0n || more.length > 0) throw new RangeError(`${text} is no ratio`);
    return reduce({ n: upper.n * lower.d, d: upper.d * lower.n });
  }
  return reduce(parseDecimal(top, text));
}

function parseDecimal(part: string, whole: string): Rational {
  const match = DECIMAL.exec(part);
  if (!match) throw new RangeError(`${whole} is no ratio`);
  const [, units = "", decimals = "", exponent = "0"] = match;
  const shift = BigInt(exponent) - BigInt(decimals.length);
  const digits = BigInt(units + decimals);
  return shift >= 0n ? { n: digits * 10n ** shift, d: 1n } : { n: digits, d: 10n ** -shift };
}

function reduce({ n, d }: Rational): Rational {
  let a = n;
  let b = d;
  while (b !== 0n) [a, b] = [b, a % b];
  return { n: n / a, d: d / a };
}

export function multiply(a: Rational, b: Rational): Rational {
  return reduce({ n: a.n * b.n, d: a.d * b.d });
}

/** `b` is not 0. */
export function divide(a: Rational, b: Rational): Rational {
  return reduce({ n: a.n * b.d, d: a.d * b.n });
}

/** The least whole number that is not smaller. */
export function ceilDivide(n: bigint, d: bigint): bigint {
  return n % d === 0n ? n / d : n / d + 1n;
}

/** Decimal text with at most six significant digits, without trailing zeros: `1.33333`, `0.0000725`. */
export function showRational({ n, d }: Rational): string {
  if (n % d === 0n) return String(n / d);
  const rounded = Number((Number(n) / Number(d)).toPrecision(6));
  return rounded < 1e-6 ? rounded.toFixed(15).replace(/0+$/, "") : String(rounded);
}

/** The number itself as text that parseRational reads back: a decimal when it ends, else a fraction such as `4/3`. */
export function exactText(value: Rational): string {
  const { n, d } = reduce(value);
  let rest = d;
  let places = 0;
  for (const prime of [2n, 5n]) {
    let power = 0;
    for (; rest % prime === 0n; rest /= prime) power += 1;
    places = Math.max(places, power);
  }
  if (rest !== 1n) return `${n}/${d}`;
  if (places === 0) return String(n);
  const digits = String((n * 10n ** BigInt(places)) / d).padStart(places + 1, "0");
  return `${digits.slice(0, -places)}.${digits.slice(-places)}`;
}
