// Makes what is handed to the logger safe to write: plain data without secrets, bounded in depth and size. Never changes what
// it is given, never throws.
import { isSecretName } from "./names.ts";
import { CUT, redactText, secretsGeneration } from "./texts.ts";

/** Deeper, or more than so many things in one line: left out rather than looked at. */
const MAX_DEPTH = 8;
const MAX_THINGS = 1_000;
/** Unit: characters. */
const MAX_TEXT = 16_384;
/** Where a text is cut, this much more goes unless a word ends before: half a secret is not known for one. */
const TORN_WORD = 256;

interface Name {
  readonly isSecret: boolean;
  /** Numbers are secret too; those of tokens and keys are counts. */
  readonly isSecretNumber: boolean;
  /** What another field tells of: {name: "authorization", value: "…"}. */
  readonly isValue: boolean;
  /** As it is written. */
  readonly safe: string;
}

/** Field names come from our own code: there are few, and what is known of one need not be found out again. */
const knownNames = new Map<string, Name>();
const KNOWN_NAMES = 1_000;
const NAME_LENGTH = 64;
let namesGeneration = 0;

function nameOf(text: string): Name {
  if (namesGeneration !== secretsGeneration()) {
    namesGeneration = secretsGeneration();
    knownNames.clear();
  }
  const known = knownNames.get(text);
  if (known !== undefined) return known;
  const isShort = text.length <= NAME_LENGTH;
  const isSecret = isShort && isSecretName(text);
  // Quotes would end the name in the line, which the writer does not look at.
  const safe = safeText(text).replace(UNWRITABLE, "_");
  const isSecretNumber = isSecret && !/s$/i.test(text);
  const name = { isSecret, isSecretNumber, isValue: /^values?$/i.test(text), safe };
  if (isShort && knownNames.size < KNOWN_NAMES) knownNames.set(text, name);
  return name;
}

