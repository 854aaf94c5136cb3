// One reply is parsed alike at any boundaries of reads, and keeps no reference to the read buffer.
import { describe, expect, test } from "vitest";
import { HttpError } from "./head.ts";
import { ReplyReader } from "./response.ts";

const shared = Buffer.alloc(64 * 1024);

interface Outcome {
  /** `open` = more must come, `close` = whole when the connection ends. */
  readonly verdict: "whole" | "open" | "close" | "refused";
  readonly status?: number | undefined;
  readonly headers?: object | undefined;
  readonly body?: string;
  /** Bytes after the reply. */
  readonly surplus?: number;
}

/** Reads a reply in these pieces; the buffer is overwritten after each. */
function readIn(pieces: readonly Buffer[]): Outcome {
  const reader = new ReplyReader();
  const bodies: Buffer[] = [];
  let surplus = 0;
  try {
    for (const piece of pieces) {
      if (reader.isDone) {
        surplus += piece.length;
        continue;
      }
      piece.copy(shared);
      surplus += piece.length - reader.read(shared, piece.length);
      if (reader.body !== undefined) bodies.push(reader.body);
      shared.fill("!");
    }
  } catch (error) {
    if (error instanceof HttpError) return { verdict: "refused" };
    throw error;
  }
  return {
    verdict: reader.isDone ? "whole" : reader.isDoneByClose ? "close" : "open",
    status: reader.head?.status,
    headers: reader.head?.headers,
    body: Buffer.concat(bodies).toString("latin1"),
    surplus,
  };
}

function cut(bytes: Buffer, ...places: number[]): Buffer[] {
  let from = 0;
  return [...places, bytes.length].map((to) => {
    const piece = bytes.subarray(from, to);
    from = to;
    return piece;
  });
}

const HEAD = "HTTP/1.1 200 OK\r\nA: b\r\n";
const CHUNKED = `${HEAD}transfer-encoding: chunked\r\n\r\n`;

