// Values of other gateways' rules as values of ours, which mean the same (requirements C37). Pure.
import { isLengthName, isLimit, literal } from "#contract/rewrite-law.ts";
import { asObject } from "#server/upstream/json/values.ts";

/** A value whose texts are sent as they stand: what is a template here is none there. */
export function plainValue(value: unknown): unknown {
  if (!JSON.stringify(value ?? null).includes("{{")) return value;
  return JSON.parse(JSON.stringify(value), (_name, inner: unknown) =>
    typeof inner === "string" ? literal(inner) : inner,
  );
}

/** A header's text with the channel's key where `{api_key}` stands. */
export function headerText(text: string): string {
  return text.split("{api_key}").map(literal).join("{{key}}");
}

/** What sets a value. Limits of output in it are set by themselves, since only a path of their own may do that (requirements C35). */
export function settingActions(path: string, value: unknown): readonly unknown[] {
  const limits = Object.entries(asObject(value) ?? {}).filter(
    ([name, inner]) => isLengthName(name) && isLimit(inner),
  );
  if (limits.length === 0) return [{ op: "set", path, value: plainValue(value) }];
  const names = new Set(limits.map(([name]) => name));
  const rest = Object.entries(asObject(value) ?? {}).filter(([name]) => !names.has(name));
  return [
    { op: "set", path, value: plainValue(Object.fromEntries(rest)) },
    ...limits.map(([name, limit]) => ({ op: "set", path: `${path}/${name}`, value: limit })),
  ];
}
