// What is read of a plain request, beside what Node's own parser reads of the same bytes: a difference would be a hole (decision 035).
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDice, type Dice, pick } from "#test/dice.ts";
import { type PlainHead, readPlainHead } from "./plain-request.ts";

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** "" until it is here. */
  body: string;
}

/** What follows each request: where Node finds it the request has ended. */
const NEXT = "GET /next HTTP/1.1\r\nHost: next\r\nConnection: close\r\n\r\n";
const MOST_BYTES = 64 * 1024;

let node: Server;
let port = 0;
/** By the client's port. */
const seen = new Map<number | undefined, Seen[]>();

beforeAll(async () => {
  // Of createHttpServer's options those that its parser is told of.
  node = createServer({ maxHeaderSize: 16 * 1024, shouldUpgradeCallback: () => false }, async (req, res) => {
    const { method, url, headers, socket } = req;
    const list = seen.get(socket.remotePort) ?? [];
    seen.set(socket.remotePort, list);
    const asked: Seen = { method, url, headers, body: "" };
    list.push(asked);
    asked.body = (await buffer(req)).toString("latin1");
    res.end();
  });
  await once(node.listen(0, "127.0.0.1"), "listening");
  port = (node.address() as AddressInfo).port;
});
afterAll(() => {
  node.closeAllConnections();
  node.close();
});

/** All that Node reads of these bytes until it hangs up. */
async function readByNode(bytes: Buffer): Promise<readonly Seen[]> {
  const client = connect(port, "127.0.0.1").on("error", () => undefined);
  await once(client, "connect");
  const { localPort } = client;
  client.resume().write(bytes);
  await once(client, "close");
  const list = seen.get(localPort) ?? [];
  seen.delete(localPort);
  return list;
}

/** Whether we read these bytes; if so, Node must read the same, and find its end where we do. */
async function isReadAlike(bytes: Buffer): Promise<boolean> {
  const head = readPlainHead(bytes);
  if (head === undefined || head === "part") return false;
  const { url, headers, bodyAt, end } = head;
  const missing = Buffer.alloc(
    Math.max(0, Math.min(end, MOST_BYTES) - bytes.length),
    "POST / HTTP/1.1\r\n\r\n",
  );
  const whole = Buffer.concat([bytes, missing]).subarray(0, end);
  if (whole.length < end) return false;
  const ours = { method: "POST", url, headers, body: whole.toString("latin1", bodyAt) };
  const [first, next, ...others] = await readByNode(Buffer.concat([whole, Buffer.from(NEXT)]));
  const what = JSON.stringify(bytes.toString("latin1"));
  expect(first, what).toEqual(ours);
  expect(Object.entries(first?.headers ?? {}), what).toEqual(Object.entries(headers));
  expect([next?.url, others], what).toEqual(["/next", []]);
  return true;
}

const BODY = '{"model":"m"}';
const LENGTH = `Content-Length: ${BODY.length}\r\n`;

function request(fields: string, line = "POST /v1/chat/completions HTTP/1.1", body = BODY): Buffer {
  return Buffer.from(`${line}\r\n${fields}\r\n${body}`, "latin1");
}

const PLAIN: Readonly<Record<string, Buffer>> = {
  "the least": request(`host:x\r\n${LENGTH}`),
  "what SDKs send": request(
    "host: a.b:80\r\nconnection: keep-alive\r\nAccept: application/json\r\nAuthorization: Bearer sk-1\r\n" +
      `user-agent: OpenAI/JS 1\r\nx-stainless-os: Linux\r\naccept-encoding: gzip, br\r\n${LENGTH}`,
  ),
  "Connection in any case": request(`Host: x\r\nCONNECTION: \t Keep-Alive\t \r\n${LENGTH}`),
  "blanks around values": request(`Host: \t x y \t\r\nA:\r\nB: \t \r\nC:c\t\r\n${LENGTH}`),
  "an empty host": request(`Host:\r\n${LENGTH}`),
  "bytes beyond ASCII": request(`Host: \xff\r\nX-\`|~^: \x80\xe4\r\n${LENGTH}`),
  "names of JavaScript's": request(`Host: x\r\ntoString: d\r\nhasOwnProperty: e\r\n${LENGTH}`),
  "a cookie": request(`Host: x\r\nCookie: a=b; c=d\r\n${LENGTH}`),
  "a colon in a value": request(`Host: x\r\nA:: b: c\r\n${LENGTH}`),
  "a query": request(`Host: x\r\n${LENGTH}`, "POST /v1/models/m:generateContent?key=a&b=%00?/../ HTTP/1.1"),
  "every visible character": request(
    `Host: x\r\n${LENGTH}`,
    `POST /${String.fromCharCode(...Array.from({ length: 94 }, (_, at) => at + 33))}##a?b? HTTP/1.1`,
  ),
  "two slashes": request(`Host: x\r\n${LENGTH}`, "POST //evil.example/v1 HTTP/1.1"),
  "a body like heads": request(
    "Host: x\r\nContent-Length: 36\r\n",
    undefined,
    `POST / HTTP/1.1\r\nHost: x\r\n\r\n\r\n\r\n\0\xff.`,
  ),
  "a length with blanks": request(`Host: x\r\nContent-Length:${" ".repeat(9)}13 \r\n`),
  "64 KiB": request("Host: x\r\nContent-Length: 60000\r\n", undefined, "\r\n".repeat(30_000)),
  "8 KB in one field": request(`Host: x\r\n${LENGTH}A: ${"a".repeat(8_000)}\r\n`),
};