const whole: [string, string, Outcome][] = [
  ["a length", `${HEAD}content-length: 5\r\n\r\nhello`, { verdict: "whole", body: "hello", surplus: 0 }],
  ["no body", `${HEAD}content-length: 0\r\n\r\n`, { verdict: "whole", body: "", surplus: 0 }],
  ["too much", `${HEAD}content-length: 2\r\n\r\nhello`, { verdict: "whole", body: "he", surplus: 3 }],
  ["too little", `${HEAD}content-length: 9\r\n\r\nhello`, { verdict: "open", body: "hello", surplus: 0 }],
  ["until its end", `${HEAD}\r\nhello\r\n\r\n`, { verdict: "close", body: "hello\r\n\r\n", surplus: 0 }],
  [
    "chunks",
    `${CHUNKED}5\r\nhello\r\n000000000000000a\r\n, world\r\n!\r\n0\r\n\r\n`,
    { verdict: "whole", body: "hello, world\r\n!", surplus: 0 },
  ],
  [
    "chunks with words beside them",
    `${CHUNKED}2;a=b;c="d;e"\r\nhi\r\nA;\r\n0123456789\r\n000\r\nX-T: 1\r\nx-u:\r\n\r\nmore`,
    { verdict: "whole", body: "hi0123456789", surplus: 4 },
  ],
  [
    "chunks that are not all there",
    `${CHUNKED}5\r\nhello\r\n0\r\n`,
    { verdict: "open", body: "hello", surplus: 0 },
  ],
  [
    "announcements before it",
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nlink: x\r\n\r\n${HEAD}content-length: 1\r\n\r\nx`,
    { verdict: "whole", body: "x", surplus: 0 },
  ],
  [
    "as many announcements as are taken",
    `${"HTTP/1.1 103 x\r\n\r\n".repeat(16)}${HEAD}content-length: 1\r\n\r\nx`,
    { verdict: "whole", body: "x", surplus: 0 },
  ],
  ["nothing yet", "HTTP/1.1 100 Continue\r\n\r\n", { verdict: "open", body: "", surplus: 0 }],
  [
    "no content",
    "HTTP/1.1 204 x\r\nA: b\r\ncontent-length: 3\r\n\r\nabc",
    { verdict: "whole", body: "", surplus: 3 },
  ],
];

const refused: [string, string][] = [
  ["a second protocol", "HTTP/1.1 101 x\r\n\r\n"],
  ["a flood of announcements", `${"HTTP/1.1 100\r\n\r\n".repeat(17)}${HEAD}content-length: 0\r\n\r\n`],
  ["no HTTP", "SSH-2.0-OpenSSH\r\n"],
  ["no HTTP after an announcement", "HTTP/1.1 100 Continue\r\n\r\nSSH-2.0-OpenSSH\r\n"],
  ["a lone LF", "HTTP/1.1 200 OK\ncontent-length: 0\n\n"],
  ["no size", `${CHUNKED}\r\nhello`],
  ["a size with a sign", `${CHUNKED}+5\r\nhello\r\n`],
  ["a size with a prefix", `${CHUNKED}0x5\r\nhello\r\n`],
  ["a size before a blank", `${CHUNKED}5 \r\nhello\r\n`],
  ["a size of too many digits", `${CHUNKED}00000000000000005\r\nhello\r\n`],
  ["a size beyond counting", `${CHUNKED}100000000000000\r\nhello`],
  ["a lone LF after a size", `${CHUNKED}5\nhello\r\n`],
  ["a lone CR after a size", `${CHUNKED}5\rhello\r\n`],
  ["a lone LF in an extension", `${CHUNKED}5;a\nhello\r\n`],
  ["a lone CR in an extension", `${CHUNKED}5;a\rb\r\nhello\r\n`],
  ["a control character in an extension", `${CHUNKED}5;\0\r\nhello\r\n`],
  ["an endless extension", `${CHUNKED}5;${"x".repeat(20_000)}`],
  ["a chunk that is too long", `${CHUNKED}5\r\nhello!\r\n`],
  ["a lone LF after a chunk", `${CHUNKED}5\r\nhello\n`],
  ["a lone CR after a chunk", `${CHUNKED}5\r\nhello\r5`],
  ["a lone LF at the end", `${CHUNKED}0\r\n\n`],
  ["a lone CR at the end", `${CHUNKED}0\r\n\rx`],
  ["a trailer with a lone LF", `${CHUNKED}0\r\nx: y\n\r\n`],
  ["a trailer with a control character", `${CHUNKED}0\r\nx: \x01\r\n\r\n`],
  ["a trailer that is no field", `${CHUNKED}0\r\nHTTP/1.1 200 OK\r\n\r\n`],
  ["a trailer that goes on", `${CHUNKED}0\r\nx: y\r\n z\r\n\r\n`],
  ["endless trailers", `${CHUNKED}0\r\n${"x: y\r\n".repeat(8_000)}`],
];

describe("split anywhere", () => {
  test.each(whole)("%s", (_, text, expected) => {
    const bytes = Buffer.from(text, "latin1");
    const outcome = readIn([bytes]);
    expect(outcome).toMatchObject(expected);
    for (let at = 1; at < bytes.length; at += 1) {
      expect(readIn(cut(bytes, at))).toEqual(outcome);
      for (let to = at + 1; to < bytes.length; to += 3) expect(readIn(cut(bytes, at, to))).toEqual(outcome);
    }
    expect(readIn(cut(bytes, ...Array.from(bytes, (_byte, at) => at)))).toEqual(outcome);
  });

  test.each(refused)("refused: %s", (_, text) => {
    const bytes = Buffer.from(text, "latin1");
    expect(readIn([bytes])).toEqual({ verdict: "refused" });
    for (let at = 1; at < Math.min(bytes.length, 200); at += 1)
      expect(readIn(cut(bytes, at))).toEqual({ verdict: "refused" });
  });
});

describe("limits", () => {
  const headOf = (size: number) => {
    const begin = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx: ";
    return Buffer.from(`${begin}${"y".repeat(size - begin.length - 4)}\r\n\r\n`);
  };

  test("a head has 16 KiB, in one piece and in many", () => {
    for (const pieces of [(it: Buffer) => [it], (it: Buffer) => cut(it, 100, 16_000, 16_383)]) {
      expect(readIn(pieces(headOf(16_384)))).toMatchObject({ verdict: "whole" });
      expect(readIn(pieces(headOf(16_385)))).toMatchObject({ verdict: "refused" });
    }
  });

  test("a body of any size is read whole", () => {
    const body = Buffer.alloc(300_000, "0123456789");
    const head = Buffer.from(`${HEAD}content-length: ${body.length}\r\n\r\n`);
    const pieces = cut(Buffer.concat([head, body]), 3, 65_000, 130_000, 190_000, 250_000);
    expect(readIn(pieces)).toMatchObject({ verdict: "whole", body: body.toString(), surplus: 0 });
  });
});
