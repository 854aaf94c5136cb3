// The list of orders of a 易支付 V1 site (`act=orders`): newest first, page by page, without a filter by time (vendors/epay).
import { minorOf } from "#contract/money.ts";
import type { Instance, Listed, Payment, ProviderDeps, Span } from "#server/payments/provider.ts";
import { formBody } from "#server/payments/wire/form.ts";
import { callProvider, memberOf, objectOf, problemOf, textOf } from "./call.ts";

const PAGE = 50;
/** What is beyond says that the site does not sort, or does not end its list. */
const MOST_PAGES = 400;
/** An order can be paid for long after it was made; sites keep it open for less. Unit: seconds. */
const OPEN_SEC = 86_400;

/** `2026-11-24 12:00:00`, which sites write in Beijing time, in seconds; undefined = it is none. */
export function beijingSec(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(text)) return undefined;
  const at = Date.parse(`${text.replace(" ", "T")}+08:00`);
  return Number.isNaN(at) ? undefined : at / 1_000;
}

interface Row {
  readonly tradeNo: string;
  readonly addedSec: number;
  /** undefined = it is not paid. */
  readonly payment: Payment | undefined;
}

/** A row as far as it can be read; undefined = it cannot. */
function rowOf(instance: Instance, value: unknown): Row | undefined {
  const row = memberOf({ value }, "value");
  const tradeNo = textOf(row["trade_no"]);
  const addedSec = beijingSec(textOf(row["addtime"]));
  if (tradeNo === "" || addedSec === undefined) return undefined;
  const isPaid =
    textOf(row["status"]) === "1" && textOf(row["pid"] ?? instance.merchantId) === instance.merchantId;
  const money = row["money"];
  const amount = typeof money === "number" ? money.toFixed(2) : textOf(money);
  const payment = {
    orderNo: textOf(row["out_trade_no"]),
    tradeNo,
    amountMinor: minorOf(amount) ?? -1,
    currency: instance.currency,
    paidSec: beijingSec(textOf(row["endtime"])) ?? 0,
  };
  return { tradeNo, addedSec, payment: isPaid ? payment : undefined };
}

/** One page; undefined = it cannot be understood as a whole. */
async function pageOf(
  instance: Instance,
  { page, key }: { readonly page: number; readonly key: string },
  { egress }: ProviderDeps,
): Promise<readonly Row[] | { readonly problem: string }> {
  const fields = [
    ["pid", instance.merchantId],
    ["limit", String(PAGE)],
    ["page", String(page)],
    ["key", key],
  ] as const;
  const url = `${instance.baseUrl}/api.php?act=orders&${formBody(fields)}`;
  const result = await callProvider(egress, { method: "GET", url });
  const answer = result.kind === "fault" || result.status !== 200 ? undefined : objectOf(result.text);
  const data = answer?.["data"];
  if (textOf(answer?.["code"]) !== "1" || !Array.isArray(data)) return { problem: problemOf(result) };
  const rows = data.map((value) => rowOf(instance, value));
  const read = rows.filter((row) => row !== undefined);
  return read.length === rows.length ? read : { problem: "a row of the list" };
}

/** Everything that was ordered since a day before the span. New orders move the others to later pages: what comes twice is taken once. */
export async function listV1(instance: Instance, { fromSec }: Span, deps: ProviderDeps): Promise<Listed> {
  const [key] = instance.secrets("key");
  if (key === undefined) return { kind: "unclear", problem: "no usable key" };
  const payments = new Map<string, Payment>();
  for (let page = 1; page <= MOST_PAGES; page++) {
    const rows = await pageOf(instance, { page, key }, deps);
    if ("problem" in rows) return { kind: "unclear", problem: rows.problem };
    for (const { tradeNo, payment } of rows) if (payment) payments.set(tradeNo, payment);
    const oldest = Math.min(...rows.map(({ addedSec }) => addedSec));
    if (rows.length < PAGE || oldest < fromSec - OPEN_SEC)
      return { kind: "listed", payments: [...payments.values()] };
  }
  return { kind: "unclear", problem: "too many pages" };
}
