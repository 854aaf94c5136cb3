// The listener of the whole server: upgrades (requirements R28), limits, compression.
import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { asRoot, createTestApp, type TestApp } from "#test/worlds/app.ts";

let app: TestApp;
let port = 0;

beforeAll(async () => {
  app = await createTestApp({ env: { TRUSTED_PROXIES: "127.0.0.1" } });
  port = Number(new URL(await app.listen()).port);
});

afterAll(() => app.close());

/** The status of an answer to a request that offers another protocol. */
function statusOf(path: string, upgrade: string): Promise<number> {
  const handshake = { "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==", "sec-websocket-version": "13" };
  const headers = { connection: "Upgrade", upgrade, ...handshake };
  return new Promise((resolve, reject) => {
    const call = request({ host: "127.0.0.1", port, path, headers }, (res) => {
      res.resume();
      resolve(res.statusCode ?? 0);
    });
    call.on("upgrade", (res, socket) => {
      socket.destroy();
      resolve(res.statusCode ?? 0);
    });
    call.on("error", reject);
    call.end();
  });
}

it("overlooks offers of other protocols than WebSocket", async () => {
  expect(await statusOf("/api/status", "h2c")).toBe(200);
  expect(await statusOf("/v1/realtime", "h2c")).toBe(426);
});

it("takes WebSockets on one path only", async () => {
  expect(await statusOf("/api/status", "websocket")).toBe(400);
  expect(await statusOf("/", "WebSocket")).toBe(400);
  expect(await statusOf("/v1/realtime?model=m", "WebSocket")).toBe(101);
});

it("drops a refused client that does not hang up", async () => {
  const client = connect({ port, host: "127.0.0.1", allowHalfOpen: true }).resume();
  const gone = new Promise((resolve) => client.once("error", resolve));
  client.write(
    "GET /api/status HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
  );
  await once(client, "end");
  // The system refuses what arrives for a connection that has been closed.
  const talk = setInterval(() => client.write("x"), 50);
  expect(await gone).toMatchObject({ code: expect.stringMatching(/EPIPE|ECONNRESET/) });
  clearInterval(talk);
  client.destroy();
});

it("answers probes at once, and knows the relay's paths from the console's", async () => {
  const head = await fetch(`http://127.0.0.1:${port}/`, { method: "HEAD" });
  expect(head.status).toBe(200);
  expect(await head.text()).toBe("");
  // A relay path asks for a key, in the words of OpenAI's clients.
  for (const path of [
    "/rerank",
    "/v1/rerank",
    "/v1beta/openai/chat/completions",
    "/openai/v1/responses",
    "/chat/completions",
  ]) {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", body: "{}" });
    expect([path, answer.status]).toEqual([path, 401]);
    expect(await answer.json()).toMatchObject({ error: { type: "one_api_error" } });
  }
  // A client that looks for a page gets the console, one that shows a key the relay.
  const typeOf = async (headers: Record<string, string>) =>
    (await fetch(`http://127.0.0.1:${port}/models`, { headers })).headers.get("content-type");
  expect(await typeOf({})).toMatch("text/html");
  expect(await typeOf({ authorization: "Bearer sk-none" })).toMatch("application/json");
  const asked = await fetch(`http://127.0.0.1:${port}/models`, { method: "OPTIONS" });
  expect(asked.headers.get("access-control-allow-origin")).toBe("*");
});

it("lets pages frame the sites that the operator named and show pictures of any, by plain http where it is named", async () => {
  const policyOf = async () =>
    (await fetch(`http://127.0.0.1:${port}/`)).headers.get("content-security-policy");
  expect(await policyOf()).toMatch(/img-src 'self' https: data:;.* frame-src 'self';/);
  await app.ctx.options.set("Logo", "http://pictures.example/logo.png");
  await app.ctx.options.set("DocsLink", "http://docs.example:8080/a");
  await app.ctx.options.set("ChatLink", "https://chat.example/?a=1#/b");
  await app.ctx.options.set("About", " https://chat.example/about ");
  // Whatever else stands in an address never becomes a rule.
  await app.ctx.options.set("HomePageContent", "https://evil.example;sandbox");
  expect(await policyOf()).toMatch(
    /img-src 'self' https: data: http:\/\/pictures.example;.* frame-src 'self' https:\/\/chat.example http:\/\/docs.example:8080;/,
  );
  expect(await policyOf()).not.toContain("evil");
  await app.ctx.options.set("HomePageContent", "# Text with https://other.example/ in it");
  await app.ctx.options.set("TurnstileCheckEnabled", "true");
  const policy = await policyOf();
  await app.ctx.options.set("TurnstileCheckEnabled", "false");
  expect(policy).toMatch(
    /frame-src 'self' https:\/\/challenges.cloudflare.com https:\/\/chat.example http:\/\/docs.example:8080;/,
  );
});