const line = (text: string) => request(`Host: x\r\n${LENGTH}`, text);
const more = (text: string) => request(`Host: x\r\n${LENGTH}${text}`);
const length = (text: string) => request(`Host: x\r\nContent-Length:${text}\r\n`);

const OTHERS: Readonly<Record<string, Buffer>> = {
  "a name that every object has": more("constructor: a\r\n"),
  "the prototype of one": more("__proto__: a\r\n"),
  "another method": line("PUT /v1/chat/completions HTTP/1.1"),
  "a method in small letters": line("post /v1/chat/completions HTTP/1.1"),
  "an absolute target": line("POST http://x/v1/chat/completions HTTP/1.1"),
  "no target": line("POST * HTTP/1.1"),
  "HTTP/1.0": line("POST /v1 HTTP/1.0"),
  "HTTP/1.10": line("POST /v1 HTTP/1.10"),
  "HTTP/2.0": line("POST /v1 HTTP/2.0"),
  "two spaces": line("POST  /v1 HTTP/1.1"),
  "a space in the path": line("POST /v1 /b HTTP/1.1"),
  "a tab in the path": line("POST /v1\t HTTP/1.1"),
  "a byte beyond ASCII in the path": line("POST /\xe4 HTTP/1.1"),
  "a NUL in the path": line("POST /\0 HTTP/1.1"),
  "a space behind the version": line("POST /v1 HTTP/1.1 "),
  "an empty line before": line("\r\nPOST /v1 HTTP/1.1"),
  "a lone CR before": line("\rPOST /v1 HTTP/1.1"),
  "a lone LF before": line("\nPOST /v1 HTTP/1.1"),
  "a lone LF behind the line": line("POST /v1 HTTP/1.1\n"),
  "no host": request(LENGTH),
  "two hosts": more("Host: x\r\n"),
  "a field twice": more("A: a\r\nB: b\r\na: a\r\n"),
  "a key twice": more("Authorization: a\r\nAuthorization: b\r\n"),
  "set-cookie": more("Set-Cookie: a=b\r\n"),
  "a coding": more("Transfer-Encoding: chunked\r\n"),
  "an empty coding": more("Transfer-Encoding:\r\n"),
  "a coding alone": request("Host: x\r\nTransfer-Encoding: chunked\r\n"),
  Expect: more("Expect: 100-continue\r\n"),
  Upgrade: more("Upgrade: h2c\r\n"),
  "Connection: close": more("Connection: close\r\n"),
  "Connection: upgrade": more("Connection: Upgrade\r\nUpgrade: websocket\r\n"),
  "a Connection of two": more("Connection: keep-alive, x\r\n"),
  "an empty Connection": more("Connection:\r\n"),
  "Proxy-Connection": more("Proxy-Connection: close\r\n"),
  "a folded line": more("A: a\r\n b\r\n"),
  "a folded line at once": request(` A: a\r\nHost: x\r\n${LENGTH}`),
  "a blank before the colon": more("A : a\r\n"),
  "a tab before the colon": more("A\t: a\r\n"),
  "no colon": more("A\r\n"),
  "no name": more(": a\r\n"),
  "a name beyond ASCII": more("\xe4: a\r\n"),
  "a lone CR in a value": more("A: a\rb\r\n"),
  "a lone LF in a value": more("A: a\nTransfer-Encoding: chunked\r\n"),
  "a CR before a line's end": more("A: a\r\r\n"),
  "a NUL in a value": more("A: \0\r\n"),
  "DEL in a value": more("A: \x7f\r\n"),
  "a NUL behind a value": more("A: a\0\r\n"),
  "no length": request("Host: x\r\n"),
  "two lengths": more(LENGTH),
  ...Object.fromEntries(
    [
      "",
      " 0",
      " 05",
      " +5",
      " -5",
      " 5,5",
      " 5, 5",
      " 5 5",
      " 0x5",
      " 5.0",
      " 5e1",
      " five",
      ` ${"9".repeat(30)}`,
    ].map((text) => [`the length${text}`, length(text)]),
  ),
  "a head of 8 KiB": more(`A: ${"a".repeat(8 * 1024)}\r\n`),
  "a head of 8 KiB without its end": Buffer.from(`POST /v1 HTTP/1.1\r\nA: ${"a".repeat(8 * 1024)}`),
  TLS: Buffer.from("\x16\x03\x01", "latin1"),
  nothing: Buffer.from("GET /"),
};

