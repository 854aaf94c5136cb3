// Cuts secrets out of texts: known forms, values of telling names, and the secrets this process knows; also where they stand
// behind escapes, percent signs or base64. Pure but for the registry of known secrets.
import { Canaries, cutSpans, mergeSpans, type Span } from "./canaries.ts";
import { isSecretName, isSecretParameter } from "./names.ts";

export const CUT = "[redacted]";

/** Those in use for as long as the process runs, and those that come by: a flood of these must not push out the others. */
const KEPT = 50_000;
const PASSING = 5_000;
const kept = new Canaries(KEPT);
const passing = new Canaries(PASSING);

/** How often another secret became known: what was found harmless before may not be so. */
let generation = 0;

/** Another number than before = what was found harmless has to be searched again. */
export function secretsGeneration(): number {
  return generation;
}

/** Texts found to be harmless, so that what is logged again and again is searched once. */
const harmless = new Set<string>();
const HARMLESS = 2_000;
const HARMLESS_LENGTH = 64;

/**
 * From now on a secret is cut out of every line, also a piece of it. Of a JSON text (a service account's key) only what has a
 * telling name is secret. Shorter than 8 characters: not kept. `isPassing`: one of many that are seen for a moment.
 */
export function hideSecret(text: string, isPassing = false): void {
  const pool = isPassing ? passing : kept;
  let isNew = false;
  for (const secret of text.trimStart().startsWith("{") ? secretsIn(text) : [text]) {
    isNew = pool.add(secret) || isNew;
    const plain = unwrapAll(secret);
    if (plain !== secret) isNew = pool.add(plain) || isNew;
  }
  if (!isNew) return;
  generation += 1;
  harmless.clear();
}

/** The values of telling names in a JSON text; the text itself when it has none. */
function secretsIn(text: string): readonly string[] {
  const found: string[] = [];
  try {
    JSON.parse(text, (name, value: unknown) => {
      if (typeof value === "string" && isSecretName(name)) found.push(value);
      return value;
    });
  } catch {
    return [text];
  }
  return found.length === 0 ? [text] : found;
}

/** Prefixes by which providers' keys are known, and tokens in JWT form. Eight characters more: they may be cut off. */
const KEY_FORMS =
  /(?<![A-Za-z0-9])(?:(?:[srpc]k|sess|nvapi|glpat|xox[a-z]|tvly|GOCSPX)-[\w-]{8,}|(?:xai|pplx)-\w{8,}|(?:gh[oprsu]|github_pat|gsk|hf|r8|fw|npm|pat|tgs|jina|whsec|[srp]k_live|[srp]k_test)_\w{8,}|(?:AIza|ya29\.|1\/\/0)[\w.-]{8,}|(?:AKIA|ASIA|AKID|AKLT|LTAI|ALTAK-?)\w{8,}|eyJ[\w-]{8,}(?:\.[\w-]*)*)/g;
