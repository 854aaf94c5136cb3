// The one way to call a provider: bounded, no redirects, the address policy in force; addresses with keys in them reach no log.
import type { Egress } from "#server/egress/dispatcher.ts";
import { type BytesResult, fetchBytes, fetchText, type TextResult } from "#server/egress/fetch-text.ts";
import type { ProviderDeps } from "#server/payments/provider.ts";

const TIMEOUT_MS = 15_000;
const LIMIT_BYTES = 1024 * 1024;
/** A day's bill, some 100,000 payments, and the time to fetch it in. */
const BILL_BYTES = 32 * 1024 * 1024;
const BILL_TIMEOUT_MS = 120_000;

export interface ProviderCall {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly headers?: readonly string[];
  readonly body?: string | undefined;
}

/** Never throws. What the provider's clock says is passed on, whatever the answer is. */
export async function callProvider(
  { egress, turn, heardDate }: Pick<ProviderDeps, "egress" | "turn" | "heardDate">,
  call: ProviderCall,
): Promise<TextResult> {
  await turn();
  const result = await fetchText(egress, {
    timeoutMs: TIMEOUT_MS,
    limitBytes: LIMIT_BYTES,
    headers: [],
    ...call,
  });
  if (result.kind === "answer") heardDate(textOf(result.headers["date"]));
  return result;
}

/** Fetches a file that a provider keeps ready. Never throws. */
export function fetchBill(
  egress: Pick<Egress, "send">,
  { url, headers = [] }: { readonly url: string; readonly headers?: readonly string[] },
): Promise<BytesResult> {
  const call = { method: "GET", url, headers, timeoutMs: BILL_TIMEOUT_MS, limitBytes: BILL_BYTES } as const;
  return fetchBytes(egress, call);
}

export const FORM = ["content-type", "application/x-www-form-urlencoded; charset=utf-8"] as const;
export const JSON_BODY = ["content-type", "application/json", "accept", "application/json"] as const;

/** A JSON object of an answer; undefined = it is none. */
export function objectOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    // Any object may be read by name.
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** A text or a whole number as text; "" for anything else. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "number" && Number.isSafeInteger(value) ? String(value) : "";
}

/** An object, to be read by name; an empty one for anything else. */
export function recordOf(value: unknown): Record<string, unknown> {
  // Any object may be read by name.
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** A member that is an object itself; an empty one for anything else. */
export function memberOf(value: unknown, name: string): Record<string, unknown> {
  return recordOf(recordOf(value)[name]);
}

/** Why an answer says nothing, in a word. */
export function problemOf(result: TextResult | BytesResult): string {
  return result.kind === "fault" ? result.code : `status ${result.status}`;
}
