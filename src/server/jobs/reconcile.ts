// Jobs: every minute all balances against the ledger's sums, once a day against every entry of it (reliability M33).
import type { Context } from "#server/context.ts";
import { audit } from "#server/money/audit.ts";
import type { Mismatch } from "#server/money/books.ts";
import { advanceSums } from "#server/money/sums.ts";
import type { Job } from "./job.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Rows named in a notice. */
const NAMED = 10;

export const reconcile: Job = {
  name: "reconcile",
  periodMs: () => MINUTE_MS,
  firstMs: 10_000,
  async run(ctx) {
    await advanceSums(ctx);
    return report(ctx, await audit(ctx.db, "sums"));
  },
};

export const fullAudit: Job = {
  name: "full-audit",
  periodMs: () => DAY_MS,
  firstMs: 10 * MINUTE_MS,
  run: async (ctx) => report(ctx, await audit(ctx.db)),
};

/** The same mismatches are told to the administrator once a day, to the diagnostic log every time. */
async function report(ctx: Context, mismatches: readonly Mismatch[]): Promise<string> {
  const [first] = mismatches;
  ctx.events.booksChecked({ mismatches: mismatches.length });
  if (!first) return "books agree";
  const lines = mismatches
    .slice(0, NAMED)
    .map(
      ({ table, id, column, stored, expected }) => `${table} #${id} ${column}：${stored}，应为 ${expected}`,
    );
  ctx.events.booksDiffer({ mismatches: mismatches.length, first: lines[0] ?? "" });
  if (await ctx.coord.remember(`books:${lines.join()}`, DAY_MS)) {
    const content = [`共 ${mismatches.length} 处余额与账本不一致：`, ...lines].join("\n");
    ctx.notify({ title: "余额与账本不一致", content });
  }
  return `${mismatches.length} mismatches`;
}
