// 易支付, V1 (MD5) and V2 (RSA): one flow, two signatures. Sites differ in details; what cannot be understood stays open (vendors/epay).
import { isDeepStrictEqual } from "node:util";
import { minorOf, minorText } from "#contract/money.ts";
import type { TextResult } from "#server/egress/fetch-text.ts";
import type {
  Asked,
  CallbackRequest,
  Closed,
  Created,
  Instance,
  Listed,
  Notice,
  OrderFacts,
  Probed,
  Provider,
  ProviderDeps,
  Refunded,
  RefundFacts,
  Span,
} from "#server/payments/provider.ts";
import { SUBJECT } from "#server/payments/provider.ts";
import { formBody, isAmbiguous, type Params, parseForm } from "#server/payments/wire/form.ts";
import { flatMembers, rawMembers } from "#server/payments/wire/raw-json.ts";
import { isNear } from "#server/payments/wire/signatures.ts";
import { callProvider, FORM, objectOf, problemOf } from "./call.ts";
import { EPAY_PAGE, type EpayReturn, listEpay, refundedSum, returnsOf } from "./epay-list.ts";
import { placeOf } from "./epay-place.ts";
import { type Fields, type Version, v1, v2 } from "./epay-versions.ts";

/** What a notice may carry besides what is checked: parameters of requests would make it one (requirements Y11). */
const OF_REQUESTS = ["notify_url", "return_url", "clientip", "device", "method"];

function payFields(instance: Instance, order: OrderFacts, { notifyUrl, returnUrl }: ProviderDeps): Fields {
  return [
    ["pid", instance.merchantId],
    ["type", order.method],
    ["out_trade_no", order.orderNo],
    ["notify_url", notifyUrl],
    ["return_url", returnUrl],
    ["name", SUBJECT],
    ["money", minorText(order.amountMinor)],
  ];
}

async function create(
  version: Version,
  instance: Instance,
  order: OrderFacts,
  deps: ProviderDeps,
): Promise<Created> {
  const fields = payFields(instance, order, deps);
  const page = version.signed(instance, fields, deps.nowSec);
  const more = version === v2 ? ([["method", "web"]] as const) : [];
  const asked = version.signed(
    instance,
    [
      ...fields,
      ...more,
      ["clientip", /^[0-9a-f.:]{3,45}$/i.test(order.clientAddress) ? order.clientAddress : "127.0.0.1"],
      ["device", "pc"],
    ],
    deps.nowSec,
  );
  if (!page || !asked) return { kind: "refused", problem: "no usable key" };
  // The cashier page takes the payer even where the site offers no interface for programs.
  const submit = version === v1 ? "/submit.php" : "/api/pay/submit";
  const fallback = `${instance.baseUrl}${submit}?${formBody(page)}`;
  const result = await post(deps, instance.baseUrl + version.paths.create, asked);
  const answer = read(version, { instance, result, deps });
  if (!answer) return { kind: "unclear", problem: problemOf(result) };
  if (answer.get("code") !== version.okCode(instance))
    return { kind: "refused", problem: "provider refused" };
  const place = placeOf(instance, answer);
  return { kind: "ready", ...place, url: place.url || fallback };
}

function post(deps: ProviderDeps, url: string, fields: Fields): Promise<TextResult> {
  return callProvider(deps, { method: "POST", url, headers: FORM, body: formBody(fields) });
}

/** An answer as flat texts; V2 signs its answers, and one that does not verify says nothing. */
function read(
  version: Version,
  { instance, result, deps }: { instance: Instance; result: TextResult; deps: ProviderDeps },
): Params | undefined {
  if (result.kind === "fault" || result.status !== 200) return undefined;
  const flat = flatMembers(result.text);
  if (!flat?.has("code")) return undefined;
  if (
    version === v2 &&
    flat.get("code") === version.okCode(instance) &&
    !version.verifies(instance, flat, deps.nowSec)
  )
    return undefined;
  if (version === v2 || flat.has("out_trade_no")) return flat;
  // Sites of V1 nest it; what a signature of V2 covers is flat.
  const nested = flatMembers(rawMembers(result.text)?.get("data") ?? "");
  return nested ? new Map([...nested, ...flat]) : flat;
}

async function ask(
  version: Version,
  instance: Instance,
  order: OrderFacts,
  deps: ProviderDeps,
): Promise<Asked> {
  const answer = await look(version, { instance, orderNo: order.orderNo, deps });
  return "problem" in answer
    ? { kind: "unclear", problem: answer.problem }
    : judge(version, { instance, order, answer });
}

function namedOf({ merchantId }: Instance, orderNo: string): Fields {
  return [
    ["pid", merchantId],
    ["out_trade_no", orderNo],
  ];
}

/** What the site says of an order. */
async function look(
  version: Version,
  { instance, orderNo, deps }: { instance: Instance; orderNo: string; deps: ProviderDeps },
): Promise<Params | { readonly problem: string }> {
  const fields = version.authorised(instance, namedOf(instance, orderNo), deps.nowSec);
  if (!fields) return { problem: "no usable key" };
  const result = await question(version, { url: instance.baseUrl + version.paths.query, fields, deps });
  return read(version, { instance, result, deps }) ?? { problem: problemOf(result) };
}

