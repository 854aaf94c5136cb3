// Heads of HTTP/1.1 messages: renders a request's, parses a reply's (RFC 9110, RFC 9112). Strict: a head that two readers could
// understand differently is refused, since a misread reply could reach another call.
import type { EgressRequest, ReplyHeaders } from "#server/egress/send.ts";

/** A message that is not valid HTTP, ours or the server's. Becomes the fault `protocol`. */
export class HttpError extends Error {
  readonly code = "TOLLGATE_HTTP";
}

/** The pattern of a field name. */
export const FIELD_NAME = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const NAME = new RegExp(`^${FIELD_NAME}$`);
/** A byte that no field value may have. */
export const NO_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
const NO_TARGET = /[^\x21-\x7e\x80-\xff]/;
/** Headers of the connection itself; callers cannot set them. */
const OURS: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
]);

/** Headers as they are rendered. */
interface KeyedQueue {
  readonly text: string;
  /** The value of a header `host`; undefined = there is none. */
  readonly host: string | undefined;
}

/** Cache: a channel's headers are the same array for each of its calls. */
const known = new WeakMap<readonly string[], KeyedQueue>();

/** The head of a request, to be sent as latin1. A header `host` replaces the given one. Throws: HttpError. */
export function requestHead({ method, path, headers, body, writes }: EgressRequest, host: string): string {
  if (!path.startsWith("/") || NO_TARGET.test(path)) throw new HttpError("a path that cannot be sent");
  let lines = known.get(headers);
  if (lines === undefined) {
    lines = linesOf(headers);
    known.set(headers, lines);
  }
  const length = method === "POST" || body !== undefined ? `content-length: ${body?.length ?? 0}\r\n` : "";
  const framing = writes === undefined ? length : "transfer-encoding: chunked\r\n";
  return `${method} ${path} HTTP/1.1\r\nhost: ${lines.host ?? host}\r\nconnection: keep-alive\r\n${lines.text}${framing}\r\n`;
}

function linesOf(headers: readonly string[]): KeyedQueue {
  let text = "";
  let host: string | undefined;
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? "";
    const value = headers[at + 1] ?? "";
    const plain = name.toLowerCase();
    if (!NAME.test(name) || NO_VALUE.test(value) || OURS.has(plain))
      throw new HttpError("a header that cannot be sent");
    if (plain === "host") host = value;
    else text += `${name}: ${value}\r\n`;
  }
  return { text, host };
}

/** A reply's head, and the framing of its body. */
export interface ReplyHead {
  readonly status: number;
  readonly headers: ReplyHeaders;
  /** Bytes of the body; `chunked`, or `close`: all that comes until the connection ends. */
  readonly length: number | "chunked" | "close";
  /** The server takes another request on this connection. */
  readonly isLasting: boolean;
  /** How long the server keeps an idle connection; undefined = it does not say. Unit: s. */
  readonly keepSec: number | undefined;
}

