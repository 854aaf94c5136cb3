// Removes from an upstream's text what no caller may read: credentials, accounts and addresses (requirements R18, R19), and internals of
// servers (requirements P02). Pure.
import { isAddress6 } from "#server/egress/policy.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import { unescaped, withoutEscaped } from "./mask.ts";

const MAX_WORDS = 2_000;
/** The most characters of JSON that encode one: backslashes, `u` and four digits. */
const LONGEST_ESCAPE = 13;
/** No real error is nested deeper. */
const MOST_LEVELS = 12;
const HIDDEN = "***";
/** The form of an IPv6 address, but also of a time or a C++ name. */
const COLONS = /(?<![\w:.])[0-9a-f]{0,4}:[0-9a-f:]{1,37}(?![\w:])/gi;
/** Of control characters only tabs and line ends stay; this removes terminal escapes. */
const CONTROLS = /(?![\t\n])\p{Cc}(\[[\d;]{0,20}[A-Za-z])?/gu;

const CREDENTIALS = [
  /\b(sk|ap|fk|sb|gsk|rk|pk|ak|key|fastgpt)-[-\w*.]{6,}/gi,
  /\bAIza[-\w]{10,}/g,
  /\b(org|proj|user)-[A-Za-z0-9]{6,}/g,
];

/** Stack frames, SQL statements, files and hosts of a private network. API paths and plain English stay. */
const INSIDES = [
  /\s*\bat (?:[^\n(]{0,100}\()?(?:file:|node:|\/|[A-Z]:\\)[^\s()]*:\d+:\d+\)?/g,
  /\bTraceback \(most recent call last\):?|\bFile "[^"\n]+", line \d+(?:, in \S+)?/g,
  /\b(?:SELECT\b[^\n]{0,300}?\bFROM|INSERT INTO|UPDATE\b[^\n]{0,100}?\bSET|DELETE FROM)\b[^\n]*/g,
  /\bfile:\/\/\/[^\s"'`)]*|(?<![\w./-])\/(?:app|etc|home|mnt|opt|proc|root|srv|tmp|usr|var|Users)\/[^\s"'`),:;]*/g,
  /\b[A-Za-z]:\\[^\s"'`),;]*/g,
  /\blocalhost\b(?::\d+)?|\b(?:[\w-]{1,63}\.)+(?:internal|local|localdomain|lan|svc|intranet)\b(?::\d+)?/gi,
  /\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b/g,
];

/** The redacted text, truncated to 2,000 characters. */
export function redact(text: string, secrets: readonly string[]): string {
  // A secret across the truncation point is removed before it.
  const longest = Math.max(0, ...secrets.map(({ length }) => length));
  let clean = text.slice(0, MAX_WORDS + LONGEST_ESCAPE * longest).replace(CONTROLS, "");
  const mayHideOne = clean.includes("\\");
  for (const secret of secrets) {
    if (secret.length < 4) continue;
    clean = clean.replaceAll(secret, HIDDEN);
    if (mayHideOne) clean = withoutEscaped(clean, unescaped(secret), () => HIDDEN);
  }
  clean = clean.slice(0, MAX_WORDS);
  for (const pattern of [...CREDENTIALS, ...INSIDES]) clean = clean.replace(pattern, HIDDEN);
  return clean.replace(COLONS, (found) => (isAddress6(found) && /\d/.test(found) ? HIDDEN : found));
}

/** The same for every string in an object, including property names. */
export function redactObject(value: JsonRecord, secrets: readonly string[], level = 0): JsonRecord {
  const parts = Object.entries(value).map(([name, item]) => [
    redact(name, secrets),
    redactValue(item, secrets, level + 1),
  ]);
  return Object.fromEntries(parts);
}

function redactValue(value: unknown, secrets: readonly string[], level: number): unknown {
  if (typeof value === "string") return redact(value, secrets);
  if (level > MOST_LEVELS && typeof value === "object") return HIDDEN;
  if (Array.isArray(value)) return value.map((item) => redactValue(item, secrets, level + 1));
  const object = asObject(value);
  return object === undefined ? value : redactObject(object, secrets, level);
}
