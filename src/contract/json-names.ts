// Names that stand twice in one object of JSON, however they are written: no parser tells of them. JSON.parse takes the last of two values, a
// proxy or a log before us perhaps the first. Pure.

/** Strings, and what begins, parts and ends objects and arrays; the rest of a valid JSON text tells nothing of names. */
const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g;

/** An object or array that is open. */
interface Open {
  /** Of an object, so far; an array has none. */
  readonly names: Set<string>;
  /** The name that stands now. */
  at: string;
}

/** Where a valid JSON text has a name twice in one object: the names that lead there, and the name itself. */
export function repeatedNames(text: string): readonly (readonly string[])[] {
  const found: string[][] = [];
  const open: Open[] = [];
  let last = "";
  for (const [token] of text.matchAll(TOKENS)) {
    const inner = open.at(-1);
    if (token === "{" || token === "[") open.push({ names: new Set(), at: "" });
    else if (token === "}" || token === "]") open.pop();
    else if (token === ":" && inner !== undefined) {
      inner.at = unquoted(last);
      if (inner.names.has(inner.at)) found.push(open.map(({ at }) => at));
      inner.names.add(inner.at);
    }
    last = token;
  }
  return found;
}

function unquoted(text: string): string {
  return text.includes("\\") ? String(JSON.parse(text)) : text.slice(1, -1);
}

/** The first of them; undefined = each stands once. */
export function repeatedName(text: string): string | undefined {
  return repeatedNames(text)[0]?.at(-1);
}
