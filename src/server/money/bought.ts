// What quota was bought for: the money that came in for it, and what fees and commission took of that. A wallet and a plan's period keep it of
// what is left in them, and calls take their part when they are booked, which their row of the log and the sums by hour keep. Money comes and
// goes with payments, codes and refunds alone, so that the parts of calls and what is left are what was paid; quota that was given lowers the
// mean (requirements X13). Pure; money is billionths of a dollar.
import { yuanOfDollar } from "#contract/price-sheet.ts";
import { BILLION, min } from "./amount.ts";

export interface Bought {
  readonly quota: bigint;
  /** Of it what no money came for. */
  readonly given: bigint;
  /** Without the fee that the payer paid beside it. Below 0 in a wallet whose quota was used before its money went back: what comes in next fills that. */
  readonly income: bigint;
  /** What payment platforms keep, less what payers paid as fee; below 0 = payers paid more. */
  readonly fees: bigint;
  readonly commission: bigint;
}

/** Of what nothing is known. */
export const NOTHING_BOUGHT: Bought = { quota: 0n, given: 0n, income: 0n, fees: 0n, commission: 0n };

const MICRO = 1_000_000n;
const FEN = 100n;

/** To the nearest, also below 0. */
export function rounded(n: bigint, d: bigint): bigint {
  return n < 0n ? -rounded(-n, d) : (n * 2n + d) / (d * 2n);
}

/** Millionths of a yuan in billionths of a dollar. */
export function nanoOfMicro(micro: bigint): bigint {
  return rounded(micro * BILLION, MICRO * BigInt(yuanOfDollar));
}

/** Fen in billionths of a dollar. */
export function nanoOfFen(fen: bigint): bigint {
  return rounded(fen * BILLION, FEN * BigInt(yuanOfDollar));
}

/** Quota that no money came for, or that went without any. */
export function givenQuota(quota: bigint): Bought {
  return { ...NOTHING_BOUGHT, quota, given: quota };
}

/** What so much of the quota was bought for, at the mean; no more than there is, and of all of it the whole. No part brought less than nothing. */
export function partOf({ quota, given, income, fees, commission }: Bought, most: bigint): Bought {
  const part = min(most, quota);
  if (part <= 0n) return NOTHING_BOUGHT;
  const share = (sum: bigint) => rounded(sum * part, quota);
  return {
    quota: part,
    given: share(given),
    income: income < 0n ? 0n : share(income),
    fees: share(fees),
    commission: share(commission),
  };
}

export function together(one: Bought, other: Bought): Bought {
  return {
    quota: one.quota + other.quota,
    given: one.given + other.given,
    income: one.income + other.income,
    fees: one.fees + other.fees,
    commission: one.commission + other.commission,
  };
}

/** The same with the other sign: what goes. */
export function negated({ quota, given, income, fees, commission }: Bought): Bought {
  return { quota: -quota, given: -given, income: -income, fees: -fees, commission: -commission };
}

function between0And(most: bigint, value: bigint): bigint {
  return value < 0n ? 0n : min(value, most);
}

/** What is left of `known` when this comes, or goes; quota of which nothing was known may go too. */
export function changed(known: Bought, change: Bought): Bought {
  const sum = together(known, change);
  const quota = sum.quota < 0n ? 0n : sum.quota;
  return { ...sum, quota, given: between0And(quota, sum.given) };
}

/** Takes what so much quota was bought for out of what is left. */
export function takeOut(of: { bought: Bought }, quota: bigint): Bought {
  const part = partOf(of.bought, quota);
  if (part.quota > 0n) of.bought = changed(of.bought, negated(part));
  return part;
}

/** As it is stored; "" = nothing is known. */
export function boughtText(bought: Bought): string {
  const { quota, given, income, fees, commission } = bought;
  if (quota === 0n && income === 0n && fees === 0n && commission === 0n) return "";
  return [quota, income, fees, commission, given].join(" ");
}

/** Reads a text of `boughtText`; those of before gifts were told apart have four numbers. */
export function boughtOf(text: string): Bought {
  if (text === "") return NOTHING_BOUGHT;
  const [quota = 0n, income = 0n, fees = 0n, commission = 0n, given = 0n] = text.split(" ").map(BigInt);
  return { quota, given, income, fees, commission };
}

/** What is left in a wallet or a period. As calls took nothing out at first, a text of then is what had come in: no more than `most` is left of it. */
export function leftOf(text: string, most: bigint): Bought {
  const known = boughtOf(text);
  return text.split(" ").length === 4 ? partOf(known, most) : known;
}
