// Requests that clients may send: paths, bodies, models.
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "vitest";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { createRelayWorld, errorOf, QUESTION } from "#test/worlds/relay-world.ts";
import { createRelay } from "./relay.ts";

const MEBIBYTE = 1024 * 1024;
const world = createRelayWorld();

describe("the relay", () => {
  beforeEach(async () => {
    await world.addChannel();
  });

  it.each([
    ["not JSON", "{"],
    ["an array", "[]"],
    ["nothing", ""],
    ["trailing data", `${JSON.stringify(QUESTION)}{}`],
    ["a BOM", `\uFEFF${JSON.stringify(QUESTION)}`],
    ["no model", '{"messages":[{}]}'],
    ["a model that is no text", '{"model":4,"messages":[{}]}'],
    ["no messages", '{"model":"gpt-4"}'],
    ["empty messages", '{"model":"gpt-4","messages":[]}'],
    ["the model twice", '{"model":"gpt-4","messages":[{}],"model":"gpt-5"}'],
    ["the model twice, once escaped", '{"model":"gpt-4","messages":[{}],"mod\\u0065l":"gpt-5"}'],
    ["the model in another case", '{"model":"gpt-4","messages":[{}],"Model":"gpt-5"}'],
    ["only a Model", '{"Model":"gpt-4","messages":[{}]}'],
    ["ſtream", '{"model":"gpt-4","messages":[{}],"ſtream":true}'],
    ["a lone surrogate", '{"model":"gpt-4","messages":[{"role":"user","content":"\\ud800"}]}'],
    ["depth", `{"model":"gpt-4","messages":${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
    [
      "width",
      `{"model":"gpt-4","messages":[{}],${Array.from({ length: 100_000 }, (_, i) => `"k${i}":1`).join(",")}}`,
    ],
    ["negative max_tokens", '{"model":"gpt-4","messages":[{}],"max_tokens":-1}'],
    ["huge max_tokens", '{"model":"gpt-4","messages":[{}],"max_tokens":1073741824}'],
    ["max_tokens 1e400", '{"model":"gpt-4","messages":[{}],"max_tokens":1e400}'],
    ["n as text", '{"model":"gpt-4","messages":[{}],"n":"5"}'],
    ["n too large", '{"model":"gpt-4","messages":[{}],"n":129}'],
    ["n of a half", '{"model":"gpt-4","messages":[{}],"n":1.5}'],
    ["stream as text", '{"model":"gpt-4","messages":[{}],"stream":"true"}'],
  ])("refuses %s with 400 and calls no upstream", async (_, body) => {
    const { charged, entries } = await world.costOf(async () => {
      expect(await errorOf(await world.ask(body))).toMatchObject({
        status: 400,
        code: "invalid_text_request",
      });
    });
    expect({ charged, entries, asked: world.upstream.journal.length }).toEqual({
      charged: 0,
      entries: 0,
      asked: 0,
    });
  });

  it("takes keys and texts that only look dangerous", async () => {
    const body =
      '{"model":"gpt-4","messages":[{"role":"user","content":"\\\\ud800 \\ud83c\\udfb9"}],"__proto__":{"x":1},"constructor":{"prototype":{"y":1}}}';
    expect((await world.ask(body)).status).toBe(200);
    expect(world.upstream.journal[0]?.text).toBe(body);
    expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
  });

  it("names model and group when no channel serves the model", async () => {
    const error = await errorOf(await world.ask({ ...QUESTION, model: "gpt-5" }));
    expect(error.status).toBe(503);
    expect(error.message).toContain("gpt-5");
    expect(error.message).toContain("default");
  });

  it("keeps groups apart", async () => {
    await world.addChannel({ models: "gpt-4o", group: "vip" });
    expect((await world.ask({ ...QUESTION, model: "gpt-4o" })).status).toBe(503);
    const vip = await seedUser(world.ctx, "vip", { group: "vip" });
    const theirs = await seedToken(world.ctx, vip.id);
    expect((await world.ask({ ...QUESTION, model: "gpt-4o" }, { key: theirs.key })).status).toBe(200);
    expect((await world.ask(QUESTION, { key: theirs.key })).status).toBe(503);
  });

  it("names a model without a price, with a status upon which no client calls again", async () => {
    await world.addChannel({ models: "no-such-model-anywhere" });
    const error = await errorOf(await world.ask({ ...QUESTION, model: "no-such-model-anywhere" }));
    expect(error).toMatchObject({ status: 400, code: "model_price_missing", param: "model" });
    expect(error.message).toContain("no-such-model-anywhere");
    expect(world.upstream.journal.length).toBe(0);
  });

  it("answers unknown paths, known gaps and preflights as the family does", async () => {
    const headers = { authorization: `Bearer ${world.token.key}` };
    const unknown = await fetch(`${world.url}/v1/nonsense`, { method: "POST" });
    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toEqual({
      error: {
        message: "Invalid URL (POST /v1/nonsense)",
        type: "invalid_request_error",
        param: "",
        code: "",
      },
    });
    for (const [method, path] of [
      ["POST", "/v1/uploads"],
      ["GET", "/v1/vector_stores/abc"],
      ["POST", "/v1/fine_tuning/jobs"],
      ["GET", "/v1/threads/x"],
      ["DELETE", "/v1/models/gpt-4"],
      ["GET", "/v1/responses/resp_1"],
      ["DELETE", "/v1/responses/resp_1"],
      ["POST", "/v1/responses/resp_1/cancel"],
      ["POST", "/v1/responses/compact"],
      ["GET", "/v1/conversations/conv_1"],
    ] as const) {
      const response = await fetch(`${world.url}${path}`, { method, headers });
      expect(await errorOf(response)).toMatchObject({
        status: 501,
        type: "one_api_error",
        param: "",
        code: "api_not_implemented",
      });
      expect((await fetch(`${world.url}${path}`, { method })).status).toBe(401);
    }
    expect((await fetch(`${world.url}/v1/chat/completions`)).status).toBe(404);
    const preflight = await fetch(`${world.url}/v1/chat/completions`, { method: "OPTIONS" });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-credentials")).toBeNull();
    // Scripts in browsers may read `Retry-After` and the request id, too.
    const refused = await fetch(`${world.url}/v1/chat/completions`, { method: "POST" });
    expect(refused.headers.get("access-control-expose-headers")).toBe("*");
  });

  it("lists the models a caller can use", async () => {
    await world.addChannel({ models: "gpt-4o,gpt-4", mapping: { alias: "gpt-4o" } });
    await world.addChannel({ models: "vip-only", group: "vip" });
    await world.addChannel({ models: "gpt-5", status: 2 });
    const headers = { authorization: `Bearer ${world.token.key}` };
    const list = (await (await fetch(`${world.url}/v1/models`, { headers })).json()) as {
      object: string;
      data: { id: string }[];
    };
    expect(list.object).toBe("list");
    expect(list.data.map(({ id }) => id)).toEqual(["alias", "gpt-4", "gpt-4o"]);
    expect(list.data[0]).toMatchObject({ object: "model", created: 1626777600, root: "alias", parent: null });
    expect((await fetch(`${world.url}/v1/models/gpt-4o`, { headers })).status).toBe(200);
    const missing = await errorOf(await fetch(`${world.url}/v1/models/gpt-5`, { headers }));
    expect(missing).toMatchObject({
      status: 404,
      type: "invalid_request_error",
      param: "model",
      code: "model_not_found",
    });
    expect((await fetch(`${world.url}/v1/models`)).status).toBe(401);
    await world.ctx.db
      .updateTable("tokens")
      .set({ models: "gpt-4" })
      .where("id", "=", world.token.id)
      .execute();
    await world.ctx.coord.publish("tokens", String(world.token.id));
    const cut = (await (await fetch(`${world.url}/v1/models`, { headers })).json()) as { data: unknown[] };
    expect(cut.data.length).toBe(1);
  });

  it("understands a version both in the address and in the path", async () => {
    const headers = { authorization: `Bearer ${world.token.key}` };
    const list = await fetch(`${world.url}/v1/v1/models`, { headers });
    expect(await list.json()).toMatchObject({ object: "list" });
    // Each in the format of its own clients.
    const messages = await fetch(`${world.url}/v1/v1/messages?beta=true`, { method: "POST", body: "{}" });
    expect([messages.status, await messages.json()]).toMatchObject([401, { type: "error" }]);
    const path = "/v1/v1beta/models/gpt-4:generateContent";
    const gemini = await fetch(world.url + path, { method: "POST", body: "{}" });
    expect(await gemini.json()).toMatchObject({ error: { code: 401 } });
    expect((await fetch(`${world.url}/v1/v1/nonsense`, { method: "POST" })).status).toBe(404);
  });

  it("sends the mapped name and prices the requested one", async () => {
    await world.clearChannels();
    await world.addChannel({ models: "alias,gpt-4", mapping: { alias: "gpt-4-turbo", "gpt-4": "gpt-4o" } });
    const { charged, log } = await world.costOf(async () =>
      (await world.ask('{"messages":[{"role":"user","content":"x"}], "model" : "gpt-4" ,"a":1.0}')).text(),
    );
    expect(world.upstream.journal[0]?.text).toBe(
      '{"messages":[{"role":"user","content":"x"}], "model" : "gpt-4o" ,"a":1.0}',
    );
    expect({ charged, model: log?.model_name }).toEqual({ charged: 300, model: "gpt-4" });
    // The alias has no price: the mapped name's counts: (10 + 5 × 3) × 5.
    const alias = await world.costOf(async () => (await world.ask({ ...QUESTION, model: "alias" })).text());
    expect({ charged: alias.charged, model: alias.log?.model_name }).toEqual({
      charged: 125,
      model: "alias",
    });
  });
});

describe("bodies of any size and speed", () => {
  beforeEach(async () => {
    await world.addChannel();
  });

  function socketTo(
    head: string,
    url = world.url,
  ): Promise<{ text: () => string; closed: Promise<void>; write: (data: Buffer | string) => void }> {
    const { port, hostname } = new URL(url);
    let text = "";
    return new Promise((resolve) => {
      const socket = connect(Number(port), hostname, () => {
        socket.write(head);
        const closed = new Promise<void>((done) => socket.on("close", () => done()));
        resolve({ text: () => text, closed, write: (data) => void socket.write(data) });
      });
      socket.on("data", (data) => {
        text += data;
      });
      socket.on("error", () => undefined);
    });
  }

  it("refuses an announced 100 MB with 413 and ends the connection", async () => {
    const { text, closed } = await socketTo(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${world.token.key}\r\nContent-Length: 100000000\r\n\r\n`,
    );
    await closed;
    expect(text()).toContain("HTTP/1.1 413");
    expect(text().toLowerCase()).toContain("connection: close");
    expect(text()).toContain("request_too_large");
  });

  it("refuses a chunked flood at the limit", async () => {
    const piece = Buffer.concat([
      Buffer.from("100000\r\n"),
      Buffer.alloc(0x100000, "x"),
      Buffer.from("\r\n"),
    ]);
    const { text, closed, write } = await socketTo(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${world.token.key}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    for (let sent = 0; sent < 34 && text() === ""; sent += 1) {
      write(piece);
      await sleep(1);
    }
    await closed;
    expect(text()).toContain("HTTP/1.1 413");
    expect(world.upstream.journal.length).toBe(0);
  });

  it("refuses the bodies that have cost most when all together take too much memory", async () => {
    // A quarter of this may be held.
    const config = { ...world.ctx.config, memoryBytes: 4 * 3 * MEBIBYTE };
    const server = createServer(createRelay({ ...world.ctx, config }));
    const url = await new Promise<string>((resolve) =>
      // A server that listens on a port has an address of this kind.
      server.listen(0, "127.0.0.1", () =>
        resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
      ),
    );
    const head = (path: string) =>
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${world.token.key}\r\nContent-Length: 30000000\r\n\r\n`;
    const half = Buffer.alloc(1.3 * MEBIBYTE, " ");
    const first = await socketTo(head("/v1/messages"), url);
    first.write(half);
    await sleep(200);
    const second = await socketTo(head("/v1/chat/completions"), url);
    second.write(half);
    await sleep(200);
    expect([first.text(), second.text()]).toEqual(["", ""]);
    const long = { ...QUESTION, messages: [{ role: "user", content: "a".repeat(MEBIBYTE) }] };
    const ask = (body: object) =>
      fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${world.token.key}` },
        body: JSON.stringify(body),
      });
    expect((await ask(long)).status).toBe(200);
    await expect
      .poll(first.text)
      .toMatch(/^HTTP\/1.1 503 [^{]*retry-after: 3\r\n[^{]*\{"type":"error","error":\{/i);
    expect(second.text()).toBe("");
    server.closeAllConnections();
    server.close();
  });

  it("checks the key before it reads a body", async () => {
    const { text, closed } = await socketTo(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer nobody\r\nContent-Length: 1073741824\r\n\r\n",
    );
    await closed;
    expect(text()).toContain("HTTP/1.1 401");
  });

  it("takes a large body below the limit", async () => {
    const text = "a".repeat(8 * 1024 * 1024);
    const response = await world.ask({
      ...QUESTION,
      messages: [
        {
          role: "user",
          content: [{ type: "image_url", image_url: { url: `data:image/png;base64,${text}` } }],
        },
      ],
    });
    expect(response.status).toBe(200);
    expect(world.upstream.journal[0]?.text.length).toBeGreaterThan(text.length);
  });

  it("refuses compressed bodies", async () => {
    expect((await world.ask(QUESTION, { headers: { "content-encoding": "gzip" } })).status).toBe(415);
  });

  it("goes on with the connection after a refusal", async () => {
    const { text, closed, write } = await socketTo(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer nobody\r\nContent-Length: 5\r\n\r\nabcde",
    );
    await sleep(100);
    write(
      `GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${world.token.key}\r\nConnection: close\r\n\r\n`,
    );
    await closed;
    expect(text()).toMatch(/HTTP\/1\.1 401[\s\S]*HTTP\/1\.1 200/);
  });
});
