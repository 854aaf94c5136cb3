// Whether JSON says something twice: JSON.parse takes the last of two values, a proxy or a log before us the first. Pure.

const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],]/g;

/** Whether any object in a valid JSON text has two members of one name, however it is written. */
export function repeatsKey(text: string): boolean {
  /** The names of each object that is open; of a list, none. */
  const open: (Set<string> | undefined)[] = [];
  let isName = false;
  for (const [token] of text.matchAll(TOKENS)) {
    const names = open.at(-1);
    if (token === "{") open.push(new Set());
    else if (token === "[") open.push(undefined);
    else if (token === "}" || token === "]") open.pop();
    else if (token !== "," && isName && names !== undefined) {
      const name: unknown = JSON.parse(token);
      if (names.has(String(name))) return true;
      names.add(String(name));
    }
    isName = token === "{" || token === ",";
  }
  return false;
}
