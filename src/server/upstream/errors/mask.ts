// Masks a channel's credential in bytes for clients, if an upstream echoes it, plain or with JSON escapes (requirements R18). Pure.

/** A credential, or a part of one, prepared for the search in bytes. */
export interface Canary {
  readonly bytes: Buffer;
  /** The credential without escapes (`unescaped`). */
  readonly plain: string;
  /** A substring of every text that has the credential in escapes. */
  readonly sign: Buffer;
}

/** Prepares a text for the search. */
export function canaryOf(text: string): Canary {
  const bytes = Buffer.from(text);
  const latin = bytes.toString("latin1");
  // Most keys have no character with a short escape: then only `\u00` can escape them, and replies with `\n` need no second search.
  return { bytes, plain: unescaped(latin), sign: /[/"\\\s]/.test(latin) ? ANY_ESCAPE : NUMBER_ESCAPE };
}

/** Of all keys: a channel may have thousands. */
const ANY_ESCAPE = Buffer.from("\\");
const NUMBER_ESCAPE = Buffer.from("\\u00");

/** The bytes without the secrets: each occurrence becomes as many asterisks, so that lengths and JSON stay valid. */
export function maskSecrets(bytes: Buffer, secrets: readonly Canary[]): Buffer;
export function maskSecrets(bytes: Uint8Array, secrets: readonly Canary[]): Uint8Array;
export function maskSecrets(bytes: Uint8Array, secrets: readonly Canary[]): Uint8Array {
  let masked: Buffer | undefined;
  for (const secret of secrets) {
    const { length } = secret.bytes;
    let from = indexIn(masked ?? bytes, secret.bytes, 0);
    while (from >= 0) {
      masked ??= Buffer.from(bytes);
      masked.fill("*", from, from + length);
      from = indexIn(masked, secret.bytes, from + length);
    }
    if (indexIn(masked ?? bytes, secret.sign, 0) >= 0)
      masked = maskEscaped(masked ?? bytes, secret) ?? masked;
  }
  return masked ?? bytes;
}

function indexIn(bytes: Uint8Array, secret: Buffer, from: number): number {
  return asBuffer(bytes).indexOf(secret, from);
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** undefined = the text does not have the secret in escapes. */
function maskEscaped(bytes: Uint8Array, { plain }: Canary): Buffer | undefined {
  // One character per byte.
  const text = asBuffer(bytes).toString("latin1");
  const masked = withoutEscaped(text, plain, (found) => "*".repeat(found.length));
  return masked === text ? undefined : Buffer.from(masked, "latin1");
}

/** Shorter secrets, without backslashes, could match ordinary words. */
const LEAST_CHARACTERS = 4;

/** Replaces a secret whose characters are escaped, once or several times (a JSON text within a JSON text). */
export function withoutEscaped(text: string, plain: string, instead: (found: string) => string): string {
  const isThere = plain.length >= LEAST_CHARACTERS && unescaped(text).includes(plain);
  return isThere ? text.replace(escapedForms(plain), instead) : text;
}

/** Characters by the letters of their short escapes (RFC 8259 7); any other character may have a backslash before it. */
const SHORT = new Map([
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);
const LETTERS = new Map([...SHORT].map(([letter, character]) => [character, letter]));
/** Escapes before a character: up to eight backslashes occur in three nested texts. */
const BEFORE = "(?:\\\\{1,8}u005[cC]){0,8}\\\\{0,8}";

/** A text independent of its escapes: without backslashes, and with the escape letter instead of a line end. */
export function unescaped(text: string): string {
  return text
    .replace(/\\+(?:u([0-9a-fA-F]{4}))?/g, (_, hex?: string) =>
      hex === undefined ? "" : String.fromCharCode(Number.parseInt(hex, 16)),
    )
    .replace(/[\\\b\f\n\r\t]/g, (character) => LETTERS.get(character) ?? "");
}

function escapedForms(plain: string): RegExp {
  const forms = plain.split("").map((character) => {
    const long = SHORT.get(character);
    return `${BEFORE}(?:${formsOf(character)}${long === undefined ? "" : `|${formsOf(long)}`})`;
  });
  return new RegExp(forms.join(""), "g");
}

/** Pattern of a character: itself, or its hexadecimal number in either case. */
function formsOf(character: string): string {
  const hex = character.charCodeAt(0).toString(16).padStart(4, "0");
  return `\\u${hex}|u${hex}|u${hex.toUpperCase()}`;
}
