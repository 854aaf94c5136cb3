// Refunds made in Stripe's dashboard and disputes: told by events, and found by the daily list when an event was lost. Each is known by its own
// id, so that both ways book it once (requirements Y37, vendors/stripe).
import type { Instance, Notice, ProviderDeps, Reversal, Span } from "#server/payments/provider.ts";
import { memberOf, textOf } from "./call.ts";
import { listRows, stripeCall } from "./stripe-call.ts";

type Body = Readonly<Record<string, unknown>>;

/** Ours carry their number and are asked about by it; undefined = ours, or nothing that moved money. */
function refundReversal(body: Body): Reversal | undefined {
  const isOurs = textOf(memberOf(body, "metadata")["refund_no"]) !== "";
  return isOurs || body["status"] !== "succeeded"
    ? undefined
    : reversalOf(body, { source: "elsewhere", isUndone: false });
}

function disputeReversal(body: Body): Reversal | undefined {
  const status = textOf(body["status"]);
  // A question of a bank that takes no money.
  return status.startsWith("warning_")
    ? undefined
    : reversalOf(body, { source: "dispute", isUndone: status === "won" });
}

function reversalOf(body: Body, parts: Pick<Reversal, "source" | "isUndone">): Reversal | undefined {
  const amount = body["amount"];
  const amountMinor = typeof amount === "number" && Number.isSafeInteger(amount) && amount > 0 ? amount : 0;
  const [providerId, tradeNo] = [textOf(body["id"]), textOf(body["payment_intent"])];
  if (amountMinor === 0 || tradeNo === "") return undefined;
  return { ...parts, providerId, orderNo: "", tradeNo, amountMinor, isTotal: false };
}

/** Refunds are `re_` or `pyr_`, disputes `dp_` or `du_`, by how was paid and when. */
const OBJECT = /^[a-z]+_\w+$/;

interface Named {
  readonly id: string;
  readonly key: string;
}

export async function refundOf(
  instance: Instance,
  { id, key, type }: Named & { readonly type: string },
  deps: ProviderDeps,
): Promise<Notice> {
  if (type === "charge.refunded" || !OBJECT.test(id)) return { kind: "ignored" };
  const read = (body: Body) => bouncedOf(body) ?? noticeOf(refundReversal(body), key);
  return fetched(instance, { path: `/v1/refunds/${id}`, read }, deps);
}

export async function disputeOf(instance: Instance, { id, key }: Named, deps: ProviderDeps): Promise<Notice> {
  if (!OBJECT.test(id)) return { kind: "ignored" };
  const read = (body: Body) => noticeOf(disputeReversal(body), key);
  return fetched(instance, { path: `/v1/disputes/${id}`, read }, deps);
}

function noticeOf(reversal: Reversal | undefined, key: string): Notice {
  return reversal ? { kind: "reversed", key, reversal } : { kind: "ignored" };
}

/** A refund may fail days after it succeeded, when the payer's bank sends it back (https://docs.stripe.com/refunds, 2026-11). */
function bouncedOf(body: Body): Notice | undefined {
  const [refundId, tradeNo] = [textOf(body["id"]), textOf(body["payment_intent"])];
  const refundNo = textOf(memberOf(body, "metadata")["refund_no"]);
  return body["status"] === "failed" ? { kind: "bounced", refundId, refundNo, tradeNo } : undefined;
}

interface Source {
  readonly path: string;
  readonly read: (body: Body) => Notice;
}

async function fetched(instance: Instance, { path, read }: Source, deps: ProviderDeps): Promise<Notice> {
  const answer = await stripeCall(instance, deps, { method: "GET", path });
  if (answer.kind === "unclear") return { kind: "again" };
  return answer.kind === "ok" ? read(answer.body) : { kind: "ignored" };
}

/** A refund to a bank account takes days to succeed, and a dispute is decided after months. Unit: seconds. */
const REFUND_SEC = 31 * 86_400;
const DISPUTE_SEC = 120 * 86_400;

/** What went back by the end of a span, as it stands now. */
export async function listReversals(
  instance: Instance,
  { fromSec, beforeSec }: Span,
  deps: ProviderDeps,
): Promise<{ readonly reversals: readonly Reversal[] } | { readonly problem: string }> {
  const reversals: Reversal[] = [];
  const lists = [
    { name: "refunds", backSec: REFUND_SEC, read: refundReversal },
    { name: "disputes", backSec: DISPUTE_SEC, read: disputeReversal },
  ] as const;
  for (const { name, backSec, read } of lists) {
    const path = `/v1/${name}?created[gte]=${fromSec - backSec}&created[lt]=${beforeSec}`;
    const found = await listRows(instance, deps, path);
    if ("problem" in found) return found;
    reversals.push(...found.rows.flatMap((row) => read(row) ?? []));
  }
  return { reversals };
}
