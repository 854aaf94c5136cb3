// What changed, as the audit log stores it: JSON, in which long texts and lists are cut, and never the JSON itself. Pure.

/** All of it; a list of 20 limits before and after takes half of this. */
const DETAIL_CHARS = 8_000;
/** Of texts that are longer only what differs stands there, with some of what is around. */
const TEXT_CHARS = 240;
/** What differs may take so much; of more the begin and the end are kept. */
const SPAN_CHARS = 1_000;
/** Stands for a secret that was changed. */
const CHANGED = "changed";

type Fields = Readonly<Record<string, unknown>>;

/** `before` of the fields that changed says what they were. A field that only says that it changed has no old value there. */
export function auditText(detail: Fields, before: object = {}): string {
  const known: Fields = { ...before };
  const after: Record<string, unknown> = {};
  const replaced: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(detail)) {
    const old = value === CHANGED ? undefined : known[name];
    const around = differenceOf(old, value);
    after[name] = excerpt(value, around);
    if (old !== undefined && value !== undefined && JSON.stringify(old) !== JSON.stringify(value))
      replaced[name] = excerpt(old, around);
  }
  const whole = Object.keys(replaced).length === 0 ? after : { ...after, before: replaced };
  let text = JSON.stringify(whole);
  for (let most = SPAN_CHARS; text.length > DETAIL_CHARS && most > 1; most = Math.floor(most / 2))
    text = JSON.stringify(shortened(whole, most));
  return text;
}

/** The parts that two texts have in common, at their begin and at their end. Unit: characters. */
interface Around {
  readonly head: number;
  readonly tail: number;
}

function differenceOf(left: unknown, right: unknown): Around | undefined {
  if (typeof left !== "string" || typeof right !== "string") return undefined;
  const shorter = Math.min(left.length, right.length);
  let head = 0;
  while (head < shorter && left[head] === right[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && left.at(-1 - tail) === right.at(-1 - tail)) tail += 1;
  return { head, tail };
}

function excerpt(value: unknown, around: Around | undefined): unknown {
  if (typeof value !== "string" || value.length <= TEXT_CHARS) return value;
  const { head, tail } = around ?? { head: 0, tail: value.length - TEXT_CHARS / 2 };
  const start = Math.max(0, Math.min(head - TEXT_CHARS / 4, value.length - TEXT_CHARS));
  const end = Math.min(value.length, Math.max(value.length - tail + TEXT_CHARS / 4, start + TEXT_CHARS));
  const part = cut(value.slice(start, end), SPAN_CHARS);
  return `${start === 0 ? "" : "…"}${part}${end >= value.length ? "" : "…"}`;
}

/** Begin and end of a text that is longer than so many characters. */
function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const half = Math.ceil(most / 2);
  return `${text.slice(0, half)}…${text.slice(text.length - half)}`;
}

/** Values of which no text and no list is longer than this. */
function shortened(value: unknown, most: number): unknown {
  if (typeof value === "string") return cut(value, most);
  if (Array.isArray(value)) {
    const kept = value.slice(0, most).map((one) => shortened(one, most));
    return value.length > most ? [...kept, `… ${value.length - most}`] : kept;
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shortened(one, most)]));
}
