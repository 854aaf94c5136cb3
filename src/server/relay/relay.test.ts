// Calls that work, and which callers may make them.
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "vitest";
import type { Settlement } from "#server/money/operations.ts";
import { createRelay } from "#server/relay/relay.ts";
import { type Asked, chatReply, chunk, DONE, json, raw, sse } from "#test/emulators/fake-upstream.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { CHANNEL_KEY, createRelayWorld, errorOf, MODEL, QUESTION } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();

describe("a plain call", () => {
  beforeEach(async () => {
    await world.addChannel();
  });

  it("passes both bodies byte for byte, unknown fields included, and charges the reported usage", async () => {
    const reply =
      '{ "id":"x","choices":[ {"index":0,"message":{"role":"assistant","content":"h\\u00e9 🎹","vendor":1.0}} ],"extra":{"a":[1e2]},"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15} }';
    world.upstream.script(raw(reply, { "content-type": "application/json", "x-request-id": "up-1" }));
    const sent =
      '{ "model": "gpt-4", "messages":[{"role":"user","content":"é"}] ,"vendor_field":{"deep":[1.0,null]},"n":1 }';
    let text = "";
    let response: Response | undefined;
    const { charged, open, entries, log } = await world.costOf(async () => {
      response = await world.ask(sent);
      text = await response.text();
    });
    expect(text).toBe(reply);
    expect(world.upstream.journal[0]?.text).toBe(sent);
    expect(response?.status).toBe(200);
    expect(response?.headers.get("x-request-id")).toBe("up-1");
    expect(response?.headers.get("x-oneapi-request-id")).toMatch(/^\d{31}$/);
    // (10 + 5 × 2) × 15
    expect({ charged, open, entries }).toEqual({ charged: 300, open: 0, entries: 1 });
    expect(log).toMatchObject({
      model_name: MODEL,
      prompt_tokens: 10,
      completion_tokens: 5,
      quota: 300,
      is_stream: 0,
      estimated: 0,
    });
  });

  it("drops fields that a model or a vendor refuses, and says so", async () => {
    const asked = { messages: QUESTION.messages, temperature: 0.2, max_tokens: 9, logprobs: true };
    await world.addChannel({ type: 1, models: "gpt-5-mini,gpt-5.4" });
    await world.addChannel({ type: 29, models: "llama-3.1-8b-instant" });
    const dropped = async (body: object) =>
      (await world.ask({ ...asked, ...body })).headers.get("x-tollgate-dropped");
    expect(await dropped({ model: "gpt-5-mini" })).toBe("temperature, logprobs");
    expect(await dropped({ model: "gpt-5.4" })).toBeNull();
    expect(await dropped({ model: "llama-3.1-8b-instant" })).toBe("logprobs");
    const sent = world.upstream.journal.map(({ text }) => Object.keys(JSON.parse(text)));
    expect(sent).toEqual([
      ["messages", "max_completion_tokens", "model"],
      ["messages", "temperature", "max_completion_tokens", "logprobs", "model"],
      ["messages", "temperature", "max_tokens", "model"],
    ]);
  });

  it("obeys a reasoning effort in the model's name, at the model's own price", async () => {
    const models = "gpt-5.4,gpt-5.4-high,gpt-5-pro-high,claude-sonnet-4-6,claude-sonnet-4-6-thinking";
    await world.addChannel({ type: 1, models });
    const { messages } = QUESTION;
    const plain = await world.costOf(() => world.ask({ model: "gpt-5.4", messages }));
    const high = await world.costOf(async () => {
      const body = { model: "gpt-5.4-high", messages, temperature: 1, reasoning_effort: "low" };
      expect((await world.ask(body)).headers.get("x-tollgate-dropped")).toBe("temperature");
    });
    expect(high.charged).toBe(plain.charged);
    await world.ask({ model: "gpt-5-pro-high", messages });
    const responses = { model: "gpt-5.4-high", input: "hi", reasoning: { summary: "auto" } };
    await world.ask(responses, { path: "/v1/responses" });
    const sent = world.upstream.journal.map(({ path, json: body }) => [
      path,
      body.model,
      body.reasoning_effort ?? body.reasoning,
    ]);
    expect(sent).toEqual([
      ["/v1/chat/completions", "gpt-5.4", undefined],
      ["/v1/chat/completions", "gpt-5.4", "high"],
      ["/v1/responses", "gpt-5-pro", { effort: "high", summary: "auto" }],
      ["/v1/responses", "gpt-5.4", { summary: "auto", effort: "high" }],
    ]);
    // A suffix that is no effort stays in the name.
    const priced = (name: string) => world.ctx.prices().find(name, name, "default")?.model;
    expect(priced("claude-sonnet-4-6-thinking")).toBe("claude-sonnet-4-6");
    expect(priced("gpt-5.1-codex-max-high")).toBe("gpt-5.1-codex-max");
    expect(priced("gpt-5.1-codex-max")).toBe("gpt-5.1-codex-max");
  });

  it("sends the channel's key and the allowed headers only", async () => {
    await world.ask(QUESTION, {
      headers: {
        cookie: "a=b",
        "x-forwarded-for": "1.2.3.4",
        "x-api-base": "http://evil",
        "openai-organization": "org-1",
        "x-custom": "1",
      },
    });
    const { headers, path } = world.upstream.journal[0] as Asked;
    expect(path).toBe("/v1/chat/completions");
    expect(Object.keys(headers).toSorted()).toEqual([
      "accept",
      "authorization",
      "connection",
      "content-length",
      "content-type",
      "host",
      "user-agent",
    ]);
    expect(headers.authorization).toBe(`Bearer ${CHANNEL_KEY}`);
  });

  it("shows no upstream header but the allowed ones", async () => {
    world.upstream.script(
      json(chatReply("hi"), 200, {
        "set-cookie": "a=b",
        server: "secret",
        "openai-organization": "org-secret",
        "x-api-key": CHANNEL_KEY,
        "x-ratelimit-remaining-requests": "9",
        "openai-processing-ms": "12",
        "retry-after": "1",
      }),
    );
    const response = await world.ask(QUESTION);
    const names = [...response.headers.keys()].toSorted();
    expect(names).toEqual([
      "access-control-allow-origin",
      "access-control-expose-headers",
      "connection",
      "content-length",
      "content-type",
      "date",
      "keep-alive",
      "openai-processing-ms",
      "retry-after",
      "x-oneapi-request-id",
    ]);
  });

  it("takes the key from any of the headers and in any case of Bearer", async () => {
    for (const headers of [
      { authorization: `bearer   sk-${world.token.key}` },
      { authorization: world.token.key },
      { "x-api-key": `sk-${world.token.key}` },
      { "api-key": world.token.key },
      { authorization: "Bearer wrong", "x-api-key": `sk-${world.token.key}` },
    ]) {
      const response = await fetch(`${world.url}/v1/chat/completions`, {
        method: "POST",
        headers,
        body: JSON.stringify(QUESTION),
      });
      expect(response.status).toBe(200);
    }
  });

  it("masks the channel's key wherever an upstream echoes it", async () => {
    world.upstream.script(
      json({ ...chatReply(`hi ${CHANNEL_KEY}`), extra: { [CHANNEL_KEY]: CHANNEL_KEY } }, 200, {
        "x-request-id": CHANNEL_KEY,
      }),
      sse(chunk({ content: `hi ${CHANNEL_KEY} and ${CHANNEL_KEY}` }), chunk({}, "stop"), DONE),
    );
    for (const stream of [false, true]) {
      const response = await world.ask({ ...QUESTION, stream });
      const text = (await response.text()) + JSON.stringify([...response.headers]);
      expect(text).toContain("hi ***");
      expect(text).not.toContain(CHANNEL_KEY);
    }
  });

  it("masks it in JSON's escapes too: in a body, an event, an error, an error that is passed on word for word", async () => {
    const escaped = CHANNEL_KEY.replace("k", "\\u006b").replace("c", "\\\\u0063");
    const echo = (value: object) => JSON.stringify(value).replaceAll(CHANNEL_KEY, escaped);
    const type = { "content-type": "application/json" };
    const error = { message: `bad ${CHANNEL_KEY}`, [CHANNEL_KEY]: CHANNEL_KEY };
    const events = `data: ${echo({ choices: [{ delta: { content: CHANNEL_KEY } }] })}\n\n`;
    world.upstream.script(
      raw(echo({ ...chatReply(`hi ${CHANNEL_KEY}`), extra: { [CHANNEL_KEY]: CHANNEL_KEY } }), type),
      sse(events, chunk({}, "stop"), DONE),
      raw(echo({ error }), type, 400),
      raw(echo({ error }), type, 500),
    );
    for (const stream of [false, true, true, false]) {
      const text = await (await world.ask({ ...QUESTION, stream })).text();
      expect(text).toContain("***");
      expect(
        text.replace(/\\+u00(..)/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
      ).not.toContain("canary");
    }
  });

  it("survives a client that leaves while its call is being settled", async () => {
    const { ledger } = world.ctx;
    let isSettling = false;
    const slow = new Proxy(ledger, {
      get(target, name) {
        if (name === "settle")
          return (call: Settlement) => {
            isSettling = true;
            return sleep(80).then(() => ledger.settle(call));
          };
        const verb: unknown = Reflect.get(target, name, target);
        return typeof verb === "function" ? verb.bind(target) : verb;
      },
    });
    const server = createServer(createRelay({ ...world.ctx, ledger: slow }));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = address !== null && typeof address === "object" ? address.port : 0;
    const { charged, entries } = await world.costOf(async () => {
      const controller = new AbortController();
      const pending = fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${world.token.key}` },
        body: JSON.stringify(QUESTION),
        signal: controller.signal,
      }).catch(() => undefined);
      await expect.poll(() => isSettling, { interval: 5 }).toBe(true);
      controller.abort();
      await pending;
    });
    // The answer had arrived in full: it is charged in full (requirements M16).
    expect({ charged, entries }).toEqual({ charged: 300, entries: 1 });
    server.close();
  });

  it("settles before the last byte", async () => {
    const before = await world.money();
    const response = await world.ask(QUESTION);
    await response.arrayBuffer();
    const after = await world.money();
    expect(before.quota - after.quota).toBe(300);
    expect(after.open).toBe(0);
  });

  it("relays completions and embeddings, also under the engine's path", async () => {
    await world.addChannel({ models: "text-embedding-3-small,gpt-3.5-turbo-instruct" });
    world.upstream.script(
      json({
        object: "list",
        data: [{ object: "embedding", index: 0, embedding: [0.1] }],
        usage: { prompt_tokens: 7, total_tokens: 7 },
      }),
    );
    const embedding = await world.costOf(async () => {
      await (
        await world.ask({ model: "text-embedding-3-small", input: ["a"] }, { path: "/v1/embeddings" })
      ).text();
      await (
        await world.ask({ input: "a" }, { path: "/v1/engines/text-embedding-3-small/embeddings" })
      ).text();
    });
    // ceil(7 × 0.01) each
    expect(embedding).toMatchObject({ charged: 2, entries: 2 });
    expect(world.upstream.journal.map(({ path, json: body }) => [path, body.model])).toEqual([
      ["/v1/embeddings", "text-embedding-3-small"],
      ["/v1/embeddings", "text-embedding-3-small"],
    ]);
    world.upstream.script(
      json({
        object: "text_completion",
        choices: [{ text: "x" }],
        usage: { prompt_tokens: 1, completion_tokens: 1 },
      }),
    );
    const response = await world.ask(
      { model: "gpt-3.5-turbo-instruct", prompt: "a" },
      { path: "/v1/completions" },
    );
    expect(response.status).toBe(200);
  });
});

describe("authentication", () => {
  beforeEach(async () => {
    await world.addChannel();
  });

  async function refused(headers: Record<string, string>, body: unknown = QUESTION) {
    return errorOf(
      await fetch(`${world.url}/v1/chat/completions`, {
        method: "POST",
        headers,
        body: JSON.stringify(body),
      }),
    );
  }
  const keyed = (key: string) => ({ authorization: `Bearer sk-${key}` });
  const change = async (set: Record<string, number | string>) => {
    await world.ctx.db.updateTable("tokens").set(set).where("id", "=", world.token.id).execute();
    await world.ctx.coord.publish("tokens", String(world.token.id));
  };

  it("refuses a missing and an unknown key with 401", async () => {
    expect(await refused({})).toMatchObject({ status: 401, type: "one_api_error", code: "missing_key" });
    const unknown = await refused(keyed("x".repeat(48)));
    expect(unknown).toMatchObject({ status: 401, type: "one_api_error" });
    expect(unknown.message).toMatch(/\(request id: \d{31}\)$/);
  });

  it("answers unknown and disabled keys alike", async () => {
    await change({ status: 2 });
    const strip = ({ message, ...rest }: Awaited<ReturnType<typeof refused>>) => ({
      ...rest,
      message: message.replace(/\d{31}/, ""),
    });
    expect(strip(await refused(keyed(world.token.key)))).toEqual(strip(await refused(keyed("y".repeat(48)))));
  });

  it.each([
    ["exhausted status", { status: 4 }, 401],
    ["expired status", { status: 3 }, 401],
    ["expired time", { expired_time: 1000 }, 401],
    ["no quota left", { unlimited_quota: 0 }, 401],
    ["foreign subnet", { subnet: "10.0.0.0/8" }, 403],
    ["other models", { models: "gpt-4o,gpt-5" }, 403],
    ["deleted", { deleted_at: 5 }, 401],
  ])("refuses a token: %s", async (_, set, status) => {
    expect((await world.ask(QUESTION)).status).toBe(200);
    await change(set);
    expect(await refused(keyed(world.token.key))).toMatchObject({ status, type: "one_api_error" });
    expect(world.upstream.journal.length).toBe(1);
  });

  it("accepts a token that allows the model and the address", async () => {
    await change({ models: "gpt-4,gpt-5", subnet: "127.0.0.0/8" });
    expect((await world.ask(QUESTION)).status).toBe(200);
  });

  it("refuses the token of a banned user, also after it worked", async () => {
    const other = await seedUser(world.ctx, "later-banned");
    const theirs = await seedToken(world.ctx, other.id);
    expect((await world.ask(QUESTION, { key: theirs.key })).status).toBe(200);
    await world.ctx.db.updateTable("users").set({ status: 2 }).where("id", "=", other.id).execute();
    // Even when the change is not announced: the ledger reads the row.
    expect((await world.ask(QUESTION, { key: theirs.key })).status).toBe(403);
  });

  it("refuses a caller without enough quota, and charges nothing", async () => {
    const other = await seedUser(world.ctx, "poor");
    await world.ctx.ledger.adjust({
      userId: other.id,
      kind: "adjust",
      quota: { target: 100n },
      actorId: 1,
      reason: "test",
    });
    const theirs = await seedToken(world.ctx, other.id);
    const error = await errorOf(await world.ask(QUESTION, { key: theirs.key }));
    expect(error).toMatchObject({ status: 403, code: "insufficient_user_quota" });
    await world.ctx.ledger.adjust({
      userId: world.userId,
      tokenId: world.token.id,
      kind: "token-adjust",
      quota: { target: 100n },
      actorId: 1,
      reason: "test",
    });
    await change({ unlimited_quota: 0 });
    expect(await refused(keyed(world.token.key))).toMatchObject({
      status: 403,
      code: "pre_consume_token_quota_failed",
    });
    expect(world.upstream.journal.length).toBe(0);
  });

  it("lets only administrators name a channel", async () => {
    const idle = await world.addChannel({ priority: -5, key: "sk-second-channel" });
    const disabled = await world.addChannel({ status: 2 });
    expect(await refused(keyed(`${world.token.key}-${idle}`))).toMatchObject({
      status: 403,
      code: "channel_pinning_not_allowed",
    });
    const admin = await seedUser(world.ctx, "pinner", { role: 10 });
    const theirs = await seedToken(world.ctx, admin.id);
    expect((await world.ask(QUESTION, { key: `${theirs.key}-${idle}` })).status).toBe(200);
    expect(world.upstream.journal[0]?.headers.authorization).toBe("Bearer sk-second-channel");
    expect(await refused(keyed(`${theirs.key}-999999`))).toMatchObject({ status: 400 });
    expect(await refused(keyed(`${theirs.key}-abc`))).toMatchObject({ status: 400 });
    expect(await refused(keyed(`${theirs.key}-${disabled}`))).toMatchObject({ status: 403 });
    expect((await refused(keyed(`${theirs.key}-${idle}`), { ...QUESTION, model: "gpt-4o" })).status).toBe(
      400,
    );
  });
});
