// The bounds of small calls to services that sign users in or carry messages: five seconds, 64 KiB (requirements W4); and what is told of one
// that did not come through.
import type { EgressFault } from "./send.ts";

export const SMALL_CALL = { timeoutMs: 5_000, limitBytes: 64 * 1024 } as const;

/** A call that did not come through. `problem` is short and typed, for the logger: of what the outbound proxy did it begins with `proxy_`. */
export interface Unreached {
  readonly problem: string;
  /** It is the outbound proxy's doing, and the service has not heard of it (requirements C13). */
  readonly isProxy: boolean;
}

export function unreached(fault: Pick<EgressFault, "code" | "isProxy">): Unreached {
  const { code } = fault;
  const isProxy = fault.isProxy === true;
  return { problem: isProxy && !code.startsWith("proxy_") ? `proxy_${code}` : code, isProxy };
}

/** A text field of an answer that may be anything; "" when it is not a text. */
export function textField(body: unknown, name: string): string {
  if (typeof body !== "object" || body === null) return "";
  // Any object may be read by name; the value is checked.
  const value = (body as Record<string, unknown>)[name];
  return typeof value === "string" ? value : "";
}
