// Parameters of notices as they were sent. Parsed here and not by a library: a repeated name, an array or an odd character refuses the whole
// (requirements Y11), and nothing may be guessed. Pure.

export type Params = ReadonlyMap<string, string>;

const MOST = 64;
const NAME = /^[A-Za-z0-9_]{1,64}$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
const CONTROL = /[\u0000-\u001f\u007f]/;

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

/** A query or form by name; undefined = it is refused. */
export function parseForm(text: string): Params | undefined {
  const params = new Map<string, string>();
  for (const pair of text === "" ? [] : text.split("&")) {
    const [, rawName = "", rawValue = ""] = /^([^=]*)=?(.*)$/s.exec(pair) ?? [];
    const [name, value] = [decode(rawName), decode(rawValue)];
    if (name === undefined || value === undefined) return undefined;
    if (!NAME.test(name) || CONTROL.test(value) || params.has(name)) return undefined;
    params.set(name, value);
    if (params.size > MOST) return undefined;
  }
  return params;
}

/** Whether a value could be read as further parameters: what is signed says `a=1&b=2` for both (requirements Y11). */
export function isAmbiguous(params: Params): boolean {
  return [...params].some(([name, value]) => name !== "sign" && value.includes("&"));
}

/** Names and values as a form body. */
export function formBody(params: Iterable<readonly [string, string]>): string {
  return Array.from(
    params,
    ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
  ).join("&");
}

/** `name=value` joined with `&`, sorted by name, unescaped, without empty values: what 易支付 and Alipay sign (requirements Y08). */
export function joined(params: Iterable<readonly [string, string]>, without: readonly string[]): string {
  return Array.from(params)
    .filter(([name, value]) => value !== "" && !without.includes(name))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
}
