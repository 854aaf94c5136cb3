// What the ways to pay are called where a payer chooses. Pure.
import type { PayMethod } from "#contract/payment.ts";

type Way = Pick<PayMethod, "label" | "currency" | "fee_bp">;

function textOf({ label, currency, fee_bp }: Way): string {
  const fee = fee_bp === 0 ? "" : `，手续费 ${fee_bp / 100}%`;
  return `${label}${currency === "CNY" ? "" : `（${currency}）`}${fee}`;
}

/** A text for each: those of several merchant accounts that would be called alike are numbered from the second on. */
export function wayTexts(ways: readonly Way[]): string[] {
  const seen = new Map<string, number>();
  return ways.map((way) => {
    const text = textOf(way);
    const nth = (seen.get(text) ?? 0) + 1;
    seen.set(text, nth);
    return nth === 1 ? text : `${text} ${nth}`;
  });
}
