// Heads: the exact bytes we send, and the heads we refuse to read.
import { describe, expect, test } from "vitest";
import type { EgressRequest } from "#server/egress/send.ts";
import { checkBegin, HttpError, readHead, requestHead } from "./head.ts";

function request(more: Partial<EgressRequest>): string {
  return requestHead(
    {
      method: "POST",
      origin: "http://a.example",
      path: "/v1/x?y=1",
      headers: [],
      body: undefined,
      headersTimeoutMs: 0,
      idleTimeoutMs: 0,
      ...more,
    },
    "a.example:8080",
  );
}

describe("a request head", () => {
  test("of a POST has its length, even 0", () => {
    expect(request({ headers: ["X-A", "1", "x-b", "\xe4 b"], body: new Uint8Array(7) })).toBe(
      "POST /v1/x?y=1 HTTP/1.1\r\nhost: a.example:8080\r\nconnection: keep-alive\r\nX-A: 1\r\nx-b: \xe4 b\r\ncontent-length: 7\r\n\r\n",
    );
    expect(request({})).toMatch(/\r\ncontent-length: 0\r\n\r\n$/);
  });

  test("of a GET has none, unless it has a body", () => {
    expect(request({ method: "GET" })).not.toMatch(/content-length/);
    expect(request({ method: "GET", body: new Uint8Array(3) })).toMatch(/\r\ncontent-length: 3\r\n\r\n$/);
  });

  test("with a host header uses it instead of the address's", () => {
    const head = request({ headers: ["Host", "b.example"] });
    expect(head).toContain("\r\nhost: b.example\r\n");
    expect(head.match(/host:/gi)).toHaveLength(1);
  });

  test.each(["x\r\ny: z", "a\nb", "a\rb", "a\0b", "\x7f", "\x1b[1m", "密钥", "\u0100"])(
    "has no header with the value %j",
    (value) => {
      expect(() => request({ headers: ["x", value] })).toThrow(HttpError);
    },
  );

  test.each(["", " ", "x y", "x:", "x\r\ny", "\xe4", "x\0", "(x)"])("has no header called %j", (name) => {
    expect(() => request({ headers: [name, "1"] })).toThrow(HttpError);
  });

  test.each(["Connection", "content-length", "EXPECT", "keep-alive", "Transfer-Encoding", "upgrade"])(
    "has no caller's header %s, which belongs to the connection",
    (name) => {
      expect(() => request({ headers: [name, "1"] })).toThrow(HttpError);
    },
  );

  test.each(["", "x", "*", "/a b", "/a\r\nb", "/a\tb", "/\0", "/中", "/\x7f", "http://a.example/"])(
    "has no path %j",
    (path) => {
      expect(() => request({ path })).toThrow(HttpError);
    },
  );
});

/** A head of these lines. */
const head = (...lines: string[]) => readHead(["HTTP/1.1 200 OK", ...lines].join("\r\n"));

