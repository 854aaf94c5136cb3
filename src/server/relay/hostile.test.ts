// Callers that try to pay less than they use, to get free answers, or to waste our work (requirements M02, M04, M17, R15).
import { beforeEach, describe, expect, it } from "vitest";
import { chatReply, chunk, DONE, json, sse, usageChunk } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld, errorOf, MODEL, QUESTION } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const CLAUDE = "claude-sonnet-4-6";
const TEXT = "The quick brown fox jumps over the lazy dog. ".repeat(40);

/** Reads until a piece holds this text, then leaves. */
async function leaveAfter(body: unknown, piece: string, path: string): Promise<void> {
  const controller = new AbortController();
  const response = await world.ask(body, { path, signal: controller.signal });
  const reader = response.body?.getReader();
  let seen = "";
  while (!seen.includes(piece)) {
    const { value, done } = (await reader?.read()) ?? { done: true };
    if (done) break;
    seen += Buffer.from(value ?? []).toString();
  }
  controller.abort();
  await world.upstream.journal[0]?.aborted;
}

describe("a limit that the upstream does not keep", () => {
  beforeEach(async () => {
    await world.addChannel();
  });

  it.each(["max_tokens", "max_completion_tokens"])(
    "bounds by %s only output that was not delivered",
    async (name) => {
      world.upstream.script(
        json(chatReply(TEXT, { prompt_tokens: 9, completion_tokens: 400, total_tokens: 409 })),
      );
      const { max_tokens: _, ...question } = QUESTION;
      const { log } = await world.costOf(() => world.ask({ ...question, [name]: 1 }));
      expect(log).toMatchObject({ completion_tokens: 400 });
    },
  );

  it("does not bound usage above what the text that came can be", async () => {
    world.upstream.script(
      json(chatReply("hi", { prompt_tokens: 9, completion_tokens: 1e6, total_tokens: 1e6 })),
    );
    const { log } = await world.costOf(() => world.ask(QUESTION));
    expect(log).toMatchObject({ completion_tokens: 1, estimated: 1 });
  });

  it("is the larger one of two", async () => {
    world.upstream.script(
      json(chatReply("hi", { prompt_tokens: 9, completion_tokens: 90, total_tokens: 99 })),
    );
    const { log } = await world.costOf(() => world.ask({ ...QUESTION, max_completion_tokens: 1 }));
    expect(log).toMatchObject({ completion_tokens: 90 });
  });
});

describe("a client that leaves before the usage is complete", () => {
  it("pays for the text it got, when usage came early and empty", async () => {
    await world.addChannel();
    world.upstream.script(
      sse(usageChunk({ prompt_tokens: 9, completion_tokens: 0 }), chunk({ content: TEXT }), 5_000),
    );
    const { log } = await world.costOf(() =>
      leaveAfter({ ...QUESTION, stream: true }, "lazy dog", "/v1/chat/completions"),
    );
    expect(log?.prompt_tokens).toBe(9);
    expect(log?.completion_tokens).toBeGreaterThan(300);
  });

  it.each(["client", "upstream"])("pays for the text on Anthropic's wire, cut by the %s", async (who) => {
    await world.addChannel({ type: 14, models: CLAUDE });
    const event = (value: { type: string }) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
    const usage = { input_tokens: 20, output_tokens: 1 };
    const head = { id: "m", type: "message", role: "assistant", model: CLAUDE, content: [], usage };
    const delta = { type: "text_delta", text: TEXT };
    world.upstream.script(
      sse(
        event({ type: "message_start", message: head } as { type: string }),
        event({ type: "content_block_delta", index: 0, delta } as { type: string }),
        ...(who === "client" ? [5_000] : (["cut"] as const)),
      ),
    );
    const body = { model: CLAUDE, max_tokens: 4_000, stream: true, messages: QUESTION.messages };
    const { log } = await world.costOf(() => leaveAfter(body, "lazy dog", "/v1/messages"));
    expect(log?.prompt_tokens).toBe(20);
    expect(log?.completion_tokens).toBeGreaterThan(300);
  });

  it.each([
    ["a tool of its own", { tool_calls: [{ index: 0, id: "c", type: "custom", custom: { input: TEXT } }] }],
    ["a voice", { audio: { id: "a", data: "AAAA", transcript: TEXT } }],
  ])("pays for the text of %s, passed or translated", async (_, delta) => {
    await world.addChannel();
    for (const path of ["/v1/chat/completions", "/v1/messages"]) {
      world.upstream.journal.length = 0;
      world.upstream.script(sse(chunk({ content: "So: " }), chunk(delta), "cut"));
      const { log } = await world.costOf(async () => {
        const response = await world.ask({ ...QUESTION, stream: true }, { path });
        await response.text().catch(() => "");
      });
      expect(log?.completion_tokens).toBeGreaterThan(300);
    }
  });

  it("pays for a text whose usage says that there is none", async () => {
    await world.addChannel();
    world.upstream.script(
      sse(
        chunk({ content: TEXT }),
        chunk({}, "stop"),
        usageChunk({ prompt_tokens: 9, completion_tokens: 0 }),
        DONE,
      ),
    );
    const { log } = await world.costOf(async () => {
      await (await world.ask({ ...QUESTION, stream: true })).text();
    });
    expect(log?.completion_tokens).toBeGreaterThan(300);
  });
});

