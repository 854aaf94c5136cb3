// What a login provider says of a person, read field by field: nothing in it is trusted to have a form.
import type { Rule } from "#contract/login-provider.ts";

export type Claims = Readonly<Record<string, unknown>>;

/** The value at a path of dotted names and indexes; own fields only. Undefined = absent. */
export function claimAt(claims: unknown, path: string): unknown {
  let value: unknown = claims;
  for (const name of path === "" ? [] : path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    // Any object may be read by name; the value is checked by the caller.
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

/** Whether a rule fits; undefined = its claim is absent, or of another form than a text or a list: that says nothing (requirements I46). */
function fits({ path, value }: Rule, sources: readonly Claims[]): boolean | undefined {
  const told = sources.map((claims) => claimAt(claims, path)).find((one) => one !== undefined);
  const texts = textsOf(told);
  if (texts.includes(value)) return true;
  return typeof told === "string" || Array.isArray(told) ? false : undefined;
}

/**
 * The group that the rules give: of the first that fits; "" = there are no rules, or their claims are there and none fits. Undefined =
 * these claims are absent, which says nothing (requirements I46). What the ID token says counts before what the profile says.
 */
export function groupOf(rules: readonly Rule[], sources: readonly Claims[]): string | undefined {
  return firstOf(
    rules.filter(({ group }) => group !== ""),
    sources,
    { give: ({ group }) => group, none: "" },
  );
}

/** The set of permissions that the rules give, as `groupOf`; 0 = none. */
export function staffSetOf(rules: readonly Rule[], sources: readonly Claims[]): number | undefined {
  return firstOf(
    rules.filter(({ staff_set_id }) => staff_set_id !== 0),
    sources,
    { give: ({ staff_set_id }) => staff_set_id, none: 0 },
  );
}

function firstOf<T>(
  rules: readonly Rule[],
  sources: readonly Claims[],
  { give, none }: { give: (rule: Rule) => T; none: T },
): T | undefined {
  const judged = rules.map((rule) => ({ rule, isFit: fits(rule, sources) }));
  const first = judged.find(({ isFit }) => isFit);
  if (first !== undefined) return give(first.rule);
  return judged.every(({ isFit }) => isFit === undefined) && judged.length > 0 ? undefined : none;
}

/** The teams that the rules speak of, each with the role of its first rule that fits; null = out of it. Not there = they say nothing. */
export function teamsOf(
  rules: readonly Rule[],
  sources: readonly Claims[],
): ReadonlyMap<number, Rule["team_role"] | null> {
  const teams = new Map<number, Rule["team_role"] | null>();
  for (const id of new Set(rules.map(({ team_id }) => team_id).filter((one) => one !== 0))) {
    const judged = rules
      .filter(({ team_id }) => team_id === id)
      .map((rule) => ({ role: rule.team_role, isFit: fits(rule, sources) }));
    const first = judged.find(({ isFit }) => isFit);
    // As long as one of its claims is absent, the provider has not said that the person is out.
    if (first !== undefined) teams.set(id, first.role);
    else if (judged.every(({ isFit }) => isFit === false)) teams.set(id, null);
  }
  return teams;
}
