// Invoices against what was paid: no more is invoiced than was paid and not refunded, and what a later refund leaves too much is to be reversed
// (红冲, requirements Y62). Reads orders, writes invoices.
import type { InvoiceProfile } from "#contract/invoice.ts";
import { minorText } from "#contract/money.ts";
import { faults } from "#server/errors.ts";
import type { Db } from "#server/store/db.ts";
import {
  insertInvoice,
  listIssued,
  listOverInvoiced,
  moveInvoice,
  type PaidSum,
  saveInvoiceProfile,
  sumPaid,
} from "#server/store/invoices.ts";
import type { Tools } from "#server/tools.ts";

export type InvoiceTools = Pick<Tools, "db" | "clock" | "coord" | "secrets" | "notify">;

const SEAL = "invoices.profile";

/** What may be asked for now, minor units; never below 0. Pure. */
export function availableOf({ paid, back, invoiced }: Omit<PaidSum, "currency">): number {
  return Math.max(0, paid - back - invoiced);
}

/** Which of the issued invoices, newest first, have to be reversed so that the others are no more than `excess` too little. Pure. */
export function toReverse(
  issued: readonly { readonly id: number; readonly amount_minor: number }[],
  excess: number,
): ReadonlySet<number> {
  const picked = new Set<number>();
  let left = excess;
  for (const { id, amount_minor } of issued) {
    if (left <= 0) break;
    picked.add(id);
    left -= amount_minor;
  }
  return picked;
}

export function sealProfile({ secrets }: Pick<Tools, "secrets">, profile: InvoiceProfile): string {
  return secrets.seal(JSON.stringify(profile), SEAL);
}

/** undefined = there is none any more. */
export function openProfile({ secrets }: Pick<Tools, "secrets">, sealed: string): InvoiceProfile | undefined {
  // Written by sealProfile alone.
  return sealed === "" ? undefined : (JSON.parse(secrets.open(sealed, SEAL)) as InvoiceProfile);
}

async function sumOf(db: Db, userId: number, currency: string): Promise<Omit<PaidSum, "currency">> {
  const found = (await sumPaid(db, userId)).find((sum) => sum.currency === currency);
  return found ?? { paid: 0, back: 0, invoiced: 0 };
}

/** One act at a time on the invoices of a user, so that none goes beyond what was paid. Throws: when another takes too long. */
async function alone<Result>(
  tools: InvoiceTools,
  userId: number,
  work: () => Promise<Result>,
): Promise<Result> {
  const done = await tools.coord.lock(`invoice:${userId}`, async () => ({ result: await work() }));
  if (!done) throw faults.refused("操作过于频繁，请稍后再试");
  return done.result;
}

export interface InvoiceRequest {
  readonly userId: number;
  readonly username: string;
  readonly currency: string;
  readonly amountMinor: number;
  readonly profile: InvoiceProfile;
}

/** Returns the number of the request. Throws: when the amount is more than may be invoiced. */
export async function requestInvoice(tools: InvoiceTools, request: InvoiceRequest): Promise<number> {
  const { userId, username, currency, amountMinor, profile } = request;
  const { db, clock, notify } = tools;
  const nowSec = clock.seconds();
  const profile_sealed = sealProfile(tools, profile);
  const id = await alone(tools, userId, async () => {
    const available = availableOf(await sumOf(db, userId, currency));
    if (amountMinor > available) throw faults.refused(`可开票金额为 ${minorText(available)} ${currency}`);
    return db.transaction().execute(async (tx) => {
      await saveInvoiceProfile(tx, { user_id: userId, profile_sealed, updated_at: nowSec });
      return insertInvoice(tx, {
        ...{ user_id: userId, currency, amount_minor: amountMinor, profile_sealed },
        ...{ state: "requested", number: "", link: "", note: "", actor_id: 0 },
        ...{ created_at: nowSec, decided_at: 0, reverse_asked_at: 0 },
      });
    });
  });
  notify({
    event: "invoice_due",
    about: `invoice ${id}`,
    title: "有一张发票待开具",
    content: `用户 ${username} 申请了 ${minorText(amountMinor)} ${currency} 的发票（FP${id}）。请在支付管理的“发票”中处理。`,
  });
  return id;
}

/**
 * Runs an issuing of an invoice, unless refunds since it was asked for have left too little. `work` moves the row and returns whether it
 * could. Throws: when too little was paid.
 */
export function issueAlone(
  tools: InvoiceTools,
  invoice: { readonly user_id: number; readonly currency: string },
  work: () => Promise<void>,
): Promise<void> {
  const { user_id, currency } = invoice;
  return alone(tools, user_id, async () => {
    const { paid, back, invoiced } = await sumOf(tools.db, user_id, currency);
    // It is among what is invoiced already.
    if (invoiced > paid - back)
      throw faults.refused("申请之后有退款，可开金额已不足，请驳回后由用户重新申请");
    await work();
  });
}

/** Marks which invoices of a user have to be reversed, and tells operators of new ones; what a dispute gave back is unmarked. */
export async function judgeReversals(
  tools: InvoiceTools,
  { userId, currency }: { readonly userId: number; readonly currency: string },
): Promise<void> {
  const { db, clock, notify } = tools;
  const issued = await listIssued(db, userId, currency);
  if (issued.length === 0) return;
  const { paid, back } = await sumOf(db, userId, currency);
  const total = issued.reduce((sum, { amount_minor }) => sum + amount_minor, 0);
  const picked = toReverse(issued, total - (paid - back));
  for (const { id, amount_minor, reverse_asked_at } of issued) {
    const isAsked = reverse_asked_at > 0;
    if (isAsked === picked.has(id)) continue;
    await moveInvoice(db, { id, from: "issued" }, { reverse_asked_at: isAsked ? 0 : clock.seconds() });
    if (isAsked) continue;
    notify({
      event: "invoice_due",
      about: `invoice ${id} reversal`,
      title: "有一张发票待红冲",
      content: `发票 FP${id}（${minorText(amount_minor)} ${currency}）开具之后有退款，已开金额超过实付。请红冲后在支付管理的“发票”中登记。`,
    });
  }
}

/** Looks at all accounts whose invoices may be too much. Returns how many there are. */
export async function judgeAllReversals(tools: InvoiceTools): Promise<number> {
  const rows = await listOverInvoiced(tools.db);
  for (const { user_id, currency } of rows) await judgeReversals(tools, { userId: user_id, currency });
  return rows.length;
}
