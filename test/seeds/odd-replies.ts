// Replies of HTTP/1.1 as servers send them, and as they should not: made by dice, so that two readers can be given the same.
import { type Dice, pick } from "./random.ts";

export interface OddReply {
  readonly bytes: Buffer;
  /** Where one write ends and the next begins, in rising order. */
  readonly cuts: readonly number[];
  /** The server ends the connection afterwards. */
  readonly isLast: boolean;
}

const ANNOUNCEMENTS = [
  "100 Continue\r\n",
  "103 Early Hints\r\nlink: </a>\r\n",
  "102 x\r\ncontent-length: 3\r\n",
  "199\r\n",
];
const STATUSES = [
  "200 OK",
  "200",
  "200 ",
  "201 Cr\xe9ated",
  "404 a\tb",
  "500 ",
  "204 No Content",
  "304 x",
  "205 x",
  "600 x",
  "999 x",
];
const ODD_STATUSES = [
  "2e2 OK",
  "+20 x",
  "99 x",
  "099 x",
  "1000 x",
  "101 x",
  " 200 x",
  "200\tx",
  "200 a\0b",
  "abc x",
  "",
];
const ODD_VERSIONS = [
  "HTTP/1.2",
  "HTTP/2.0",
  "HTTP/0.9",
  "http/1.1",
  "HTTP/1.10",
  "HTTPS/1.1",
  "ICY",
  " HTTP/1.1",
  "\r\nHTTP/1.1",
];
const LINES = [
  "content-type: application/json",
  "X-Request-ID:abc",
  "x-blank: \t a b \t",
  "x-empty:",
  "x-same: 1",
  "X-Same: 2",
  "set-cookie: a=b",
  "Set-Cookie: c=d",
  "x-latin: \xe4\xff",
  "!#$%&'*+-.^_`|~: 1",
  "connection: keep-alive",
  "keep-alive: timeout=5, max=100",
  "Connection: close",
  "x-colons: a:b::c",
  "content-lengthy: 3",
  "__proto__: 1",
  "constructor: 1",
];
const ODD_LINES = [
  " folded",
  "\tfolded",
  "x-space : 1",
  "no colon",
  ": nameless",
  "x y: 1",
  "x: a\0b",
  "x: a\x01b",
  "x: a\x7fb",
  "x: a\rb",
  "x: a\nb",
  "\xe4: 1",
  "x(: 1",
  "transfer-encoding: identity",
  "content-length: 5",
  "content-length: 0",
  "transfer-encoding: chunked",
  "upgrade: websocket",
];
const ODD_LENGTHS = [
  "+5",
  "-1",
  "0x5",
  "5, 5",
  "5 5",
  "",
  "5.0",
  "99999999999999999999",
  "05",
  "5;",
  "\x0b5",
];
const ODD_CODINGS = [
  "gzip, chunked",
  "identity",
  "chunked, chunked",
  "CHUNKED",
  "chunked;a",
  "\x0bchunked",
  "chunked, gzip",
  "xchunked",
  "",
];
const EXTENSIONS = [";a=b", ";a", ';a="b;c"', ";a=b;c=d"];
const ODD_EXTENSIONS = [" ", "\t", ";", "; a=b", ";\0", ";a\nb", ";a\rb", " ;a", "x", ";a=\xe4"];
const TRAILERS = ["x-trailer: 1", "X-T:", "x-latin: \xe4"];
const ODD_TRAILERS = ["no colon", " folded", "x: \0", "content-length: 5", "x: a\nb", ": x"];

/** One time in so many. */
const rarely = (dice: Dice, oneIn: number) => dice(oneIn) === 0;

