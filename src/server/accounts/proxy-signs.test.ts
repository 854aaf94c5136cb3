// The default password works from the server's own machine only. Behind a proxy every client seems to be there: from the first sign of
// a proxy on, no login with it succeeds, on any node and after a restart, and routes for this machine alone are closed.
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createTestApp, type TestApp } from "#test/worlds/app.ts";
import { DEFAULT_PASSWORD } from "./password.ts";
import { createProxySigns, proxySign } from "./proxy-signs.ts";

let app: TestApp;
let url = "";
let dataDir = "";

async function start(): Promise<void> {
  app = await createTestApp({ dataDir });
  await app.ctx.defaultPassword.check();
  url = await app.listen();
}
beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "tollgate-proxy-"));
  await start();
});
afterEach(async () => {
  await app.close();
  rmSync(dataDir, { recursive: true, force: true });
});

type Headers = Record<string, string>;

async function call(
  method: string,
  path: string,
  headers: Headers = {},
  body = "",
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    request(`${url}${path}`, { method, headers }, async (res) => {
      resolve({ status: res.statusCode ?? 0, text: await textOf(res) });
    })
      .on("error", reject)
      .end(body);
  });
}

async function login(headers: Headers = {}): Promise<boolean> {
  const body = JSON.stringify({ username: "root", password: DEFAULT_PASSWORD });
  const { text } = await call(
    "POST",
    "/api/user/login",
    { "content-type": "application/json", ...headers },
    body,
  );
  return JSON.parse(text).success;
}

const metrics = async () => (await call("GET", "/metrics")).status;

test.each(["127.0.0.1", "localhost", "127.0.0.1:3000", "[::1]:3000"])(
  "a login on the server's own machine works with the Host %s",
  async (host) => {
    expect(await login({ host })).toBe(true);
    expect(await metrics()).toBe(200);
  },
);

const SIGNS: [string, Headers][] = [
  ["a public name", { host: "gate.example" }],
  ["an address of the network", { host: "192.0.2.7" }],
  ["Via", { via: "1.1 nginx" }],
  ["Forwarded", { forwarded: "for=192.0.2.1" }],
  ["X-Forwarded-Proto alone", { "x-forwarded-proto": "https" }],
  ["Cloudflare", { "cf-connecting-ip": "192.0.2.1" }],
  ["Fly", { "fly-client-ip": "192.0.2.1" }],
];

describe.each(SIGNS)("after one request with %s", (_, headers) => {
  test.each(["/", "/api/status", "/v1/models", "/assets/none.js"])(
    "a login with the default password fails on %s",
    async (path) => {
      await call("GET", path, headers);
      expect(await login({ host: "127.0.0.1" })).toBe(false);
      expect(await metrics()).toBe(403);
    },
  );
});

test("the very request that shows a sign is refused", async () => {
  expect(await login({ host: "127.0.0.1", "x-real-ip": "127.0.0.1" })).toBe(false);
  expect(await login()).toBe(false);
});

test("nginx as it ships speaks HTTP/1.0, and is refused", async () => {
  const body = JSON.stringify({ username: "root", password: DEFAULT_PASSWORD });
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.write(
    `POST /api/user/login HTTP/1.0\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  expect(await textOf(socket)).toContain('"success":false');
  expect(await metrics()).toBe(403);
});

test("it stays so after a restart, and the operator has a way on", async () => {
  await call("GET", "/", { host: "gate.example" });
  await app.close();
  await start();
  const { text } = await call(
    "POST",
    "/api/user/login",
    { "content-type": "application/json" },
    JSON.stringify({ username: "root", password: DEFAULT_PASSWORD }),
  );
  expect(JSON.parse(text).message).toContain("npm run reset-password");
  expect(await metrics()).toBe(403);
});

test("it holds on all nodes of a database", async () => {
  await call("GET", "/", { host: "gate.example" });
  // The query that another node makes.
  await expect.poll(() => app.ctx.proxySigns.isSeen()).toBe(true);
  const { db, coord, events } = app.ctx;
  await expect.poll(() => createProxySigns({ db, coord, events }).isSeen()).toBe(true);
});

test("a request from another machine is no sign of a proxy", () => {
  const header = (name: string) => (name === "host" ? "gate.example" : undefined);
  expect(proxySign({ peer: "192.0.2.1", httpVersion: "1.0", header })).toBeUndefined();
  expect(proxySign({ peer: "::ffff:127.0.0.1", httpVersion: "1.1", header })).toBeDefined();
});