describe("usage that an upstream makes up", () => {
  const made = [-1_000_000, 1e308, 1.5, "12", null, {}, [], true, 2 ** 63] as const;
  const text = [{ type: "text", text: "hi there" }];
  const head = { id: "m", type: "message", role: "assistant", model: CLAUDE, stop_reason: "end_turn" };
  const gemini = { candidates: [{ content: { parts: [{ text: "hi there" }] }, finishReason: "STOP" }] };
  const ask = { model: CLAUDE, max_tokens: 100, messages: QUESTION.messages };

  it.each(made)("never makes a charge that the request cannot cause: %j", async (count) => {
    await world.addChannel({ type: 14, models: CLAUDE });
    await world.addChannel({ type: 24, models: "gemini-2.5-flash" });
    const anthropicUsage = [
      { input_tokens: count, output_tokens: 5 },
      { input_tokens: 9, output_tokens: count },
      {
        input_tokens: 9,
        output_tokens: 5,
        cache_read_input_tokens: count,
        cache_creation_input_tokens: count,
      },
    ];
    for (const path of ["/v1/messages", "/v1/chat/completions"])
      for (const usage of anthropicUsage) {
        world.upstream.script(json({ ...head, content: text, usage }));
        const { charged, log } = await world.costOf(async () => (await world.ask(ask, { path })).text());
        expect(charged).toBeGreaterThan(0);
        expect(log?.prompt_tokens).toBeLessThan(20_000);
        expect(log?.completion_tokens).toBeLessThanOrEqual(100);
      }
    for (const name of [
      "promptTokenCount",
      "candidatesTokenCount",
      "thoughtsTokenCount",
      "totalTokenCount",
    ]) {
      const usageMetadata = {
        promptTokenCount: 9,
        candidatesTokenCount: 5,
        totalTokenCount: 14,
        [name]: count,
      };
      world.upstream.script(json({ ...gemini, usageMetadata }));
      const generationConfig = { maxOutputTokens: 100 };
      const body = { contents: [{ parts: [{ text: "hello world" }] }], generationConfig };
      const path = "/v1beta/models/gemini-2.5-flash:generateContent";
      const { charged, log } = await world.costOf(async () => (await world.ask(body, { path })).text());
      expect(charged).toBeGreaterThan(0);
      expect(log?.prompt_tokens).toBeLessThan(20_000);
      expect(log?.completion_tokens).toBeLessThanOrEqual(100);
    }
  });
});

describe("a reservation", () => {
  /** Quota that was reserved while the upstream had the request. */
  async function setAside(body: unknown, path: string): Promise<number> {
    let amount = 0n;
    world.upstream.script(async (res, asked) => {
      const row = await world.ctx.db.selectFrom("reservations").select("amount").executeTakeFirst();
      amount = BigInt(row?.amount ?? 0);
      await json(chatReply("hi"))(res, asked);
    });
    await (await world.ask(body, { path })).text();
    return Number(amount);
  }

  it("covers a text that pretends to be a file", async () => {
    await world.addChannel();
    for (const begin of ["data: ", "data:image/png;base64,"]) {
      const messages = [{ role: "user", content: begin + "hello world ".repeat(20_000) }];
      const amount = await setAside({ ...QUESTION, messages }, "/v1/chat/completions");
      expect(amount).toBeGreaterThan(40_000 * 15);
    }
  });

  it("does not take a picture for a text, in any format", async () => {
    await world.addChannel({ models: `${MODEL},${CLAUDE}` });
    const data = Buffer.alloc(600_000, 7).toString("base64");
    const limit = 8_000 * 15 * 2;
    const source = { type: "base64", media_type: "image/png", data };
    const image = [{ role: "user", content: [{ type: "image", source }] }];
    expect(await setAside({ model: MODEL, max_tokens: 100, messages: image }, "/v1/messages")).toBeLessThan(
      limit,
    );
    const inline = { contents: [{ parts: [{ inlineData: { mimeType: "image/png", data } }] }] };
    expect(await setAside(inline, `/v1beta/models/${MODEL}:generateContent`)).toBeLessThan(limit * 2);
    const sound = [
      { role: "user", content: [{ type: "input_audio", input_audio: { data, format: "wav" } }] },
    ];
    expect(await setAside({ ...QUESTION, messages: sound }, "/v1/chat/completions")).toBeLessThan(limit);
  });
});