/** Throws a reply. */
export function throwReply(dice: Dice): OddReply {
  const line = () => (rarely(dice, 60) ? pick(dice, ["\n", "\r", "\r\r\n", "\n\r"]) : "\r\n");
  let text = "";
  while (rarely(dice, 8)) text += `HTTP/1.1 ${pick(dice, ANNOUNCEMENTS)}\r\n`;
  const version = rarely(dice, 8) ? "HTTP/1.0" : rarely(dice, 40) ? pick(dice, ODD_VERSIONS) : "HTTP/1.1";
  const status = rarely(dice, 25)
    ? pick(dice, ODD_STATUSES)
    : dice(2) === 0
      ? "200 OK"
      : pick(dice, STATUSES);
  text += `${version} ${status}${line()}`;
  const body = bytesOf(dice, pick(dice, [0, 1, 5, 60, 400]));
  const { fields, wire } = frame(dice, body);
  const lines = [...fields];
  for (let count = dice(4); count > 0; count -= 1)
    lines.push(pick(dice, rarely(dice, 15) ? ODD_LINES : LINES));
  if (dice(2) === 0) lines.reverse();
  text += lines.map((it) => it + line()).join("") + line() + wire;
  if (rarely(dice, 10))
    text += pick(dice, ["\r\n", "x", "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nbad", "0\r\n\r\n"]);
  let bytes: Buffer = Buffer.from(text, "latin1");
  if (rarely(dice, 10)) bytes = spoil(dice, bytes);
  if (rarely(dice, 8)) bytes = bytes.subarray(0, dice(bytes.length) + 1);
  return { bytes, cuts: cutsOf(dice, bytes.length), isLast: dice(3) === 0 };
}

function bytesOf(dice: Dice, length: number): string {
  return Array.from({ length }, () => String.fromCharCode(dice(256))).join("");
}

/** What says where the body ends, and the body as it travels. */
function frame(dice: Dice, body: string): { fields: string[]; wire: string } {
  switch (dice(12)) {
    case 0:
      return { fields: [], wire: body };
    case 1:
      return { fields: [`content-length: ${pick(dice, ODD_LENGTHS)}`], wire: body };
    case 2:
      return { fields: [`transfer-encoding: ${pick(dice, ODD_CODINGS)}`], wire: chunked(dice, body) };
    case 3:
      return {
        fields: [`content-length: ${Math.max(0, body.length + dice(5) - 2)}`],
        wire: body,
      };
    case 4:
      return rarely(dice, 2)
        ? {
            fields: ["transfer-encoding: chunked", `content-length: ${body.length}`],
            wire: chunked(dice, body),
          }
        : { fields: Array(2).fill(`content-length: ${body.length}`), wire: body };
    case 5:
    case 6:
    case 7:
    case 8:
      return { fields: ["Transfer-Encoding: chunked"], wire: chunked(dice, body) };
    default:
      return { fields: [`Content-Length: ${body.length}`], wire: body };
  }
}

function chunked(dice: Dice, body: string): string {
  let wire = "";
  for (let at = 0; at < body.length; ) {
    const size = Math.min(body.length - at, 1 + dice(pick(dice, [2, 20, 300])));
    wire += `${sizeLine(dice, size)}${body.slice(at, at + size)}${rarely(dice, 100) ? pick(dice, ["", "\n", "\r", "x\r\n"]) : "\r\n"}`;
    at += size;
  }
  wire += sizeLine(dice, 0);
  while (rarely(dice, 6)) wire += `${pick(dice, rarely(dice, 4) ? ODD_TRAILERS : TRAILERS)}\r\n`;
  return `${wire}${rarely(dice, 80) ? pick(dice, ["", "\n", "\r"]) : "\r\n"}`;
}

function sizeLine(dice: Dice, size: number): string {
  let hex = size.toString(16);
  if (dice(3) === 0) hex = hex.toUpperCase();
  if (rarely(dice, 6)) hex = hex.padStart(dice(8) + 1, "0");
  if (rarely(dice, 150))
    hex = pick(dice, [`+${hex}`, `0x${hex}`, ` ${hex}`, "", "-1", `${hex}g`, "fffffffffffffffff"]);
  const extension = rarely(dice, 6)
    ? pick(dice, EXTENSIONS)
    : rarely(dice, 80)
      ? pick(dice, ODD_EXTENSIONS)
      : "";
  return `${hex}${extension}${rarely(dice, 150) ? pick(dice, ["\n", "\r", "\r\r\n"]) : "\r\n"}`;
}

/** Changes, adds or takes away a byte. */
function spoil(dice: Dice, bytes: Buffer): Buffer {
  const at = dice(bytes.length);
  const what = Buffer.from(pick(dice, ["", "\r", "\n", "\0", " ", ":", "0", "a", "\r\n", "\xff"]), "latin1");
  return Buffer.concat([bytes.subarray(0, at), what, bytes.subarray(at + dice(2))]);
}

function cutsOf(dice: Dice, length: number): number[] {
  const way = dice(4);
  if (way === 0) return [];
  const places = Array.from({ length: length - 1 }, (_, at) => at + 1);
  if (way === 1 && length < 400) return places;
  return places.filter(() => rarely(dice, way === 2 ? 40 : 8));
}
