// Handshakes with proxies, byte by byte (requirements C02, C03, C04, C06).
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readProxy } from "./address.ts";
import type { ProxyHandshake, Step } from "./handshake.ts";
import { ConnectHandshake } from "./http-connect.ts";
import { Socks5Handshake } from "./socks5.ts";

const TARGET = { host: "api.example.com", port: 443 };

/** What a handshake ends with when the proxy says this in these pieces, and what was said meanwhile. */
function run(handshake: ProxyHandshake, pieces: readonly Buffer[]): { end: string; said: string } {
  const said = [handshake.begin()];
  for (const piece of pieces) {
    if (piece.length === 0) continue;
    const step: Step = handshake.feed(piece);
    if (step.kind === "say") said.push(step.bytes);
    else if (step.kind !== "more") return { end: endOf(step), said: Buffer.concat(said).toString("hex") };
  }
  return { end: "more", said: Buffer.concat(said).toString("hex") };
}

function endOf(step: Exclude<Step, { kind: "more" | "say" }>): string {
  return step.kind === "failed" ? step.fault.code : step.kind;
}

/** The pieces of a text cut at these places. */
function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const all = [0, ...places.toSorted((a, b) => a - b), bytes.length];
  return all.slice(1).map((end, at) => bytes.subarray(all[at], end));
}

