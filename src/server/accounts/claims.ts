// What a login provider says of a person, read field by field: nothing in it is trusted to have a form.
import type { Rule } from "#contract/sign-on.ts";

export type Claims = Readonly<Record<string, unknown>>;

/** The value at a path of dotted names and indexes; own fields only. Undefined = absent. */
export function claimAt(claims: unknown, path: string): unknown {
  let value: unknown = claims;
  for (const name of path === "" ? [] : path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    // Any object may be read by name; the value is checked by whoever uses it.
    value = (value as Record<string, unknown>)[name];
  }
  return path === "" ? undefined : value;
}

/** A text; "" for everything else. */
export function textAt(claims: unknown, path: string): string {
  const value = claimAt(claims, path);
  return typeof value === "string" ? value.trim() : "";
}

const MAX_SUBJECT = 255;

/** What identifies a person: a text, or a whole number that JSON carries unchanged. Undefined for everything else. */
export function subjectOf(value: unknown): string | undefined {
  const text = typeof value === "number" && Number.isSafeInteger(value) ? String(value) : value;
  if (typeof text !== "string" || text.trim() === "" || text.length > MAX_SUBJECT) return undefined;
  return text.includes("\0") ? undefined : text;
}

/** Whether a provider says that an address is proved: some send the flag as text; missing is no. */
export function isTrue(value: unknown): boolean {
  return value === true || value === "true";
}

/** The texts of a claim that is a text or a list. */
function textsOf(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.filter((one) => typeof one === "string");
  return typeof value === "string" ? [value] : [];
}

/**
 * The group that the rules give: of the first that fits; "" = the claims that rules look at are there and none fits. Undefined = these
 * claims are absent, which says nothing (requirements I46). What the ID token says counts before what the profile says.
 */
export function groupOf(rules: readonly Rule[], sources: readonly Claims[]): string | undefined {
  let isTold = false;
  for (const { path, value, group } of rules) {
    const told = sources.map((claims) => claimAt(claims, path)).find((one) => one !== undefined);
    if (told === undefined) continue;
    if (textsOf(told).includes(value)) return group;
    // Something of another form is no empty list.
    isTold ||= typeof told === "string" || Array.isArray(told);
  }
  return isTold ? "" : undefined;
}
