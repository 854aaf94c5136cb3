// Parts of a JSON text as they were written: signatures are over the bytes that were sent, not over what they mean. Pure.

/** What matters for where a value ends: texts are stepped over whole. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],]/gs;

/** Where the value that begins at `from` ends; undefined = the text is broken. */
function endOfValue(text: string, from: number): number | undefined {
  let depth = 0;
  TOKEN.lastIndex = from;
  for (let token = TOKEN.exec(text); token; token = TOKEN.exec(text)) {
    const [sign] = token;
    const isOpening = sign === "{" || sign === "[";
    const isClosing = sign === "}" || sign === "]";
    // A plain value ends before the comma, or where its object does.
    if (depth === 0 && (sign === "," || isClosing)) return token.index;
    depth += isOpening ? 1 : isClosing ? -1 : 0;
    if (depth === 0 && isClosing) return TOKEN.lastIndex;
  }
  return undefined;
}

/** The members of the object that a JSON text is, each value as it was written; undefined = it is no object, or names one twice. */
export function rawMembers(text: string): Map<string, string> | undefined {
  const members = new Map<string, string>();
  try {
    const whole: unknown = JSON.parse(text);
    if (typeof whole !== "object" || whole === null || Array.isArray(whole)) return undefined;
  } catch {
    return undefined;
  }
  const member = /[{,]\s*("(?:[^"\\]|\\.)*")\s*:\s*/y;
  member.lastIndex = text.indexOf("{");
  for (let found = member.exec(text); found; found = member.exec(text)) {
    const name = String(JSON.parse(found[1] ?? '""'));
    const end = endOfValue(text, member.lastIndex);
    if (end === undefined || members.has(name)) return undefined;
    members.set(name, text.slice(member.lastIndex, end).trimEnd());
    member.lastIndex = end + (/^\s*/.exec(text.slice(end))?.[0].length ?? 0);
  }
  return members;
}

/** The members as the texts that a form would carry: numbers as they were written, objects left out. */
export function flatMembers(text: string): Map<string, string> | undefined {
  const members = rawMembers(text);
  if (!members) return undefined;
  const flat = new Map<string, string>();
  for (const [name, raw] of members) {
    if (raw.startsWith("{") || raw.startsWith("[") || raw === "null") continue;
    flat.set(name, raw.startsWith('"') ? String(JSON.parse(raw)) : raw);
  }
  return flat;
}
