// The diagnostic logger: one JSON line per event on stdout, readable lines on a terminal. Secrets are cut out of fields
// by name and out of lines by pattern; prompts and answers are never handed to it (reliability K08, P01).
import { createRequire } from "node:module";
import pino, { type DestinationStream, type Logger } from "pino";

export type { Logger } from "pino";

const SECRET_FIELDS = new Set([
  "password",
  "original_password",
  "key",
  "token",
  "secret",
  "authorization",
  "cookie",
  "access_token",
  "masterkey",
  "databaseurl",
]);

/**
 * Replaces fields with secret names, three levels deep. Own code instead of pino's `redact`, whose wildcard paths cost
 * 40 µs a line where this costs one.
 */
function redactFields(fields: Record<string, unknown>, depth = 3): Record<string, unknown> {
  let copy: Record<string, unknown> | undefined;
  for (const name in fields) {
    const value = fields[name];
    let safe = value;
    if (isSecretField(name)) safe = "[redacted]";
    else if (depth > 0 && isPlainObject(value)) safe = redactFields(value, depth - 1);
    if (safe === value) continue;
    copy ??= { ...fields };
    copy[name] = safe;
  }
  return copy ?? fields;
}

/** Field names come from our own code: there are few, and what is known of one need not be found out again. */
const knownFields = new Map<string, boolean>();
const KNOWN_FIELDS = 1_000;

function isSecretField(name: string): boolean {
  let isSecret = knownFields.get(name);
  if (isSecret === undefined) {
    isSecret = SECRET_FIELDS.has(name.toLowerCase());
    if (knownFields.size < KNOWN_FIELDS) knownFields.set(name, isSecret);
  }
  return isSecret;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/**
 * Forms of secrets that may stand inside a text: relay and provider keys, bearer headers. A key begins where a word does, or
 * after an escape such as the `\n` of a JSON line; that is looked for behind the match, which costs nothing elsewhere.
 */
const SECRET_PATTERNS =
  /[srp]k-(?<=(?:(?<!\w)|\\(?:[bfnrt]|u[\da-f]{4}))[srp]k-)[\w-]{12,}|AIza[\w-]{30,}|(?:Bearer|Basic)(?:\s|\\[tnr])+[\w.~+/=-]{8,}/g;
/** Passwords in addresses. Looking behind is dear, so it is only done where an address stands. */
const URL_PASSWORD = /(?<=:\/\/[^\s:/@]{0,64}:)[^\s/@]+(?=@)/g;

/** Cuts known forms of secrets out of a text. */
export function redactText(text: string): string {
  const safe = text.replace(SECRET_PATTERNS, "[redacted]");
  return safe.includes("://") ? safe.replace(URL_PASSWORD, "[redacted]") : safe;
}

/** Opens the pretty printer when it is installed: a development package that production does not have. */
function prettyStream(): DestinationStream | undefined {
  try {
    const name = "pino-pretty";
    const pretty: (options: object) => DestinationStream = createRequire(import.meta.url)(name);
    return pretty({ sync: true, translateTime: "SYS:HH:MM:ss", ignore: "pid,hostname" });
  } catch {
    return undefined;
  }
}

/** Lines wait for each other this long, or until there are so many bytes: one write for many calls. */
const FLUSH_MS = 100;
const FLUSH_BYTES = 8 * 1024;

/**
 * Builds the root logger. Writing is asynchronous and gathered, so that neither a slow pipe nor many small writes stall
 * streams; exit flushes what is left.
 */
export function createLogger(options: { logLevel: string; pretty: boolean }): Logger {
  const destination =
    (options.pretty ? prettyStream() : undefined) ??
    pino.destination({ dest: 1, sync: false, minLength: FLUSH_BYTES, periodicFlush: FLUSH_MS });
  return pino(
    {
      level: options.logLevel,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: (fields) => redactFields(fields) },
      hooks: { streamWrite: redactText },
    },
    destination,
  );
}
