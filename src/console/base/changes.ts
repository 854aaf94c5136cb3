// What of a form was edited. Pure.

/** The fields that no longer hold what they held before. */
export function changesOf<Values extends object>(before: Values, after: Values): Partial<Values> {
  const held = new Map<string, unknown>(Object.entries(before));
  const changed = Object.entries(after).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(held.get(name)),
  );
  // Names and values are those of `after`.
  return Object.fromEntries(changed) as Partial<Values>;
}
