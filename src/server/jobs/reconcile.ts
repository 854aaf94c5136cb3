// Jobs: every minute all balances against the ledger's sums, once a day against every entry of it (requirements M33), and then the
// audit log against its hashes (requirements P05).
import type { Context } from "#server/context.ts";
import { checkLedger } from "#server/money/ledger-check.ts";
import { forgetOrders } from "#server/money/orders-look.ts";
import type { Mismatch } from "#server/money/rows.ts";
import { advanceSums } from "#server/money/sums.ts";
import { listConditions } from "#server/store/alerts.ts";
import { verifyAudit } from "#server/store/audit.ts";
import type { Job } from "./job.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const BOOKS = { event: "ledger_differs", about: "ledger" } as const;
/** Rows named in a notice. */
const NAMED = 10;

export const reconcile: Job = {
  name: "reconcile",
  periodMs: () => MINUTE_MS,
  firstMs: 10_000,
  async run(ctx) {
    await advanceSums(ctx);
    return report(ctx, await checkLedger(ctx.db, "sums"));
  },
};

export const fullLedgerCheck: Job = {
  name: "full-audit",
  periodMs: () => DAY_MS,
  firstMs: 10 * MINUTE_MS,
  async run(ctx) {
    const books = await report(ctx, await checkLedger(ctx.store.patient));
    // An order that was changed beside the ledger is then named by the check of every minute, too.
    forgetOrders(ctx.db);
    return `${books}, ${await checkAuditLog(ctx)}`;
  },
};

/** The same mismatches are reported to the administrator once a day, to the diagnostic log every time. */
async function report(ctx: Context, mismatches: readonly Mismatch[]): Promise<string> {
  const [first] = mismatches;
  ctx.events.booksChecked({ mismatches: mismatches.length });
  if (!first) {
    if ((await listConditions(ctx.db, BOOKS.event)).length > 0)
      ctx.notify({ ...BOOKS, title: "余额与账本重新一致", content: "已没有不一致的余额。", isOver: true });
    return "books agree";
  }
  const lines = mismatches
    .slice(0, NAMED)
    .map(
      ({ table, id, column, stored, expected }) => `${table} #${id} ${column}：${stored}，应为 ${expected}`,
    );
  ctx.events.booksDiffer({ mismatches: mismatches.length, first: lines[0] ?? "" });
  if (await ctx.coord.remember(`books:${lines.join()}`, DAY_MS)) {
    const content = [`共 ${mismatches.length} 处余额与账本不一致：`, ...lines].join("\n");
    ctx.notify({ ...BOOKS, title: "余额与账本不一致", content, isAgain: true });
  }
  return `${mismatches.length} mismatches`;
}

/** A row of the audit log that is not as it was written is reported to the administrator, to the diagnostic log and in the metrics. */
async function checkAuditLog(ctx: Context): Promise<string> {
  const { checked, brokenId } = await verifyAudit(ctx.db);
  ctx.events.auditLogChecked({ checked, brokenId });
  if (brokenId === 0) return `trail of ${checked} acts whole`;
  const content = `第 ${brokenId} 条记录与写入时不符：它或它之后的记录被修改、删除或插入过。请对照数据库备份核查。`;
  ctx.notify({ event: "audit_broken", about: `act ${brokenId}`, title: "操作审计记录被改动", content });
  return `trail broken at ${brokenId}`;
}
