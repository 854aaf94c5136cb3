// Recomputes the formula of a usage log's content, with exact fractions that share no code with the ledger.

/** An exact fraction, not reduced. */
export class Fraction {
  readonly top: bigint;
  readonly bottom: bigint;
  constructor(top: bigint, bottom: bigint) {
    this.top = top;
    this.bottom = bottom;
  }
  /** Reads `1.25`, `4/3`. */
  static of(text: string): Fraction {
    const [a = "", b] = text.split("/");
    if (b !== undefined) return Fraction.of(a).over(Fraction.of(b));
    const dot = a.indexOf(".");
    return dot < 0
      ? new Fraction(BigInt(a), 1n)
      : new Fraction(BigInt(a.replace(".", "")), BigInt(`1${"0".repeat(a.length - dot - 1)}`));
  }
  plus(other: Fraction): Fraction {
    return new Fraction(this.top * other.bottom + other.top * this.bottom, this.bottom * other.bottom);
  }
  times(other: Fraction): Fraction {
    return new Fraction(this.top * other.top, this.bottom * other.bottom);
  }
  over(other: Fraction): Fraction {
    return new Fraction(this.top * other.bottom, this.bottom * other.top);
  }
  ceiling(): bigint {
    return (this.top + this.bottom - 1n) / this.bottom;
  }
}

const FORMULA = /；\((?<sum>[^)]+)\) × (?<model>\S+) × (?<group>\S+) = (?<charge>\d+)/;

function product(text: string): Fraction {
  return text
    .split(" × ")
    .map((factor) => Fraction.of(factor))
    .reduce((all, factor) => all.times(factor));
}

/** The charge that a log's content claims, and the one its formula gives. Throws: Error when there is no formula. */
export function recompute(content: string): { claimed: bigint; computed: bigint } {
  const { sum = "", model = "", group = "", charge = "" } = FORMULA.exec(content)?.groups ?? {};
  if (charge === "") throw new Error(`no formula in ${content}`);
  const units = sum
    .split(" + ")
    .map(product)
    .reduce((all, part) => all.plus(part));
  const ratio = Fraction.of(model).times(Fraction.of(group));
  const computed = units.times(ratio).ceiling();
  // The least that is charged for anything that has a price (requirements W10.3).
  const isLeast = computed === 0n && ratio.top !== 0n && sum.split(" + ").some((part) => !/^0\b/.test(part));
  return { claimed: BigInt(charge), computed: isLeast ? 1n : computed };
}
