// What an entry of the audit log says about the act. Pure.

/** A field of the act: its value, and the one it replaced where that is known. */
export interface DetailField {
  readonly name: string;
  readonly before?: string;
  readonly after: string;
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value === "" ? "（空）" : value;
  return JSON.stringify(value) ?? "";
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The fields of a detail; undefined when it is no JSON: old entries were cut wherever they became too long. */
export function detailFields(detail: string): readonly DetailField[] | undefined {
  if (detail === "") return [];
  try {
    const read: unknown = JSON.parse(detail);
    if (!isObject(read)) return undefined;
    const { before = {}, ...after } = read;
    const replaced = isObject(before) ? before : {};
    return Object.entries(after).map(([name, value]) => ({
      name,
      after: textOf(value),
      ...(Object.hasOwn(replaced, name) ? { before: textOf(replaced[name]) } : {}),
    }));
  } catch {
    return undefined;
  }
}

/** A detail in one line. */
export function detailText(detail: string): string {
  const fields = detailFields(detail);
  if (fields === undefined) return detail;
  return fields
    .map(({ name, before, after }) => `${name}：${before === undefined ? "" : `${before} → `}${after}`)
    .join("，");
}
