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

/** What every one of these forms has in it: nearly no line does, and looking for it is cheap. */
const SIGNS = ["k-", "AIza", "earer", "asic"] as const;

/** Cuts known forms of secrets out of a text. */
export function redactText(text: string): string {
  const isSuspect = SIGNS.some((sign) => text.includes(sign));
  const safe = isSuspect ? text.replace(SECRET_PATTERNS, "[redacted]") : text;
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

/** Lines wait for each other this long, or until there are so many characters: one write for many calls. */
const FLUSH_MS = 100;
const FLUSH_LENGTH = 16 * 1024;

/** Where gathered lines go; pino's file stream is one. */
interface Sink extends DestinationStream {
  flushSync(): void;
}

/**
 * Gathers lines in front of a stream. Pino's own gathering measures all that it holds again with every line, which at
 * thousands of calls a second was a tenth of all memory that was allocated.
 */
export class Gatherer implements Sink {
  readonly #sink: Sink;
  #lines: string[] = [];
  #length = 0;

  constructor(sink: Sink) {
    this.#sink = sink;
    setInterval(() => this.#passOn(), FLUSH_MS).unref();
  }

  write(line: string): void {
    this.#lines.push(line);
    this.#length += line.length;
    if (this.#length >= FLUSH_LENGTH) this.#passOn();
  }

  /** Writes what is left before it returns: for the end of the process and for the worst news. */
  flushSync(): void {
    // Emptied first, so that what follows is too little to be written in the background.
    this.#sink.flushSync();
    this.#passOn();
    this.#sink.flushSync();
  }

  #passOn(): void {
    if (this.#length === 0) return;
    const text = this.#lines.join("");
    this.#lines = [];
    this.#length = 0;
    this.#sink.write(text);
  }
}

/** Standard output, written without waiting; what is left goes out when the process ends. */
function standardOutput(): DestinationStream {
  // Larger than anything gathered, at three bytes a character: see flushSync.
  const minLength = 3 * FLUSH_LENGTH;
  const gathered = new Gatherer(
    pino.destination({ dest: 1, sync: false, minLength, maxWrite: 2 * minLength, periodicFlush: FLUSH_MS }),
  );
  process.on("exit", () => gathered.flushSync());
  return gathered;
}

/** Makes pino's member for the time, ISO 8601 in UTC; lines of one millisecond share it. */
function timestamps(now: () => number): () => string {
  let stampMs = 0;
  let stamp = "";
  return () => {
    const nowMs = now();
    if (nowMs !== stampMs) {
      stampMs = nowMs;
      stamp = `,"time":"${new Date(nowMs).toISOString()}"`;
    }
    return stamp;
  };
}

/**
 * Builds the root logger. Writing is asynchronous and gathered, so that neither a slow pipe nor many small writes stall
 * streams; exit flushes what is left.
 */
export function createLogger(options: { logLevel: string; pretty: boolean; now: () => number }): Logger {
  const destination = (options.pretty ? prettyStream() : undefined) ?? standardOutput();
  return pino(
    {
      level: options.logLevel,
      base: null,
      timestamp: timestamps(options.now),
      formatters: { level: (label) => ({ level: label }), log: (fields) => redactFields(fields) },
      hooks: { streamWrite: redactText },
    },
    destination,
  );
}