it("asks browsers that came by TLS to come by TLS again, on pages and calls", async () => {
  const headers = { "x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.9" };
  for (const path of ["/", "/assets/none.js", "/api/status"]) {
    const kept = (await fetch(`http://127.0.0.1:${port}${path}`, { headers })).headers;
    expect([path, kept.get("strict-transport-security")]).toEqual([path, "max-age=31536000"]);
    const plain = (await fetch(`http://127.0.0.1:${port}${path}`)).headers;
    expect([path, plain.get("strict-transport-security")]).toEqual([path, null]);
  }
});

it("takes none while it drains", async () => {
  app.app.drain();
  expect(await statusOf("/v1/realtime?model=m", "websocket")).toBe(503);
});

it("tells clients that come while the server stops why they are refused", async () => {
  app.app.drain();
  const client = connect({ port, host: "127.0.0.1" });
  client.write(
    "GET /v1/realtime?model=m HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
  );
  expect(await text(client)).toMatch(/^HTTP\/1\.1 503 .*x-oneapi-request-id: \w+.*"code":"server_stopping"/s);
});

it.each(["", "TE: trailers\r\n"])(
  "ends connections of relayed calls with their answers while it drains: %j",
  async (more) => {
    app.app.drain();
    const client = connect({ port, host: "127.0.0.1" });
    client.write(`POST /v1/embeddings HTTP/1.1\r\nHost: x\r\n${more}Content-Length: 2\r\n\r\n{}`);
    expect(await text(client)).toMatch(/^HTTP\/1\.1 401 .*\r\nconnection: close\r\n.*\}\}$/is);
  },
);

it("counts pages of an address, not the hashed files that they are made of", async () => {
  const strict = await createTestApp({ env: { GLOBAL_WEB_RATE_LIMIT: "2" } });
  const url = await strict.listen();
  const status = async (path: string) => (await fetch(`${url}${path}`)).status;
  try {
    for (let file = 0; file < 5; file += 1) expect(await status(`/assets/${file}.js`)).toBe(404);
    expect([await status("/"), await status("/token"), await status("/log")]).toEqual([200, 200, 429]);
    expect(await status("/assets/one.js")).toBe(404);
  } finally {
    await strict.close();
  }
});

it("tells a visitor whose page is refused, and no other client, why, and that it tries again", async () => {
  const strict = await createTestApp({ env: { GLOBAL_WEB_RATE_LIMIT: "1" } });
  const url = await strict.listen();
  try {
    await fetch(url);
    const page = await fetch(`${url}/log`, { headers: { accept: "text/html,*/*;q=0.8" } });
    expect([page.status, page.headers.get("cache-control")]).toEqual([429, "no-store"]);
    const waitSec = Number(page.headers.get("retry-after"));
    expect(waitSec).toBeGreaterThan(0);
    const text = await page.text();
    expect(text).toContain("访问过于频繁");
    expect(text).toContain(`<meta http-equiv="refresh" content="${Math.min(waitSec, 60)}">`);
    const program = await fetch(`${url}/log`, { headers: { accept: "*/*" } });
    expect([program.status, await program.text()]).toEqual([429, ""]);
    const frame = { accept: "text/html", "sec-fetch-dest": "image" };
    expect(await (await fetch(`${url}/log`, { headers: frame })).text()).toBe("");
  } finally {
    await strict.close();
  }
});

it("compresses long lists for clients with slow connections, and nothing that holds a secret (requirements W1.1)", async () => {
  const ask = async (path: string, coding: string) => {
    const headers = { ...asRoot, "accept-encoding": coding };
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
    expect(await answer.json()).toMatchObject({ success: true });
    return [answer.headers.get("content-encoding"), answer.headers.get("x-content-type-options")];
  };
  for (const path of ["/api/models", "/api/channel/models", "/api/option/"]) {
    expect(await ask(path, "gzip, deflate, br")).toEqual(["gzip", "nosniff"]);
    expect(await ask(path, "identity")).toEqual([null, "nosniff"]);
  }
  for (const path of ["/api/token/", "/api/user/self", "/api/channel/"])
    expect(await ask(path, "gzip")).toEqual([null, "nosniff"]);
});
