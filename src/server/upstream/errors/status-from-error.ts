// Errors within a stream, a conversation or an answer with status 200 have no status of their own: it is derived from their code or type,
// never from prose. Pure.
import { OVERFLOW } from "./overflow.ts";

/** Source: requirements T3.3, T21.1, T21.4; OpenAI's guide "Error codes". */
const STATUSES: ReadonlyMap<unknown, number> = new Map([
  // OpenAI's codes of an account without credit, which compatible vendors use too; the second one is Moonshot's.
  ["insufficient_quota", 429],
  ["exceeded_current_quota_error", 429],
  ["billing_not_active", 429],
  ["billing_hard_limit_reached", 402],
  ["rate_limit_exceeded", 429],
  ["invalid_api_key", 401],
  ["account_deactivated", 401],
  ["model_not_found", 404],
  ["invalid_prompt", 400],
  [OVERFLOW, 400],
]);

/** The status that an error with this code, or else this type, would have had; undefined = unknown. */
export function toldStatus(...words: readonly unknown[]): number | undefined {
  return words.map((word) => STATUSES.get(word)).find((status) => status !== undefined);
}
