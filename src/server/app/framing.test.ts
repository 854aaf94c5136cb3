// Heads that smuggle, and heads that never end, before the whole server (requirements R01, R17).
import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestApp, type TestApp } from "#test/worlds/app.ts";

let app: TestApp;
let url = "";
let port = 0;

beforeAll(async () => {
  app = await createTestApp();
  url = await app.listen();
  port = Number(new URL(url).port);
});

afterAll(() => app.close());

const NEXT = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";

/** All that the server says until it ends the connection. */
function say(bytes: string): Promise<string> {
  const client = connect(port, "127.0.0.1");
  client.write(bytes);
  return text(client);
}

const HEADS: readonly [string, string][] = [
  ["two hosts", "Host: a\r\nHost: b\r\nContent-Length: 0\r\n\r\n"],
  ["one host twice", "Host: a\r\nHOST: a\r\nContent-Length: 0\r\n\r\n"],
  ["no host", "Content-Length: 0\r\n\r\n"],
  ["a list of codings", "Host: a\r\nTransfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n"],
  [
    "two lines of codings",
    "Host: a\r\nTransfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  ],
  ["a coding that we do not know", "Host: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"],
  ["chunked twice", "Host: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"],
  ["an odd coding", "Host: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"],
  ["no coding", "Host: a\r\nTransfer-Encoding: identity\r\n\r\n"],
  ["a length and a coding", "Host: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
  ["two lengths", "Host: a\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n"],
  ["a folded line", "Host: a\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n"],
  ["a bare LF", "Host: a\nContent-Length: 0\n\n"],
  ["a NUL", "Host: a\r\nX: a\0b\r\n\r\n"],
  ["a blank before a colon", "Host: a\r\nContent-Length : 0\r\n\r\n"],
];

it.each(HEADS)("refuses %s, and whatever follows on that connection", async (_, head) => {
  const paths = ["/v1/messages", "/v1/chat/completions", "/api/user/login"];
  for (const told of await Promise.all(paths.map((path) => say(`POST ${path} HTTP/1.1\r\n${head}${NEXT}`)))) {
    expect(told).toMatch(/^HTTP\/1\.1 400 /);
    expect(told.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(told).toMatch(/connection: close/i);
  }
});

it("says what was wrong in each format", async () => {
  const [, head] = HEADS[0] ?? ["", ""];
  const said = async (path: string) =>
    JSON.parse((await say(`POST ${path} HTTP/1.1\r\n${head}`)).split("\r\n\r\n")[1] ?? "");
  expect(await said("/v1/messages")).toMatchObject({
    type: "error",
    error: { type: "invalid_request_error" },
  });
  expect(await said("/v1/chat/completions")).toMatchObject({ error: { code: "ambiguous_request" } });
  expect(await said("/api/user/login")).toEqual({ success: false, message: "请求头有歧义", data: null });
  const upgrade =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13";
  expect(
    await say(`GET /v1/realtime?model=m HTTP/1.1\r\nHost: a\r\nHost: b\r\n${upgrade}\r\n\r\n`),
  ).toContain("ambiguous_request");
});

it("takes one host and plain chunks, in any case", async () => {
  const chunks = "transfer-encoding: CHUNKED\r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
  expect(await say(`POST /v1/chat/completions HTTP/1.1\r\nhOST: a\r\n${chunks}`)).toMatch(/^HTTP\/1\.1 401 /);
});

it("gives up hundreds of heads that never end, and serves all others meanwhile", async () => {
  const beganMs = performance.now();
  const lasted = Array.from({ length: 300 }, async () => {
    const client = connect(port, "127.0.0.1").resume();
    client.on("error", () => undefined);
    client.write("POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nX-Slow: ");
    const drip = setInterval(() => client.write("a"), 3_000);
    await once(client, "close");
    clearInterval(drip);
    return performance.now() - beganMs;
  });
  const all = Promise.all(lasted);
  let served = 0;
  for (let isOver = false; !isOver; served += 1) {
    const askedMs = performance.now();
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect(performance.now() - askedMs).toBeLessThan(2_000);
    isOver = await Promise.race([
      all.then(() => true),
      new Promise<boolean>((next) => setTimeout(next, 500, false)),
    ]);
  }
  expect(served).toBeGreaterThan(10);
  expect(Math.max(...(await all))).toBeLessThan(12_000);
}, 30_000);