const UNWRITABLE = /["\\\p{Cc}]/gu;

/** The arguments of a call to the logger, safe: a thing or nothing, then texts. */
export function safeArguments(args: readonly unknown[]): unknown[] {
  const [first] = args;
  if (!(first instanceof Error)) return args.map(safeValue);
  const texts = args.length > 1 ? args.slice(1).map(safeValue) : [safeText(messageOf(first))];
  return [{ err: safeValue(first) }, ...texts];
}

/** Anything as plain data without secrets; the same object when there is nothing to change. */
export function safeValue(value: unknown): unknown {
  if (typeof value === "string") return safeText(value);
  if (typeof value !== "object" || value === null) return safePrimitive(value);
  return isFlat(value) ? value : new Walk().object(value, 0);
}

/** Whether fields are texts, numbers and booleans that have nothing to hide: they may be written as they are. */
export function isFlat(fields: unknown): fields is Record<string, unknown> {
  return typeof fields === "object" && fields !== null && isPlain(fields) && isHarmless(fields);
}

/** Whether a text may be written as it is. */
export function isHarmlessText(text: unknown): text is string {
  return typeof text === "string" && safeText(text) === text;
}

/** Whether fields are flat and have nothing to hide, as nearly all lines. */
function isHarmless(fields: Record<string, unknown>): boolean {
  for (const name in fields) {
    const known = nameOf(name);
    if (known.isSecretNumber || known.isValue || known.safe !== name) return false;
    const value = fields[name];
    if (typeof value === "number" || typeof value === "boolean" || value === undefined) continue;
    if (known.isSecret || typeof value !== "string" || safeText(value) !== value) return false;
  }
  return true;
}

function safePrimitive(value: unknown): unknown {
  switch (typeof value) {
    case "bigint":
      return String(value);
    case "function":
    case "symbol":
      return `[${typeof value}]`;
    default:
      return value;
  }
}

function safeText(text: string): string {
  // Ids of requests differ in each line.
  if (text.length === REQUEST_ID_LENGTH && REQUEST_ID.test(text)) return text;
  if (text.length <= MAX_TEXT) return redactText(text);
  const head = text.slice(0, MAX_TEXT);
  const end = head.slice(-TORN_WORD).search(/\s\S*$/);
  return `${redactText(head.slice(0, end < 0 ? -TORN_WORD : MAX_TEXT - TORN_WORD + end))}…`;
}

const REQUEST_ID_LENGTH = 31;
const REQUEST_ID = /^20\d{29}$/;

function messageOf(error: Error): string {
  try {
    return String(error.message);
  } catch {
    return "";
  }
}

/** One thing on its way into a line, with all that hangs on it. */
class Walk {
  readonly #path = new Set<object>();
  #things = 0;

  object(value: object, depth: number): unknown {
    this.#things += 1;
    if (depth > MAX_DEPTH || this.#things > MAX_THINGS) return "[more]";
    if (this.#path.has(value)) return "[circular]";
    this.#path.add(value);
    try {
      return this.#kind(value, depth);
    } catch {
      return "[unreadable]";
    } finally {
      this.#path.delete(value);
    }
  }

  #kind(value: object, depth: number): unknown {
    if (Array.isArray(value)) return this.#list(value, depth);
    if (value instanceof Error) return this.#error(value, depth);
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? "[no date]" : value.toISOString();
    if (value instanceof URL || value instanceof RegExp) return safeText(String(value));
    if (value instanceof String) return safeText(String(value));
    if (value instanceof Set) return this.#list([...value], depth);
    if (value instanceof Map || value instanceof Headers || value instanceof URLSearchParams)
      return this.#entries([...value], depth);
    // What a class makes of itself for JSON cannot be known: its fields are looked at.
    return this.#fields(value, depth);
  }

  #value(name: Name, value: unknown, depth: number): unknown {
    if (typeof value === "number" || typeof value === "boolean" || value === undefined || value === null) {
      return name.isSecretNumber && typeof value === "number" ? CUT : value;
    }
    if (name.isSecret) return CUT;
    if (typeof value === "string") return safeText(value);
    return typeof value === "object" ? this.object(value, depth + 1) : safePrimitive(value);
  }

  #fields(fields: object, depth: number): Record<string, unknown> {
    const isLabelled = Object.keys(fields).some((name) => {
      const label = LABELS.has(name.toLowerCase()) ? read(fields, name) : undefined;
      return typeof label === "string" && isSecretName(label);
    });
    const entries = Object.keys(fields).map((name): [string, unknown] => [
      name,
      isLabelled && nameOf(name).isValue ? CUT : read(fields, name),
    ]);
    return this.#entries(entries, depth);
  }

  #entries(entries: Iterable<readonly [unknown, unknown]>, depth: number): Record<string, unknown> {
    const copy: Record<string, unknown> = {};
    for (const [key, value] of entries) {
      const name = nameOf(typeof key === "object" ? "[object]" : String(key));
      this.#things += 1;
      if (this.#things > MAX_THINGS) break;
      // Defined, not assigned: a field called __proto__ is one like others.
      Object.defineProperty(copy, name.safe, {
        value: this.#value(name, value, depth),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    return copy;
  }

  /** Lists of headers have names and values in turn. */
  #list(list: readonly unknown[], depth: number): unknown[] {
    return list.slice(0, MAX_THINGS).map((value, index) => {
      const before = list[index - 1];
      const isValue = typeof before === "string" && before.length < 64 && isSecretName(before);
      return this.#value(isValue ? SECRET : OPEN, value, depth);
    });
  }

  #error(error: Error, depth: number): Record<string, unknown> {
    const { name, message, stack, cause } = error;
    const more = Object.keys(error).filter((field) => !TOLD.has(field));
    const entries: [string, unknown][] = [
      ["type", name],
      ["message", message],
      ["stack", stack],
      ["cause", cause],
      ["errors", error instanceof AggregateError ? error.errors : undefined],
      ...more.map((field): [string, unknown] => [field, read(error, field)]),
    ];
    return this.#entries(
      entries.filter(([, value]) => value !== undefined),
      depth,
    );
  }
}

const LABELS = new Set(["name", "header", "field", "param"]);
const TOLD = new Set(["name", "type", "message", "stack", "cause", "errors"]);
const SECRET: Name = { isSecret: true, isSecretNumber: true, isValue: false, safe: "" };
const OPEN: Name = { isSecret: false, isSecretNumber: false, isValue: false, safe: "" };

function read(fields: object, name: string): unknown {
  try {
    return Reflect.get(fields, name);
  } catch {
    return "[unreadable]";
  }
}

function isPlain(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