/** V1 asks in the address, V2 by form. */
function question(
  version: Version,
  { url, fields, deps }: { url: string; fields: Fields; deps: ProviderDeps },
): Promise<TextResult> {
  return version === v1
    ? callProvider(deps, { method: "GET", url: `${url}&${formBody(fields)}` })
    : post(deps, url, fields);
}

/** Pages are counted from 1 in V1, rows from 0 in V2. */
async function pageOf(
  version: Version,
  { instance, page, deps }: { instance: Instance; page: number; deps: ProviderDeps },
): Promise<
  { readonly rows: readonly unknown[] } | { readonly problem: string; readonly isRefusal: boolean }
> {
  const named: Fields = [
    ["pid", instance.merchantId],
    ["limit", String(EPAY_PAGE)],
    version === v1 ? ["page", String(page)] : ["offset", String((page - 1) * EPAY_PAGE)],
  ];
  const fields = version.authorised(instance, named, deps.nowSec);
  if (!fields) return { problem: "no usable key", isRefusal: false };
  const result = await question(version, { url: instance.baseUrl + version.paths.orders, fields, deps });
  const answer = read(version, { instance, result, deps });
  const rows = result.kind === "answer" ? objectOf(result.text)?.["data"] : undefined;
  const isYes = answer?.get("code") === version.okCode(instance);
  if (isYes && Array.isArray(rows)) return { rows };
  return answer && !isYes
    ? { problem: codeOf(answer), isRefusal: true }
    : { problem: problemOf(result), isRefusal: false };
}

/** To a question about an order sites say the same with a wrong key: that the key is taken is seen by the list. */
async function probe(
  version: Version,
  instance: Instance,
  orderNo: string,
  deps: ProviderDeps,
): Promise<Probed> {
  const answer = await look(version, { instance, orderNo, deps });
  if ("problem" in answer) return { kind: "unclear", problem: answer.problem };
  const page = await pageOf(version, { instance, page: 1, deps });
  if ("rows" in page) return { kind: "accepted" };
  return { kind: page.isRefusal ? "refused" : "unclear", problem: page.problem };
}

function codeOf(answer: Params): string {
  return `code ${(answer.get("code") ?? "").slice(0, 8)}`;
}

async function list(version: Version, instance: Instance, span: Span, deps: ProviderDeps): Promise<Listed> {
  const listed = await listEpay(instance, span, (page) => pageOf(version, { instance, page, deps }));
  if (listed.kind === "unclear") return listed;
  const returns = await returnsOf(listed, (one) => sumOf(version, { instance, one, deps }));
  if ("problem" in returns) return { kind: "unclear", problem: returns.problem };
  return {
    kind: "listed",
    payments: [...listed.payments.values()],
    returned: [...listed.returned],
    ...returns,
    ...(version === v2 && { isHearsay: true }),
  };
}

/** What went back of an order in all. The rows of V2 are not signed: there the answer about the order counts. */
async function sumOf(
  version: Version,
  { instance, one, deps }: { instance: Instance; one: EpayReturn; deps: ProviderDeps },
): Promise<number | { readonly problem: string }> {
  if (version === v1) return one.totalMinor;
  const answer = await look(version, { instance, orderNo: one.orderNo, deps });
  if ("problem" in answer) return answer;
  const said = ["code", "out_trade_no", "pid", "status"].map((name) => answer.get(name));
  const isSo = isDeepStrictEqual(said, [version.okCode(instance), one.orderNo, instance.merchantId, "2"]);
  return isSo ? refundedSum(answer.get("refundmoney")) : 0;
}

/** Paid only by the full rule (requirements Y16): everything else is open or says nothing. No code means that it is not paid (Y17). */
function judge(
  version: Version,
  { instance, order, answer }: { instance: Instance; order: OrderFacts; answer: Params },
): Asked {
  if (answer.get("code") !== version.okCode(instance)) return { kind: "odd", problem: codeOf(answer) };
  if (answer.get("out_trade_no") !== order.orderNo) return { kind: "unclear", problem: "another order" };
  if (answer.get("pid") !== instance.merchantId) return { kind: "unclear", problem: "another merchant" };
  if (answer.get("status") !== "1") return { kind: "open" };
  if ((answer.get("trade_status") ?? "TRADE_SUCCESS") !== "TRADE_SUCCESS") return { kind: "open" };
  const paid = payment(answer, instance);
  return paid.tradeNo === ""
    ? { kind: "unclear", problem: "no trade number" }
    : { kind: "paid", payment: paid };
}

function payment(params: Params, instance: Instance) {
  return {
    orderNo: params.get("out_trade_no") ?? "",
    tradeNo: params.get("trade_no") ?? "",
    amountMinor: minorOf(params.get("money") ?? "") ?? -1,
    currency: instance.currency,
    paidSec: 0,
  };
}