describe("a reply head", () => {
  test("has fields by lower-case names, trimmed, repeated ones as a list", () => {
    const { status, headers } = readHead(
      "HTTP/1.1 201 Cr\xe9ated\r\nX-A:1\r\nx-a: \t2 \t\r\nEmpty:\r\nX-A: 3\r\nb: a:b\r\nc: \xff",
    );
    expect(status).toBe(201);
    expect(headers).toEqual({ "x-a": ["1", "2", "3"], empty: "", b: "a:b", c: "\xff" });
  });

  test("may have fields named like members of objects", () => {
    const { headers } = head(
      "constructor: 1",
      "__proto__: 2",
      "toString: 3",
      "toString: 4",
      "hasOwnProperty: 5",
    );
    expect(Object.entries(headers)).toEqual([
      ["constructor", "1"],
      ["tostring", ["3", "4"]],
      ["hasownproperty", "5"],
    ]);
    expect(Object.getPrototypeOf(headers)).toBe(Object.prototype);
  });

  test.each(["HTTP/1.1 200", "HTTP/1.1 200 ", "HTTP/1.0 599 \tx", "HTTP/1.1 999 "])(
    "%j begins a reply",
    (line) => {
      expect(readHead(line).status).toBe(Number(line.slice(9, 12)));
    },
  );

  test.each([
    "",
    "HTTP/1.1",
    "HTTP/1.1 ",
    "HTTP/1.1 20",
    "HTTP/1.1 2e2 OK",
    "HTTP/1.1 +20 OK",
    "HTTP/1.1 0x8 OK",
    "HTTP/1.1 099 OK",
    "HTTP/1.1 2000 OK",
    "HTTP/1.1  200 OK",
    "HTTP/1.1\t200 OK",
    "HTTP/1.1 200OK",
    "HTTP/1.1 200\tOK",
    "HTTP/1.1 200 O\0K",
    "HTTP/1.1 200 O\nK",
    "HTTP/2.0 200 OK",
    "HTTP/1.2 200 OK",
    "http/1.1 200 OK",
    "ICY 200 OK",
    " HTTP/1.1 200 OK",
    "\r\nHTTP/1.1 200 OK",
  ])("%j does not", (line) => {
    expect(() => readHead(line)).toThrow(HttpError);
  });

  test.each([
    " folded: 1",
    "\tfolded",
    "x",
    ": 1",
    "x : 1",
    "x\t: 1",
    "x y: 1",
    "x: a\rb",
    "x: a\nb",
    "x: a\0b",
    "x: \x7f",
    "\xe4: 1",
    "x\0: 1",
    "",
  ])("%j is no line of a head", (line) => {
    expect(() => head("a: b", line, "c: d")).toThrow(HttpError);
  });

  test.each<[number | string, ...string[]]>([
    [0, "Content-Length: 0"],
    [12, "content-length:\t12 "],
    [7, "content-length: 007"],
    ["chunked", "Transfer-Encoding: Chunked"],
    ["close", "x: y"],
  ])("a body of %s", (length, ...lines) => {
    expect(head(...lines).length).toBe(length);
  });

  test.each([
    ["content-length: 5", "content-length: 5"],
    ["content-length: 5, 5"],
    ["content-length: +5"],
    ["content-length: -5"],
    ["content-length: 0x5"],
    ["content-length: 5.0"],
    ["content-length: 5e3"],
    ["content-length: 5 5"],
    ["content-length:"],
    ["content-length: 1234567890123456"],
    ["content-length: 5", "transfer-encoding: chunked"],
    ["transfer-encoding: chunked", "content-length: 5"],
    ["transfer-encoding: chunked", "transfer-encoding: chunked"],
    ["transfer-encoding: chunked, chunked"],
    ["transfer-encoding: gzip, chunked"],
    ["transfer-encoding: identity"],
    ["transfer-encoding: chunked;x"],
    ["transfer-encoding: \x0bchunked"],
    ["transfer-encoding:"],
  ])("no body of %s", (...lines) => {
    expect(() => head(...lines)).toThrow(HttpError);
  });

  test.each([
    ["HTTP/1.1 204 x\r\ncontent-length: 5", 0],
    ["HTTP/1.1 304 x\r\ncontent-length: 5", 0],
    ["HTTP/1.1 304 x\r\ntransfer-encoding: chunked", 0],
    ["HTTP/1.1 103 x\r\ncontent-length: 5", 0],
    ["HTTP/1.1 205 x", "close"],
  ])("%j has a body of %s", (text, length) => {
    expect(readHead(text).length).toBe(length);
  });

  test.each([
    ["HTTP/1.1 200 OK\r\ncontent-length: 0", true],
    ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked", true],
    ["HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close", false],
    ["HTTP/1.1 200 OK\r\ncontent-length: 0\r\nConnection: Keep-Alive, CLOSE", false],
    ["HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: x\r\nconnection: close", false],
    ["HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: closed", true],
    ["HTTP/1.1 200 OK\r\nconnection: keep-alive", false],
    ["HTTP/1.0 200 OK\r\ncontent-length: 0", false],
    ["HTTP/1.0 200 OK\r\ncontent-length: 0\r\nconnection: keep-alive", false],
    ["HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\nconnection: keep-alive", false],
  ])("after %j the connection goes on: %s", (text, isLasting) => {
    expect(readHead(text).isLasting).toBe(isLasting);
  });

  test.each([
    ["timeout=5", 5],
    ["max=100, Timeout=60", 60],
    ["timeout=0", 0],
    ["xtimeout=5", undefined],
    ["timeout=", undefined],
    ["", undefined],
  ])("keep-alive: %j", (value, sec) => {
    expect(head(`keep-alive: ${value}`).keepSec).toBe(sec);
  });
});

describe("an incomplete head", () => {
  const whole = "HTTP/1.1 200 O\xe9K\r\nA: b c\r\nX-Y:\tz\r\ncontent-length: 5\r\n";
  test("may be split anywhere", () => {
    for (let at = 0; at <= whole.length + 1; at += 1) {
      for (let known = 0; known <= at; known += 1) checkBegin(`${whole}\r`.slice(0, at), known);
    }
  });

  test.each([
    "S",
    "HTTP/2",
    "HTTQ",
    "SSH-2.0-x\r\n",
    "220 mail ready\r\n",
    "<html>",
    "\r",
    "\n",
    "\r\n",
    "HTTP/1.1 200 OK\n",
    "HTTP/1.1 200 OK\rx",
    "HTTP/1.1 200 OK\r\nx: y\n",
    "HTTP/1.1 200 OK\r\nx: y\n\n",
    "HTTP/1.1 200 OK\r\n\n",
    "HTTP/1.1 200 OK\r\nx: \0",
    "HTTP/1.1 200 OK\r\nx\r\n",
    "HTTP/1.1 2e2 OK\r\n",
  ])("%j is refused before it ends", (text) => {
    expect(() => checkBegin(text, 0)).toThrow(HttpError);
    // However much of it was valid before.
    let known = 0;
    const oneByOne = () => {
      for (; known < text.length; known += 1) checkBegin(text.slice(0, known + 1), known);
    };
    expect(oneByOne).toThrow(HttpError);
  });
});
