// Handler: reconciliation (requirements Y64).
import type { booksApi, ComparedDay } from "#contract/books.ts";
import { readBooks } from "#server/money/books.ts";
import { LATER } from "#server/payments/compare.ts";
import { listPaymentDays, type PaymentDayRow } from "#server/store/payment-days.ts";
import type { Handlers } from "./call.ts";

/** Mismatches that are named. */
const NAMED = 50;
/** Days of merchant accounts. */
const NEWEST = 30;

function presentDay({ problem, ...day }: PaymentDayRow & { readonly name: string }): ComparedDay {
  return { ...day, state: problem === "" ? "compared" : problem === LATER ? "later" : "unclear" };
}

export const books: Handlers<{ books: typeof booksApi }>["books"] = {
  async check({ db, clock }) {
    const { mismatches, checked, brokenId, payments, open, ...totals } = await readBooks(db);
    return {
      ...totals,
      checked_at: clock.seconds(),
      open: [...open],
      payments: [...payments],
      days: (await listPaymentDays(db, NEWEST)).map(presentDay),
      mismatch_count: mismatches.length,
      mismatches: mismatches.slice(0, NAMED),
      chain: { checked, broken_id: brokenId },
    };
  },
};
