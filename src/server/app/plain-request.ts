// Reads the heads that nearly all calls have: of a POST with a length and nothing out of the ordinary. Anything else is left to Node's
// parser, and nothing is understood here that it would understand otherwise (docs/decisions/035). Pure.
import type { IncomingHttpHeaders } from "node:http";
import { HttpError, readFields } from "#server/egress/http-head.ts";

const LINE_END = "\r\n";
const HEAD_END = "\r\n\r\n";
const BEGIN = "POST /";
/** A longer head is rare; Node's parser knows its own limits. */
const MOST_HEAD_BYTES = 8 * 1024;
/** More are rare; of a thousand and more Node's parser drops some. */
const MOST_FIELDS = 200;
/** What a path may be made of; its query too. */
const REQUEST_LINE = /^POST (\/[!-~]*) HTTP\/1\.1$/;
const LENGTH = /^[1-9]\d{0,6}$/;
/** What changes how a request, its body or what follows is to be read, and what Node's parser treats in ways of its own. */
const UNUSUAL = [
  "transfer-encoding",
  "expect",
  "upgrade",
  "http2-settings",
  "te",
  "trailer",
  "proxy-connection",
  "set-cookie",
] as const;

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
  const first = head.indexOf(LINE_END);
  const url = REQUEST_LINE.exec(head.slice(0, first))?.[1];
  const headers = url === undefined ? undefined : fieldsOf(head, first + LINE_END.length);
  const length = headers?.["content-length"] ?? "";
  if (url === undefined || headers === undefined || !LENGTH.test(length)) return undefined;
  const bodyAt = headEnd + HEAD_END.length;
  return { url, headers, bodyAt, end: bodyAt + Number(length) };
}

function mayBecomeHead(bytes: Buffer): boolean {
  const begin = bytes.toString("latin1", 0, BEGIN.length);
  return bytes.length < MOST_HEAD_BYTES && BEGIN.startsWith(begin);
}

/** The fields of a head, unless one of them is unusual or stands there twice. */
function fieldsOf(head: string, start: number): IncomingHttpHeaders | undefined {
  let fields: ReturnType<typeof readFields>;
  try {
    fields = readFields(head, start);
  } catch (error) {
    if (error instanceof HttpError) return undefined;
    throw error;
  }
  let count = 0;
  for (const name in fields) {
    count += 1;
    if (count > MOST_FIELDS || typeof fields[name] !== "string") return undefined;
  }
  for (const name of UNUSUAL) if (fields[name] !== undefined) return undefined;
  const { host, connection = "keep-alive" } = fields;
  return host === undefined || String(connection).toLowerCase() !== "keep-alive" ? undefined : fields;
}