describe("a plain request", () => {
  test.each(Object.entries(PLAIN))("with %s is read as Node reads it", async (_, bytes) => {
    expect(await isReadAlike(bytes)).toBe(true);
  });

  test.each(Object.entries(PLAIN))("with %s may come in parts", (_, bytes) => {
    const { bodyAt } = readPlainHead(bytes) as PlainHead;
    for (let at = 1; at < bodyAt; at += at < 400 ? 1 : 97)
      expect(readPlainHead(bytes.subarray(0, at)), `cut at ${at}`).toBe("part");
    expect(readPlainHead(bytes.subarray(0, bodyAt))).toEqual(readPlainHead(bytes));
  });

  test.each([5, 90, 200, 990, 999, 1_000, 1_500])(
    "of %d fields is read as Node reads it, or not",
    async (count) => {
      const names = Array.from({ length: count }, (_, at) => `${at.toString(36)}:\r\n`).join("");
      const isRead = await isReadAlike(more(`${names}Authorization: a\r\n`));
      if (count < 100) expect(isRead).toBe(true);
    },
  );

  test.each(Object.entries(OTHERS))("is nothing with %s", async (_, bytes) => {
    expect(readPlainHead(bytes)).toBe(undefined);
  });
});

/** Pieces that change how a request is read, in some reader. */
const PIECES = [
  "\r\n", "\r", "\n", "\0", " ", "\t", ":", ",", ";", "\x7f", "\x80", "\xff", "\x0b", "\x85", "0", "5", "+", "-", "#", "?", "/", "%", "\"",
  "\r\n\r\n", "\n\n", "\r\n ", "Host: y\r\n", "Content-Length: 3\r\n", "content-length:13\r\n", "Transfer-Encoding: chunked\r\n",
  "Transfer-Encoding : chunked\r\n", "Expect: 100-continue\r\n", "Upgrade: websocket\r\n", "Connection: close\r\n", "A:\r\n", "Te: trailers\r\n",
  "Connection: keep-alive\r\n", "__proto__: a\r\n", "constructor: a\r\n", "Cookie: a\r\n", "Set-Cookie: a\r\n", "X: \x80\r\n", "HTTP/1.0",
  "Sec-WebSocket-Key: a\r\n", "HTTP2-Settings: a\r\n", "Keep-Alive: timeout=1, max=1\r\n", "Trailer: a\r\n", "Date: a\r\n", "Age: 1\r\n",
  "Content-Type: a\r\n", "X-Content-Length: 1\r\n", "Content-Encoding: chunked\r\n", "Proxy-Connection: close\r\n", "From: a, b\r\n",
]; // biome-ignore format: a list of short things

/** The same request with a few bytes more, fewer or others; half of the time where a line begins. */
function changed(bytes: Buffer, dice: Dice): Buffer {
  let now = bytes;
  for (let left = 1 + dice(2); left > 0; left -= 1) {
    const begin = now.indexOf("\r\n", dice(now.length)) + 2;
    const at = dice(2) === 0 ? begin : dice(now.indexOf("\r\n\r\n") + 5);
    const piece = Buffer.from(dice(4) === 0 ? String.fromCharCode(dice(256)) : pick(dice, PIECES), "latin1");
    now = Buffer.concat([now.subarray(0, at), piece, now.subarray(at + (dice(3) === 0 ? 1 + dice(3) : 0))]);
  }
  return now;
}

test.each([1, 2, 3, 4])("changed at random, seed %d, it is read as Node reads it, or not", async (seed) => {
  const dice = createDice(seed);
  const bases = Object.values(PLAIN).filter(({ length: size }) => size < 1_000);
  let read = 0;
  for (let round = 0; round < 30; round += 1) {
    const cases = Array.from({ length: 50 }, () => isReadAlike(changed(pick(dice, bases), dice)));
    read += (await Promise.all(cases)).filter(Boolean).length;
  }
  // Else nothing would have been compared.
  expect(read).toBeGreaterThan(100);
});
