// Where an error body of any shape keeps its message and its codes. Pure.

/** The members of an unknown error JSON that may have its message, in this order (requirements T21.1). */
const MESSAGE_PATHS = [
  ["error"],
  ["error", "message"],
  ["error", "msg"],
  ["message"],
  ["msg"],
  ["err"],
  ["error_msg"],
  ["errmsg"],
  ["error_description"],
  ["detail"],
  ["detail", "0", "msg"],
  ["message", "detail", "0", "msg"],
  ["base_resp", "status_msg"],
  ["header", "message"],
  ["response", "error", "message"],
  ["Response", "Error", "Message"],
  ["errors", "0", "message"],
  ["title"],
] as const;

const SIGNAL_PATHS = [
  ["error", "code"],
  ["error", "type"],
  ["error", "status"],
  ["code"],
  ["error_code"],
  ["base_resp", "status_code"],
  ["header", "code"],
  ["Response", "Error", "Code"],
] as const;

function at(value: unknown, path: readonly string[]): unknown {
  let current = value;
  for (const step of path) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, step)) return undefined;
    // Just seen to be an object (or array) that owns this key.
    current = (current as Record<string, unknown>)[step];
  }
  return current;
}

/** The message in an error body of unknown shape; undefined = none found. */
export function messageOf(body: unknown): string | undefined {
  for (const path of MESSAGE_PATHS) {
    const found = at(body, path);
    if (typeof found === "string" && found.trim() !== "") return found;
  }
  return undefined;
}

/** Codes and types of an error body, never prose (requirements W9.5, R26). */
export function signalsOf(body: unknown): string[] {
  return SIGNAL_PATHS.flatMap((path) => {
    const found = at(body, path);
    return typeof found === "string" || typeof found === "number" ? [String(found)] : [];
  });
}

/** The title of an HTML error page, e.g. a CDN's. */
export function titleOf(text: string): string | undefined {
  const title = /<title[^>]*>([^<]{1,200})/i.exec(text)?.[1]?.trim();
  return title === "" ? undefined : title;
}
