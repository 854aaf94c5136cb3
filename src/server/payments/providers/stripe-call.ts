// How Stripe's API is called: one version, one key, and what an answer means (vendors/stripe).
import type { Instance, ProviderDeps } from "#server/payments/provider.ts";
import { formBody } from "#server/payments/wire/form.ts";
import { callProvider, FORM, objectOf } from "./call.ts";

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
  { egress }: ProviderDeps,
  call: StripeCall,
): Promise<StripeAnswer> {
  const [key = ""] = instance.secrets("secret_key");
  const result = await callProvider(egress, {
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

export function isLive(instance: Instance): boolean {
  return !(instance.secrets("secret_key")[0] ?? "").includes("_test_");
}
