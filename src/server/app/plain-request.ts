// Reads the heads that nearly all calls have: of a POST with a length and nothing out of the ordinary. Anything else is left to Node's
// parser, and nothing is understood here that it would understand otherwise (docs/decisions/035). Pure.
import type { IncomingHttpHeaders } from "node:http";
import { FIELD_NAME, trimmed } from "#server/egress/http-head.ts";

const LINE_END = "\r\n";
const HEAD_END = "\r\n\r\n";
const BEGIN = "POST /";
/** A longer head is rare; Node's parser knows its own limits. */
const MOST_HEAD_BYTES = 8 * 1024;
/** More are rare; of a thousand and more Node's parser drops some. */
const MOST_FIELDS = 200;
/** Visible characters for a path, and in each line a name, a colon, and bytes that Node takes for a value. */
const PLAIN_HEAD = new RegExp(
  `^POST /[!-~]* HTTP/1\\.1(?:\\r\\n${FIELD_NAME}:[\\t\\x20-\\x7e\\x80-\\xff]*)+$`,
);
const VERSION = " HTTP/1.1";
const LENGTH = /^[1-9]\d{0,6}$/;
/** What changes how a request, its body or what follows is to be read, and what Node's parser treats in ways of its own. */
const UNUSUAL: ReadonlySet<string> = new Set([
  "transfer-encoding",
  "expect",
  "upgrade",
  "http2-settings",
  "te",
  "trailer",
  "proxy-connection",
  "set-cookie",
]);

/** The head of a plain request. */
export interface PlainHead {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** Where the body begins. */
  readonly bodyAt: number;
  /** Where the request ends: what follows is the next one's. */
  readonly end: number;
}

/** The head that these bytes begin with; `part` = it is not whole yet; undefined = somebody else should read them. */
export function readPlainHead(bytes: Buffer): PlainHead | "part" | undefined {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd < 0) return mayBecomeHead(bytes) ? "part" : undefined;
  if (headEnd > MOST_HEAD_BYTES) return undefined;
  const head = bytes.toString("latin1", 0, headEnd);
  if (!PLAIN_HEAD.test(head)) return undefined;
  const first = head.indexOf(LINE_END);
  const headers = fieldsOf(head, first + LINE_END.length);
  const length = headers?.["content-length"] ?? "";
  if (headers === undefined || !LENGTH.test(length)) return undefined;
  const url = head.slice(BEGIN.length - 1, first - VERSION.length);
  const bodyAt = headEnd + HEAD_END.length;
  return { url, headers, bodyAt, end: bodyAt + Number(length) };
}

function mayBecomeHead(bytes: Buffer): boolean {
  const begin = bytes.toString("latin1", 0, BEGIN.length);
  return bytes.length < MOST_HEAD_BYTES && BEGIN.startsWith(begin);
}

/** The fields of a head, unless one of them is unusual or stands there twice. */
function fieldsOf(head: string, start: number): IncomingHttpHeaders | undefined {
  const fields: Record<string, string> = {};
  let count = 0;
  for (let at = start; at < head.length; count += 1) {
    const found = head.indexOf(LINE_END, at);
    const end = found < 0 ? head.length : found;
    const colon = head.indexOf(":", at);
    const name = head.slice(at, colon).toLowerCase();
    // What every object has counts as there, too.
    if (count === MOST_FIELDS || UNUSUAL.has(name) || fields[name] !== undefined) return undefined;
    fields[name] = trimmed(head, colon + 1, end);
    at = end + LINE_END.length;
  }
  const { host, connection } = fields;
  const isUsual = connection === undefined || connection.toLowerCase() === "keep-alive";
  return host !== undefined && isUsual ? fields : undefined;
}