const SCHEMES = /\b(bearer|basic|digest|negotiate)([\s:="']{1,8})[\w.~+/=:-]{8,}/gi;
/** Headers whose whole line is secret: up to its end, or to the quote that closes it. */
const WHOLE_LINES =
  /\b((?:proxy-)?authorization|(?:set-)?cookie2?)(["']?\s{0,8}(?:=>|[:=,])\s{0,8})(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|(?!\[redacted\])[^\r\n]+)/gi;
const NAMES = /([A-Za-z][\w.-]{0,63})(["']?\s{0,8}(?:=>|[:=,])\s{0,8})/g;
/** What stands behind a name: quoted, or a word. */
const VALUE =
  /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|(?!\[redacted\])[^\s"'\\&,;<>(){}[\]][^\s"'&,;<>(){}[\]]*/y;
const PARAMETERS = /([?&;#])([\w.-]{1,64})=((?!\[redacted\])[^&#\s"'<>\\]+)/g;
const ADDRESS_USERS = /(:\/\/)(?!\[redacted\])[^\s/?#"'<>\\]+@/g;
const PEM_BLOCKS = /-----BEGIN [A-Z0-9 ]+-----[\s\S]*?(?:-----END [A-Z0-9 ]+-----|$)/g;
/** Bytes as they are printed. */
const BYTES = /<Buffer[^>]{0,20000}>?|\[(?:\s{0,8}\d{1,3}\s{0,8},){7,}[\s\d]*\]?/g;
/** What may be base64 or hexadecimal of eight characters. */
const BASE64_RUNS = /[A-Za-z0-9+/_-]{11,}/g;
const HEX_RUNS = /[\da-fA-F]{16,}/g;

/** Cuts known forms of secrets, and known secrets in any form, out of a text. What is cut once is not cut again. */
export function redactText(text: string): string {
  if (text.length < 8 || harmless.has(text)) return text;
  let safe = redactLayer(mostTelling(text));
  let layer = safe;
  for (let depth = 0; depth < MAX_DEPTH; depth += 1) {
    const inner = unwrap(layer);
    if (inner === layer) break;
    layer = redactLayer(inner);
    // It can only be shown as it is without its wrapping.
    if (layer !== inner) safe = layer;
  }
  if (safe === text && text.length <= HARMLESS_LENGTH) {
    if (harmless.size >= HARMLESS) harmless.clear();
    harmless.add(text);
  }
  return safe;
}

/** The layer that shows most of known secrets: with the escapes still in them they would only be cut in pieces. */
function mostTelling(text: string): string {
  let best = text;
  let most = 0;
  let layer = text;
  for (let depth = 0; depth <= MAX_DEPTH; depth += 1) {
    const known = mergeSpans(findKnown(layer)).reduce((sum, [from, to]) => sum + to - from, 0);
    if (known > most) [best, most] = [layer, known];
    const inner = unwrap(layer);
    if (inner === layer) break;
    layer = inner;
  }
  return best;
}

function redactLayer(text: string): string {
  const plain = cutKnown(text)
    .replace(PEM_BLOCKS, CUT)
    .replace(BYTES, "[bytes]")
    .replace(KEY_FORMS, CUT)
    .replace(SCHEMES, `$1$2${CUT}`)
    .replace(ADDRESS_USERS, `$1${CUT}@`)
    .replace(WHOLE_LINES, `$1$2${CUT}`);
  return cutNamed(plain)
    .replace(PARAMETERS, (whole, before: string, name: string) =>
      isSecretParameter(name) ? `${before}${name}=${CUT}` : whole,
    )
    .replace(HEX_RUNS, cutHex)
    .replace(BASE64_RUNS, cutBase64);
}

function findKnown(text: string): Span[] {
  const spans = kept.size === 0 ? [] : kept.find(text);
  if (passing.size > 0) spans.push(...passing.find(text));
  return spans;
}

function cutKnown(text: string): string {
  const spans = findKnown(text);
  return spans.length === 0 ? text : cutSpans(text, spans, CUT);
}

/** `master.key: ENOENT`, `invalid token: expired`: a sentence that goes on. */
const PROSE = /(?:key|token) [A-Za-z]{1,15}[:.]?$/i;

/** Cuts the values of telling names. */
function cutNamed(text: string): string {
  let safe = "";
  let end = 0;
  for (const { 0: whole, 1: name = "", 2: between = "", index } of text.matchAll(NAMES)) {
    const from = index + whole.length;
    // A comma stands between name and value in lists of headers; in a sentence it stands behind any word.
    const isPair = !between.includes(",") || /[-_"']/.test(name + between);
    if (from < end || !isPair || !isSecretName(name)) continue;
    VALUE.lastIndex = from;
    const value = VALUE.exec(text)?.[0] ?? "";
    const quote = /^["']/.exec(value)?.[0] ?? "";
    if (value.length <= quote.length || (between === ": " && PROSE.test(`${name} ${value}`))) continue;
    safe += text.slice(end, from) + quote + CUT + quote;
    end = from + value.length;
  }
  return end === 0 ? text : safe + text.slice(end);
}

/** A secret may begin with any digit of a run that hides it in hexadecimal. */
function cutHex(run: string): string {
  return [0, 1].some((start) => isTelling(Buffer.from(run.slice(start), "hex"))) ? CUT : run;
}

/** In base64 it may begin with any of four characters. */
function cutBase64(run: string): string {
  return [0, 1, 2, 3].some((start) => isTelling(Buffer.from(run.slice(start), "base64"))) ? CUT : run;
}

function isTelling(bytes: Buffer): boolean {
  const text = bytes.toString();
  return text.search(KEY_FORMS) >= 0 || cutKnown(text) !== text;
}

/** Layers of wrapping that are looked under: JSON within JSON within an address. */
const MAX_DEPTH = 5;
const WRAPPED =
  /(?:%[\da-fA-F]{2})+|\\(?:u[\da-fA-F]{4}|x[\da-fA-F]{2}|["'\\/bfnrt])|&(?:quot|amp|lt|gt|#\d{1,5});/g;
const ESCAPES: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const ENTITIES: Readonly<Record<string, string>> = { "&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">" };

/** Takes one layer of escapes off. */
function unwrap(text: string): string {
  return /[%\\&]/.test(text) ? text.replace(WRAPPED, plainOf) : text;
}

function unwrapAll(text: string): string {
  let plain = text;
  for (let depth = 0; depth < MAX_DEPTH; depth += 1) plain = unwrap(plain);
  return plain;
}

function plainOf(wrapped: string): string {
  const sign = wrapped.charAt(1);
  if (wrapped.startsWith("%")) return Buffer.from(wrapped.replaceAll("%", ""), "hex").toString();
  if (wrapped.startsWith("&")) return ENTITIES[wrapped] ?? String.fromCharCode(Number(wrapped.slice(2, -1)));
  if (sign === "u" || sign === "x") return String.fromCharCode(Number.parseInt(wrapped.slice(2), 16));
  return ESCAPES[sign] ?? sign;
}
