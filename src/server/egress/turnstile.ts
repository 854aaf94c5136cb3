// Verifies a proof with Turnstile. Everything but a clear success within five seconds is a failure.
// Source: developers.cloudflare.com/turnstile/get-started/server-side-validation
import type { Egress } from "./dispatcher.ts";
import { fetchJson } from "./fetch-json.ts";
import { SMALL_CALL, unreached } from "./small-call.ts";

export interface TurnstileQuestion {
  /** Address of the service, without a trailing slash. */
  readonly url: string;
  readonly secret: string;
  readonly proof: string;
  /** Address of the visitor. */
  readonly address: string;
}

/** `hostname` and `action` are "" when the service omits them. `reason` is short and typed, for the logger; `isProxy` as in `Unreached`. */
export type TurnstileAnswer =
  | { readonly isGood: true; readonly hostname: string; readonly action: string }
  | { readonly isGood: false; readonly reason: string; readonly isProxy?: boolean };

/** Never throws. */
export async function verifyTurnstile(
  egress: Pick<Egress, "send">,
  question: TurnstileQuestion,
): Promise<TurnstileAnswer> {
  const form = new URLSearchParams({
    secret: question.secret,
    response: question.proof,
    remoteip: question.address,
  });
  const result = await fetchJson(egress, {
    ...SMALL_CALL,
    method: "POST",
    url: `${question.url}/turnstile/v0/siteverify`,
    headers: ["content-type", "application/x-www-form-urlencoded"],
    body: form.toString(),
  });
  if (result.kind === "fault") {
    const { problem, isProxy } = unreached(result);
    return { isGood: false, reason: `turnstile ${problem}`, isProxy };
  }
  const { body } = result;
  if (result.status !== 200 || typeof body !== "object" || body === null)
    return { isGood: false, reason: `turnstile status ${result.status}` };
  const answer = { success: false, hostname: "", action: "", ...body };
  if (answer.success !== true) return { isGood: false, reason: `turnstile ${errorCodes(body)}` };
  return { isGood: true, hostname: String(answer.hostname ?? ""), action: String(answer.action ?? "") };
}

/** `invalid-input-response`, `timeout-or-duplicate` …; unknown values are not passed on. */
function errorCodes(body: object): string {
  const codes: unknown = "error-codes" in body ? body["error-codes"] : undefined;
  const known = Array.isArray(codes) ? codes.filter((code) => /^[a-z-]{1,40}$/.test(String(code))) : [];
  return known.join(",") || "said no";
}
