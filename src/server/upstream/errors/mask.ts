// Keeps a channel's credential out of what goes to clients, should an upstream echo it, plain or escaped as JSON may (requirements R18).
// Pure.

/** A credential, or a part of one, ready to be looked for in bytes. */
export interface Canary {
  readonly bytes: Buffer;
  /** Whatever its escapes are (`unescaped`). */
  readonly plain: string;
  /** What stands in every text that holds the credential in escapes. */
  readonly sign: Buffer;
}

/** Makes a text one to look for. */
export function canaryOf(text: string): Canary {
  const bytes = Buffer.from(text);
  const latin = bytes.toString("latin1");
  // Most keys have no character with a short escape: then `\u00` it is, and replies with their `\n` are not looked at again.
  return { bytes, plain: unescaped(latin), sign: Buffer.from(/[/"\\\s]/.test(latin) ? "\\" : "\\u00") };
}

/** The bytes without the secrets: each occurrence becomes as many asterisks, so that lengths and JSON stay as they are. */
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

/** undefined = the secret is not there in escapes. */
function maskEscaped(bytes: Uint8Array, { plain }: Canary): Buffer | undefined {
  // One character a byte.
  const text = asBuffer(bytes).toString("latin1");
  const masked = withoutEscaped(text, plain, (found) => "*".repeat(found.length));
  return masked === text ? undefined : Buffer.from(masked, "latin1");
}

/** Without its backslashes a secret may be as short as any word. */
const LEAST_CHARACTERS = 4;

/** The text with another one in the place of a secret whose characters are escaped, once or as in a text within a text. */
export function withoutEscaped(text: string, plain: string, instead: (found: string) => string): string {
  const isThere = plain.length >= LEAST_CHARACTERS && unescaped(text).includes(plain);
  return isThere ? text.replace(escapedForms(plain), instead) : text;
}

/** Characters by the letters of their short escapes (RFC 8259 7); any other one may have a backslash before it. */
const SHORT = new Map([
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);
const LETTERS = new Map([...SHORT].map(([letter, character]) => [character, letter]));
/** What may stand before a character: up to eight backslashes are those of a text within a text within a text. */
const BEFORE = "(?:\\\\{1,8}u005[cC]){0,8}\\\\{0,8}";

/** A text as it is whatever its escapes are: without any backslash, and with the letter of a line's end instead of it. */
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

/** Source of a pattern: itself, or its number in either case. */
function formsOf(character: string): string {
  const hex = character.charCodeAt(0).toString(16).padStart(4, "0");
  return `\\u${hex}|u${hex}|u${hex.toUpperCase()}`;
}