const BIG = "x".repeat(17 * 1024);
const HTML = "<html>invalid_api_key</html>";
const REPLIES: readonly (readonly [string, string])[] = [
  ["HTTP/1.1 200 Connection established\r\n\r\n", "open"],
  ["HTTP/1.1 200\r\n\r\n", "open"],
  ["HTTP/1.0 200 OK\r\nproxy-agent: squid\r\n\r\n", "open"],
  ["HTTP/1.1 204 No Content\r\n\r\n", "open"],
  ["HTTP/1.1 299 x\r\ncontent-length: 12\r\ntransfer-encoding: chunked\r\n\r\n", "open"],
  ["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nlink: a\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "open"],
  ["HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n", "proxy_protocol"],
  ["HTTP/1.1 302 Found\r\nlocation: /login\r\n\r\n", "proxy_refused"],
  ["HTTP/1.1 402 Payment Required\r\n\r\n", "proxy_refused"],
  [`HTTP/1.1 403 Forbidden\r\ncontent-length: ${HTML.length}\r\n\r\n${HTML}`, "proxy_refused"],
  ["HTTP/1.1 405 Method Not Allowed\r\n\r\n", "proxy_refused"],
  [
    `HTTP/1.1 407 Auth\r\nproxy-authenticate: Basic realm="a"\r\nconnection: close\r\n\r\n${HTML}`,
    "proxy_auth",
  ],
  ["HTTP/1.1 429 Too Many\r\n\r\n", "proxy_refused"],
  ["HTTP/1.1 502 Bad Gateway\r\n\r\n", "proxy_target"],
  ["HTTP/1.1 503 Service Unavailable\r\n\r\n", "proxy_refused"],
  ["HTTP/1.1 504 Gateway Timeout\r\n\r\n", "proxy_target"],
  [`HTTP/1.1 200 OK\r\na: ${BIG}\r\n\r\n`, "proxy_protocol"],
  [`${"HTTP/1.1 100 C\r\n\r\n".repeat(17)}HTTP/1.1 200 OK\r\n\r\n`, "proxy_protocol"],
  ["HTTP/1.1 20 OK\r\n\r\n", "proxy_protocol"],
  ["HTTP/2 200\r\n\r\n", "proxy_protocol"],
  ["SSH-2.0-OpenSSH_9.0\r\n", "proxy_protocol"],
  ["HTTP/1.1 200 OK\n\n", "proxy_protocol"],
  ["HTTP/1.1 200 OK\r\na: \u0001\r\n\r\n", "proxy_protocol"],
  [`<html><body>200 OK</body></html>`, "proxy_protocol"],
];

describe("an answer to CONNECT", () => {
  test.each(REPLIES)("%j is %s, however it is cut", (text, verdict) => {
    const bytes = Buffer.from(text, "latin1");
    const ask = () => new ConnectHandshake(TARGET, undefined);
    expect(run(ask(), [bytes]).end).toBe(verdict);
    expect(
      run(
        ask(),
        [...bytes].map((byte) => Buffer.from([byte])),
      ).end,
    ).toBe(verdict);
    const places = bytes.length > 300 ? [1, 15, 16, 17, 100, bytes.length - 1] : bytes.keys();
    for (const place of places) expect(run(ask(), cutAt(bytes, [place])).end).toBe(verdict);
  });

  test("never opens a tunnel with bytes behind it: they would be an answer before the question", () => {
    const early = [
      "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nbad",
      "\u0015\u0003\u0003\u0000\u0002\u0002\u0028",
      "\n",
    ];
    for (const text of early)
      expect(
        run(new ConnectHandshake(TARGET, undefined), [Buffer.from(`HTTP/1.1 200 OK\r\n\r\n${text}`)]).end,
      ).toBe("proxy_protocol");
  });

  test("names the schemes that are not spoken", () => {
    const step = new ConnectHandshake(TARGET, undefined).feed(
      Buffer.from("HTTP/1.1 407 A\r\nProxy-Authenticate: NTLM\r\nProxy-Authenticate: Digest x\r\n\r\n"),
    );
    expect(step).toMatchObject({ fault: { code: "proxy_auth", isProxy: true } });
    expect(JSON.stringify(step)).toContain("NTLM, Digest");
  });
});

describe("a CONNECT request", () => {
  const headOf = (host: string, port: number, login?: { user: string; password: string }) =>
    new ConnectHandshake({ host, port }, login).begin().toString("latin1");

  test("names host and port, and nothing of the call", () => {
    expect(headOf("api.example.com", 443)).toBe(
      "CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n",
    );
    expect(headOf("2001:db8::1", 80)).toBe(
      "CONNECT [2001:db8::1]:80 HTTP/1.1\r\nHost: [2001:db8::1]:80\r\n\r\n",
    );
  });

  test.each([
    ["http://us%20er:p%40%3Ass@p:1", "us er:p@:ss"],
    ["http://user@p:1", "user:"],
    ["http://user:@p:1", "user:"],
    ["http://%E7%94%A8:%E5%AF%86@p:1", "用:密"],
    ["http://用:密@p:1", "用:密"],
    ["http://a:b:c@p:1", "a:b:c"],
  ])("of %s sends %s", (address, plain) => {
    const reading = readProxy(address);
    if (reading.kind !== "proxy") throw new Error("unreadable");
    const basic = Buffer.from(plain).toString("base64");
    expect(headOf("a.example", 443, reading.proxy.login)).toContain(
      `\r\nProxy-Authorization: Basic ${basic}\r\n`,
    );
  });
});

/** Whole answers of a SOCKS5 proxy: to the methods, to the login, and the reply. */
const NONE = "0500";
const LOGIN = "0502";
const OPEN4 = "05000001 7f000001 1f90";
const OPEN6 = `05000004 ${"00".repeat(15)}01 1f90`;
const OPENNAME = `05000003 04 ${Buffer.from("exit").toString("hex")} 1f90`;

const hex = (text: string) => Buffer.from(text.replaceAll(" ", ""), "hex");

describe("a SOCKS5 handshake", () => {
  const login = { user: "u", password: "" };
  /** The answers, each cut into single bytes. */
  const dialogue = (known: typeof login | undefined, answers: readonly string[]) => {
    const pieces = answers.flatMap((answer) => [...hex(answer)].map((byte) => Buffer.from([byte])));
    return run(new Socks5Handshake(TARGET, known), pieces);
  };

  test.each([
    ["an IPv4 address", OPEN4],
    ["an IPv6 address", OPEN6],
    ["a name", OPENNAME],
    ["an empty name", "05000003 00 1f90"],
  ])("ends with %s in the reply", (_, reply) => {
    expect(dialogue(undefined, [NONE, reply]).end).toBe("open");
    expect(dialogue(login, [NONE, reply]).end).toBe("open");
    expect(dialogue(login, [LOGIN, "0100", reply]).end).toBe("open");
    expect(run(new Socks5Handshake(TARGET, undefined), [hex(NONE), hex(reply)]).end).toBe("open");
    for (let place = 0; place < hex(reply).length; place += 1)
      expect(
        run(new Socks5Handshake(TARGET, undefined), [hex(NONE), ...cutAt(hex(reply), [place])]).end,
      ).toBe("open");
    expect(dialogue(undefined, [NONE, `${reply}00`]).end).toBe("open");
    expect(run(new Socks5Handshake(TARGET, undefined), [hex(NONE), hex(`${reply}00`)]).end).toBe(
      "proxy_protocol",
    );
  });

  test("says what it must", () => {
    const name = Buffer.from(TARGET.host).toString("hex");
    expect(dialogue(undefined, [NONE, OPEN4]).said).toBe(`05010005010003${"0f"}${name}01bb`);
    expect(dialogue(login, [LOGIN, "0100", OPEN4]).said).toBe(`0502000201017500050100030f${name}01bb`);
    const to = (host: string) => run(new Socks5Handshake({ host, port: 80 }, undefined), [hex(NONE)]).said;
    expect(to("10.1.2.255")).toBe(`050100` + `050100010a0102ff0050`);
    expect(to("2001:db8::1")).toBe(`0501000501000420010db8${"0".repeat(22)}010050`);
    expect(to("::ffff:1.2.3.4")).toBe(`05010005010004${"0".repeat(20)}ffff010203040050`);
    const long = { user: "é".repeat(127), password: "p".repeat(255) };
    const said = dialogue(long, [LOGIN]).said;
    expect(said).toContain(`01fe${Buffer.from(long.user).toString("hex")}ff`);
  });

  test.each([
    ["05ff", "proxy_auth"],
    ["0501", "proxy_protocol"],
    ["0502", "proxy_protocol"],
    ["04", "proxy_protocol"],
    ["485454502f312e31", "proxy_protocol"],
  ])("without a login, %s is %s", (answer, verdict) => {
    expect(dialogue(undefined, [answer]).end).toBe(verdict);
  });

  test.each([
    ["0101", "proxy_auth"],
    ["01ff", "proxy_auth"],
    ["0501", "proxy_auth"],
    ["0000", "more"],
  ])("after the login, %s is %s", (answer, verdict) => {
    expect(dialogue(login, [LOGIN, answer]).end).toBe(verdict);
  });

  test.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 255])("reply %s blames the proxy or its target alone", (code) => {
    const verdict = code >= 3 && code <= 6 ? "proxy_target" : "proxy_refused";
    const reply = `05${code.toString(16).padStart(2, "0")}`;
    expect(dialogue(undefined, [NONE, reply]).end).toBe(verdict);
    expect(dialogue(undefined, [NONE, `${reply}0001000000000000`]).end).toBe(verdict);
  });

  test("an unknown address type is unreadable", () => {
    expect(dialogue(undefined, [NONE, "05000002"]).end).toBe("proxy_protocol");
  });
});

test("whatever a proxy says in whatever pieces, a handshake never throws", () => {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc
      .constantFrom("HTTP/1.1 200 OK\r\n", "\r\n\r\n", "HTTP/1.1 100 x\r\n\r\n", "05", "\u0005\u0000")
      .map((text) => Buffer.from(text, "latin1")),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), fc.boolean(), (pieces, isSocks) => {
      const login = { user: "u", password: "p" };
      const handshake = isSocks ? new Socks5Handshake(TARGET, login) : new ConnectHandshake(TARGET, login);
      expect(
        typeof run(
          handshake,
          pieces.map((bytes) => Buffer.from(bytes)),
        ).end,
      ).toBe("string");
    }),
  );
});