function readNotice(
  version: Version,
  instance: Instance,
  request: CallbackRequest,
  deps: ProviderDeps,
): Notice {
  const text = request.method === "GET" ? request.query : Buffer.from(request.body).toString("utf8");
  if (request.method === "POST" && request.query !== "")
    return { kind: "refused", problem: "query and body" };
  const params = parseForm(text);
  if (!params) return { kind: "refused", problem: "form" };
  if (isAmbiguous(params) || OF_REQUESTS.some((name) => params.has(name)))
    return { kind: "refused", problem: "parameters of a request" };
  if (!version.verifies(instance, params, deps.nowSec))
    return { kind: "refused", problem: isLate(version, { params, deps }) ? "clock" : "signature" };
  const status = params.get("trade_status") ?? "";
  const paid = payment(params, instance);
  const key = [params.get("pid"), paid.orderNo, paid.tradeNo, status, params.get("money")].join("/");
  if (params.get("pid") !== instance.merchantId) return { kind: "foreign", orderNo: paid.orderNo, key };
  if (status !== "TRADE_SUCCESS") return { kind: "ignored" };
  return paid.tradeNo === ""
    ? { kind: "refused", problem: "no trade number" }
    : { kind: "paid", payment: paid, key };
}

function isLate(version: Version, { params, deps }: { params: Params; deps: ProviderDeps }): boolean {
  return version === v2 && !isNear(params.get("timestamp") ?? "", deps.nowSec);
}

async function refund(
  version: Version,
  instance: Instance,
  order: OrderFacts,
  { refundNo, amountMinor, deps }: RefundFacts & { deps: ProviderDeps },
): Promise<Refunded> {
  const named: Fields = [
    ["pid", instance.merchantId],
    ["trade_no", order.tradeNo],
    ["out_trade_no", order.orderNo],
    ["money", minorText(amountMinor)],
    ...(version === v2 ? ([["out_refund_no", refundNo]] as const) : []),
  ];
  const fields = version.authorised(instance, named, deps.nowSec);
  if (!fields) return { kind: "unclear", problem: "no usable key" };
  const result = await post(deps, instance.baseUrl + version.paths.refund, fields);
  const answer = read(version, { instance, result, deps });
  // V1 knows no number of a refund: what is not a plain yes is decided by a person, who can see the site.
  if (!answer) return { kind: "unclear", problem: problemOf(result) };
  if (answer.get("code") === version.okCode(instance))
    return { kind: "done", providerId: answer.get("refund_no") ?? "" };
  return { kind: "unclear", problem: codeOf(answer) };
}

async function askRefund(
  version: Version,
  instance: Instance,
  _order: OrderFacts,
  { refundNo, deps }: RefundFacts & { deps: ProviderDeps },
): Promise<Refunded> {
  if (version === v1) return { kind: "unclear", problem: "the protocol has no such question" };
  const fields = version.authorised(
    instance,
    [
      ["pid", instance.merchantId],
      ["out_refund_no", refundNo],
    ],
    deps.nowSec,
  );
  if (!fields) return { kind: "unclear", problem: "no usable key" };
  const result = await post(deps, `${instance.baseUrl}/api/pay/refundquery`, fields);
  const answer = read(version, { instance, result, deps });
  if (!answer || answer.get("code") !== version.okCode(instance))
    return { kind: "unclear", problem: problemOf(result) };
  return answer.get("status") === "1"
    ? { kind: "done", providerId: answer.get("refund_no") ?? "" }
    : { kind: "taken" };
}

/** Whatever a site says, the order is asked about again: it may have been paid just now. A late payment is credited in any case. */
async function close(
  version: Version,
  instance: Instance,
  { orderNo }: OrderFacts,
  deps: ProviderDeps,
): Promise<Closed> {
  if (version.paths.close === "") return "closed";
  const fields = version.authorised(instance, namedOf(instance, orderNo), deps.nowSec);
  if (!fields) return "unclear";
  const result = await post(deps, instance.baseUrl + version.paths.close, fields);
  // A site of V2 without this call has no such page.
  if (result.kind === "answer" && result.status === 404) return "closed";
  return read(version, { instance, result, deps }) ? "closed" : "unclear";
}

function createEpay(version: Version): Provider {
  return {
    accepted: { status: 200, body: "success" },
    refused: { status: 400, body: "fail" },
    create: (instance, order, deps) => create(version, instance, order, deps),
    ask: (instance, order, deps) => ask(version, instance, order, deps),
    probe: (instance, orderNo, deps) => probe(version, instance, orderNo, deps),
    read: (instance, request, deps) => readNotice(version, instance, request, deps),
    refund: (instance, order, facts) => refund(version, instance, order, facts),
    askRefund: (instance, order, facts) => askRefund(version, instance, order, facts),
    list: (instance, span, deps) => list(version, instance, span, deps),
    close: (instance, order, deps) => close(version, instance, order, deps),
  };
}

export const epayV1 = createEpay(v1);
export const epayV2 = createEpay(v2);
