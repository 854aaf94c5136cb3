// Handler: reconciliation (requirements Y64).
import type { booksApi } from "#contract/books.ts";
import { readBooks } from "#server/money/books.ts";
import type { Handlers } from "./call.ts";

/** Mismatches that are named. */
const NAMED = 50;

export const books: Handlers<{ books: typeof booksApi }>["books"] = {
  async check({ db, clock }) {
    const { mismatches, checked, brokenId, payments, open, ...totals } = await readBooks(db);
    return {
      ...totals,
      checked_at: clock.seconds(),
      open: [...open],
      payments: [...payments],
      mismatch_count: mismatches.length,
      mismatches: mismatches.slice(0, NAMED),
      chain: { checked, broken_id: brokenId },
    };
  },
};
