// What can go wrong with a call: a clear OpenAI-shaped error, nothing charged, the process healthy.
import { createServer, request as httpRequest, type Server } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  freePort,
  manage,
  rootKey,
  type ServerProcess,
  startServer,
  temporaryDir,
} from "#test/worlds/process.ts";

const dir = temporaryDir();
let server: ServerProcess;
let html: Server;

interface Answer {
  status: number;
  type: string;
  body: { error?: { message?: string; type?: string; code?: unknown; param?: unknown } };
}

/** POSTs a chat body with the given key. */
async function chat(body: string, key: string = rootKey): Promise<Answer> {
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer sk-${key}`, "content-type": "application/json" },
    body,
  });
  // Every answer of this suite must be JSON; the assertion on the shape follows in the test.
  return {
    status: response.status,
    type: response.headers.get("content-type") ?? "",
    body: (await response.json()) as Answer["body"],
  };
}

const hello = (model: string, more = {}) =>
  JSON.stringify({ model, messages: [{ role: "user", content: "hi" }], ...more });

async function rootQuota(): Promise<number> {
  const user = await manage(server.url, "GET", "/api/user/self");
  return typeof user === "object" && user !== null && "quota" in user ? Number(user.quota) : Number.NaN;
}

async function addChannel(name: string, baseUrl: string, models: string): Promise<void> {
  await manage(server.url, "POST", "/api/channel/", {
    type: 1,
    name,
    key: "sk-x",
    base_url: baseUrl,
    models,
    group: "default",
  });
}

beforeAll(async () => {
  html = createServer((_req, res) => {
    res.writeHead(200, { "content-type": "text/html" });
    res.end("<html><title>Welcome to nginx</title></html>");
  });
  await new Promise<void>((resolve) => html.listen(0, "127.0.0.1", resolve));
  const address = html.address();
  server = await startServer(dir.path);
  await addChannel("dead", `http://127.0.0.1:${await freePort()}`, "gpt-4o");
  if (address && typeof address === "object")
    await addChannel("html", `http://127.0.0.1:${address.port}`, "gpt-4o-mini");
});

afterAll(async () => {
  await server.kill();
  html.close();
  html.closeAllConnections();
  dir.remove();
});

function expectOpenAiError(answer: Answer, status: number): void {
  expect(answer.status).toBe(status);
  expect(answer.type).toContain("application/json");
  expect(answer.body.error?.message).toBeTruthy();
  expect(answer.body.error?.message).toContain("request id");
  expect(answer.body.error?.type).toBeTruthy();
  expect(answer.body.error).toHaveProperty("code");
  expect(answer.body.error).toHaveProperty("param");
}

describe("a call that fails", () => {
  const cases: [string, number, () => Promise<Answer>][] = [
    ["with a wrong key", 401, () => chat(hello("gpt-4o"), "Z".repeat(48))],
    ["for an unknown model", 503, () => chat(hello("no-such-model"))],
    ["with a dead upstream", 502, () => chat(hello("gpt-4o"))],
    ["with an upstream that answers HTML", 502, () => chat(hello("gpt-4o-mini"))],
    [
      "with an upstream that answers HTML to a stream",
      502,
      () => chat(hello("gpt-4o-mini", { stream: true })),
    ],
    ["with a body that is not JSON", 400, () => chat("this is not json")],
    ["with an empty body", 400, () => chat("")],
    ["without a model", 400, () => chat(JSON.stringify({ messages: [] }))],
  ];

  it.each(cases)("%s gets status %i in the OpenAI shape and is not charged", async (_name, status, call) => {
    const before = await rootQuota();
    expectOpenAiError(await call(), status);
    expect(await rootQuota()).toBe(before);
  });

  it("with an exhausted token says so and is not charged", async () => {
    const token = await manage(server.url, "POST", "/api/token/", {
      name: "poor",
      remain_quota: 0,
      expired_time: -1,
    });
    const key = typeof token === "object" && token !== null && "key" in token ? String(token.key) : "";
    const before = await rootQuota();
    expectOpenAiError(await chat(hello("gpt-4o"), key), 401);
    expect(await rootQuota()).toBe(before);
  });

  it("with too little quota left is refused with 403", async () => {
    const token = await manage(server.url, "POST", "/api/token/", {
      name: "scarce",
      remain_quota: 1,
      expired_time: -1,
    });
    const key = typeof token === "object" && token !== null && "key" in token ? String(token.key) : "";
    const answer = await chat(hello("gpt-4o"), key);
    expectOpenAiError(answer, 403);
    expect(answer.body.error?.code).toBe("pre_consume_token_quota_failed");
  });
});

describe("a body of 100 MB", () => {
  /** Sends `megabytes` of body, with its length or chunked, and stops when the server answers or hangs up. */
  function flood(megabytes: number, chunked: boolean): Promise<{ status: number; sent: number }> {
    return new Promise((resolve) => {
      let sent = 0;
      let status = 0;
      const length = chunked ? {} : { "content-length": String(megabytes << 20) };
      const request = httpRequest(`${server.url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer sk-${rootKey}`, "content-type": "application/json", ...length },
      });
      request.on("response", (response) => {
        status = response.statusCode ?? 0;
        response.resume();
      });
      request.on("error", () => undefined);
      request.on("close", () => resolve({ status, sent }));
      const piece = Buffer.alloc(1 << 20, "a");
      const pump = () => {
        if (status !== 0 || request.destroyed) request.destroy();
        else if (sent >= megabytes << 20) request.end();
        else {
          sent += piece.length;
          request.write(piece, () => setImmediate(pump));
        }
      };
      pump();
    });
  }

  it.each([false, true])("is refused with 413 without being read whole (chunked: %s)", async (chunked) => {
    const before = await rootQuota();
    const { status, sent } = await flood(100, chunked);
    expect(status).toBe(413);
    expect(sent).toBeLessThan(100 << 20);
    expect(await rootQuota()).toBe(before);
  });
});

it("is healthy afterwards", async () => {
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  expect(server.output()).not.toMatch(/unhandled|TypeError|ReferenceError/i);
  expect(server.output()).not.toContain(rootKey);
});
