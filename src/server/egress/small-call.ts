// The bounds of small calls to services that sign users in or carry messages: five seconds, 64 KiB (requirements W4).

export const SMALL_CALL = { timeoutMs: 5_000, limitBytes: 64 * 1024 } as const;

/** A text field of an answer that may be anything; "" when it is not a text. */
export function textField(body: unknown, name: string): string {
  if (typeof body !== "object" || body === null) return "";
  // Any object may be read by name; the value is checked.
  const value = (body as Record<string, unknown>)[name];
  return typeof value === "string" ? value : "";
}
