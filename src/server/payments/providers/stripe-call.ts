// How Stripe's API is called: one version, one key, and what an answer means (vendors/stripe).
import type { Asked, Instance, Listed, Payment, ProviderDeps } from "#server/payments/provider.ts";
import { formBody } from "#server/payments/wire/form.ts";
import { callProvider, FORM, objectOf, recordOf, textOf } from "./call.ts";

/** Fetching with a version of our own makes that of an event's body irrelevant (requirements Y27, vendors/stripe). */
export const STRIPE_VERSION = "2026-10-28.endive";

export interface StripeAnswer {
  readonly kind: "ok" | "refused" | "unclear";
  readonly body: Record<string, unknown>;
  readonly problem: string;
}

interface StripeCall {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly form?: readonly (readonly [string, string])[];
  readonly idempotencyKey?: string;
}

export async function stripeCall(
  instance: Instance,
  deps: ProviderDeps,
  call: StripeCall,
): Promise<StripeAnswer> {
  const [key = ""] = instance.secrets("secret_key");
  const result = await callProvider(deps, {
    method: call.method,
    url: instance.baseUrl + call.path,
    headers: [
      ...["authorization", `Bearer ${key}`, "stripe-version", STRIPE_VERSION],
      ...(call.form ? FORM : []),
      ...(call.idempotencyKey === undefined ? [] : ["idempotency-key", call.idempotencyKey]),
    ],
    body: call.form && formBody(call.form),
  });
  if (result.kind === "fault") return { kind: "unclear", body: {}, problem: result.code };
  const body = objectOf(result.text);
  const problem = `status ${result.status}`;
  if (!body) return { kind: "unclear", body: {}, problem };
  if (result.status === 200) return { kind: "ok", body, problem: "" };
  // A refusal names what is wrong; what may pass by itself says nothing about the order.
  const isRefusal =
    result.status >= 400 && result.status < 500 && ![401, 403, 409, 429].includes(result.status);
  return { kind: isRefusal ? "refused" : "unclear", body, problem };
}

/** The most rows that a page may have. */
export const STRIPE_PAGE = 100;
/** Far more than a shop sells in two days: what is beyond says that something is wrong. */
const MOST_PAGES = 500;

/** What a row of a list says; `invoice` = what was paid stands in another list. */
type Judge = (
  instance: Instance,
  row: Record<string, unknown>,
) => Asked | { readonly kind: "invoice"; readonly id: string };

/** The payments in a list. `path` has a query already. */
export async function listPages(
  instance: Instance,
  deps: ProviderDeps,
  { path, judge }: { readonly path: string; readonly judge: Judge },
): Promise<Listed> {
  const found = await listRows(instance, deps, path);
  if ("problem" in found) return { kind: "unclear", problem: found.problem };
  const payments: Payment[] = [];
  for (const row of found.rows) {
    const asked = judge(instance, row);
    if (asked.kind === "paid") payments.push(asked.payment);
  }
  return { kind: "listed", payments };
}

/** All rows of a list, page by page, each page from the last row of the one before. `path` has a query already. */
export async function listRows(
  instance: Instance,
  deps: ProviderDeps,
  path: string,
): Promise<{ readonly rows: readonly Record<string, unknown>[] } | { readonly problem: string }> {
  const all: Record<string, unknown>[] = [];
  let after = "";
  for (let page = 0; page < MOST_PAGES; page++) {
    const paged = `${path}&limit=${STRIPE_PAGE}${after === "" ? "" : `&starting_after=${after}`}`;
    const answer = await stripeCall(instance, deps, { method: "GET", path: paged });
    const rows = answer.body["data"];
    if (answer.kind !== "ok" || !Array.isArray(rows)) return { problem: answer.problem };
    all.push(...rows.map(recordOf));
    if (answer.body["has_more"] !== true) return { rows: all };
    after = textOf(recordOf(rows.at(-1))["id"]);
    if (!/^\w+$/.test(after)) return { problem: "no id" };
  }
  return { problem: "too many pages" };
}

export function isLive(instance: Instance): boolean {
  return !(instance.secrets("secret_key")[0] ?? "").includes("_test_");
}