const LINE_END = "\r\n";
const VERSION = "HTTP/1.";
/** The reason phrase may be missing. */
const STATUS_LINE = /^HTTP\/1\.[01] [1-9]\d\d(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const ONE = 0x31;
const SPACE = 0x20;
const TAB = 0x09;
const DELETE = 0x7f;

/**
 * Refuses the beginning of a head that no continuation can make valid: its server may wait for us and never end it. The first `known`
 * characters were checked before; only lines that end after them are read. Throws: HttpError.
 */
export function checkBegin(text: string, known: number): void {
  const end = text.lastIndexOf(LINE_END);
  const start = known < LINE_END.length ? 0 : lineAfter(text.lastIndexOf(LINE_END, known - LINE_END.length));
  if (end < start) {
    if (start === 0 && !VERSION.startsWith(text.slice(0, VERSION.length)))
      throw new HttpError("no HTTP status line");
  } else if (start > 0) readFields(text.slice(start, end), 0);
  else readHead(text.slice(0, end));
  const rest = text.slice(lineAfter(end));
  if (NO_VALUE.test(rest.endsWith("\r") ? rest.slice(0, -1) : rest))
    throw new HttpError("a control character in the head");
}

/** The offset of the next line; -1 = this line has no end yet. */
function lineAfter(end: number): number {
  return end < 0 ? 0 : end + LINE_END.length;
}

/** Parses a head without its empty line. Throws: HttpError. */
export function readHead(text: string): ReplyHead {
  const first = text.indexOf(LINE_END);
  const status = readStatus(first < 0 ? text : text.slice(0, first));
  const headers = first < 0 ? {} : readFields(text, first + LINE_END.length);
  const { connection, "keep-alive": keepAlive } = headers;
  const length = lengthOf(status, headers);
  // HTTP/1.0 does not define well enough what follows a reply (RFC 9112 6.1).
  const isLasting = text.charCodeAt(7) === ONE && length !== "close" && !saysClose(connection);
  return { status, headers, length, isLasting, keepSec: keepSecOf(keepAlive) };
}

type Field = string | string[] | undefined;

/** Nearly all servers send no `connection` header, or `keep-alive`. */
function saysClose(connection: Field): boolean {
  if (connection === undefined || connection === "keep-alive") return false;
  const tokens = String(connection)
    .toLowerCase()
    .split(/[,\t ]+/);
  return tokens.includes("close");
}

function keepSecOf(keepAlive: Field): number | undefined {
  if (keepAlive === undefined) return undefined;
  const sec = /(?:^|[,\t ])timeout=(\d{1,9})/i.exec(String(keepAlive))?.[1];
  return sec === undefined ? undefined : Number(sec);
}

/** Parses `HTTP/1.1 200 OK`. */
function readStatus(line: string): number {
  if (!STATUS_LINE.test(line)) throw new HttpError("no HTTP status line");
  return Number(line.slice(9, 12));
}

function readFields(text: string, start: number): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  for (let at = start; at < text.length; ) {
    const found = text.indexOf(LINE_END, at);
    const end = found < 0 ? text.length : found;
    const colon = text.indexOf(":", at);
    const name = text.slice(at, colon);
    // A line that begins with a space would continue the one before: that form is obsolete (RFC 9112 5.2).
    if (colon < 0 || colon > end || !NAME.test(name)) throw new HttpError("a line of the head is no field");
    const value = trimmed(text, colon + 1, end);
    if (NO_VALUE.test(value)) throw new HttpError("a control character in the head");
    add(headers, name.toLowerCase(), value);
    at = end + LINE_END.length;
  }
  return headers;
}

/** Whether a byte may stand in the name of a field. */
export function isNameByte(byte: number): boolean {
  return NAME.test(String.fromCharCode(byte));
}

/** Whether a byte is forbidden in a line. */
export function isControl(byte: number): boolean {
  return (byte < SPACE && byte !== TAB) || byte === DELETE;
}

/** A text without spaces and tabs around it. */
export function trimmed(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}

function add(headers: Record<string, string | string[]>, name: string, value: string): void {
  // Setting this name would change the object's prototype.
  if (name === "__proto__") return;
  const before = headers[name];
  if (before === undefined || !Object.hasOwn(headers, name)) headers[name] = value;
  else if (typeof before === "string") headers[name] = [before, value];
  else before.push(value);
}

/** The framing of a body. Contradictory or malformed framing is refused: the body could end in two places (RFC 9112 6.3). */
function lengthOf(status: number, headers: ReplyHeaders): ReplyHead["length"] {
  const { "content-length": length, "transfer-encoding": coding } = headers;
  if (length !== undefined && coding !== undefined) throw new HttpError("two lengths of one body");
  if (length !== undefined && (typeof length !== "string" || !/^\d{1,15}$/.test(length)))
    throw new HttpError("no length of a body");
  if (coding !== undefined && (typeof coding !== "string" || coding.toLowerCase() !== "chunked"))
    throw new HttpError("an unknown transfer coding");
  if (status < 200 || status === 204 || status === 304) return 0;
  if (coding !== undefined) return "chunked";
  return length === undefined ? "close" : Number(length);
}

/** As much of unsolicited bytes as tells a 408. */
const TIMEOUT_HEAD = "HTTP/1.1 408";
const TIMEOUT_HEAD_10 = "HTTP/1.0 408";
export const STRAY_BYTES = TIMEOUT_HEAD.length;

/** Whether these bytes are, or may become, the head of a 408 (RFC 9110 15.5.9). */
export function mayBeTimeout(text: string): boolean {
  return text.length < TIMEOUT_HEAD.length
    ? [TIMEOUT_HEAD, TIMEOUT_HEAD_10].some((head) => head.startsWith(text))
    : [TIMEOUT_HEAD, TIMEOUT_HEAD_10].some((head) => text.startsWith(head));
}

/** An event stream for a call that asked for JSON: likely another caller's answer. */
export function isOfWrongKind({ headers }: EgressRequest, { "content-type": kind }: ReplyHeaders): boolean {
  if (typeof kind !== "string" || !/^text\/event-stream\b/i.test(kind)) return false;
  const accepted =
    headers[headers.findIndex((name, at) => at % 2 === 0 && name.toLowerCase() === "accept") + 1];
  return accepted?.startsWith("application/json") === true;
}