describe("documents and searches, which bring more than the request holds", () => {
  it.each([
    [{ messages: [{ role: "user", content: [{ type: "file", file: { file_id: "f" } }] }] }],
    [{ messages: QUESTION.messages, web_search_options: {} }],
  ])("are charged as reported: %j", async (more) => {
    await world.addChannel();
    world.upstream.script(
      json(chatReply("hi", { prompt_tokens: 300_000, completion_tokens: 2, total_tokens: 300_002 })),
    );
    const { log } = await world.costOf(() => world.ask({ ...QUESTION, ...more }));
    expect(log).toMatchObject({ prompt_tokens: 300_000 });
  });

  it("do not make a plain prompt longer than it is", async () => {
    await world.addChannel();
    world.upstream.script(
      json(chatReply("hi", { prompt_tokens: 300_000, completion_tokens: 2, total_tokens: 300_002 })),
    );
    const { log } = await world.costOf(() => world.ask(QUESTION));
    expect(log?.prompt_tokens).toBeLessThan(20_000);
  });
});

it("names odd hints in a header that every client can read", async () => {
  await world.addChannel({ type: 14, models: CLAUDE });
  const reply = { id: "m", type: "message", role: "assistant", model: CLAUDE, stop_reason: "end_turn" };
  world.upstream.script(
    json({ ...reply, content: [{ type: "text", text: "hi" }], usage: { input_tokens: 9, output_tokens: 1 } }),
  );
  const odd = { "模型\r\nset-cookie: a=b": 1, [`x${"y".repeat(20_000)}`]: 1, __proto__x: 2 };
  const response = await world.ask({ ...QUESTION, model: CLAUDE, ...odd });
  expect(response.status).toBe(200);
  expect(response.headers.get("set-cookie")).toBeNull();
  expect(response.headers.get("x-tollgate-dropped")?.length).toBeLessThan(2_000);
});

it.each(['{"include_usage":false,"include_usage":true}', '{"include_usage":true,"Include_Usage":false}'])(
  "refuses a request for usage that can be read in two ways: %s",
  async (options) => {
    await world.addChannel();
    const text = JSON.stringify({ ...QUESTION, stream: true }).slice(0, -1);
    expect((await world.ask(`${text},"stream_options":${options}}`)).status).toBe(400);
  },
);

describe("work for nothing", () => {
  it("counts prompts within the limits of calls", async () => {
    await world.addChannel({ models: CLAUDE });
    await world.setOption("TokenRequestsPerMinute", "1");
    const body = { model: CLAUDE, messages: QUESTION.messages };
    const path = "/v1/messages/count_tokens";
    expect((await world.ask(body, { path })).status).toBe(200);
    expect(await errorOfMessages(await world.ask(body, { path }))).toBe(429);
    await world.setOption("TokenRequestsPerMinute", "0");
  });

  it("does not read a question a million times", async () => {
    await world.addChannel({ models: "bge-reranker" });
    await world.setOption("ModelRatio", JSON.stringify({ "bge-reranker": 0.000001 }));
    world.upstream.script(json({ results: [{ index: 0, relevance_score: 0.9 }] }));
    const body = { model: "bge-reranker", query: "q".repeat(4e6), documents: Array(3e5).fill("") };
    const { log } = await world.costOf(async () => {
      expect((await world.ask(body, { path: "/v1/rerank" })).status).toBe(200);
    });
    expect(log?.prompt_tokens).toBeGreaterThan(4e6 * 3e5 * 0.3);
  });

  it("refuses bodies that are nested too deep to be serialised again", async () => {
    await world.addChannel({ models: CLAUDE });
    const deep = "[".repeat(1e5) + "]".repeat(1e5);
    for (const [action, name] of [
      ["embedContent", "title"],
      ["countTokens", "generateContentRequest"],
    ]) {
      const text = `{"${name}":{"a":${deep}},"content":{"parts":[{"text":"t"}]},"contents":[{}]}`;
      const response = await world.ask(text, { path: `/v1beta/models/${CLAUDE}:${action}` });
      expect([action, response.status]).toEqual([action, 400]);
    }
  });

  it("refuses arguments of a call that are nested too deep to be serialised again, and serves the next call", async () => {
    await world.addChannel({ type: 14, models: CLAUDE });
    // Objects whose names are numbers are written by another path, which checks the depth.
    const call = {
      id: "a",
      type: "function",
      function: { name: "f", arguments: `${'{"0":'.repeat(1e5)}1${"}".repeat(1e5)}` },
    };
    const messages = [
      ...QUESTION.messages,
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "a", content: "" },
    ];
    const { charged, open } = await world.costOf(async () => {
      const refused = await errorOf(await world.ask({ ...QUESTION, model: CLAUDE, messages }));
      expect(refused).toMatchObject({ status: 400, param: "messages" });
    });
    expect({ charged, open }).toEqual({ charged: 0, open: 0 });
    world.upstream.script(
      json({ type: "message", content: [{ type: "text", text: "hi" }], stop_reason: "end_turn" }),
    );
    expect((await world.ask({ ...QUESTION, model: CLAUDE })).status).toBe(200);
  });

  it("ends a search among channels none of which can serve the request", async () => {
    for (let index = 0; index < 30; index += 1) await world.addChannel({ type: 14, models: CLAUDE });
    const refused = await errorOf(await world.ask({ ...QUESTION, model: CLAUDE, n: 2 }));
    expect(refused).toMatchObject({ status: 400, param: "n" });
  });
});

async function errorOfMessages(response: Response): Promise<number> {
  await response.text();
  return response.status;
}
