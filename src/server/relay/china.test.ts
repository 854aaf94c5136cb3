// The official SDKs of OpenAI and Anthropic against the own wires of vendors in China, each behind an emulator that checks credentials
// and turns as the vendor does.
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ChinaEmulator, PIECES, USAGE } from "#test/emulators/china-emulator.ts";
import { createRelayWorld, MODEL } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const emulator = new ChinaEmulator();
beforeAll(() => emulator.start());
afterAll(() => emulator.close());

const TEXT = PIECES.join("");
const ask = (content: string) => ({ model: MODEL, messages: [{ role: "user" as const, content }] });
const parameters = { type: "object", properties: { city: { type: "string" } } };
const tools = [{ type: "function" as const, function: { name: "get_weather", parameters } }];

interface Vendor {
  readonly type: number;
  readonly key: string;
  readonly model: string;
  readonly wrongKey: string;
  readonly isSocket?: true;
  readonly hasNoTools?: true;
}

const VENDORS: readonly [name: string, vendor: Vendor][] = [
  ["Baidu", { type: 15, key: "api-key-1|secret-1", wrongKey: "wrong-key|secret-1", model: "ERNIE-3.5-8K" }],
  ["DashScope", { type: 17, key: "sk-dashscope", wrongKey: "sk-other", model: "qwen-max" }],
  [
    "Spark",
    {
      type: 18,
      key: "spark-app|spark-secret|spark-key",
      wrongKey: "spark-app|other-secret|spark-key",
      model: "Spark-Max",
      isSocket: true,
    },
  ],
  [
    "Hunyuan",
    { type: 23, key: "1|AKID|secret-key", wrongKey: "1|AKID|other-key", model: "hunyuan-functioncall" },
  ],
  [
    "Zhipu's third version",
    { type: 16, key: "id.secret", wrongKey: "id.other", model: "chatglm_turbo", hasNoTools: true },
  ],
];

describe.each(VENDORS)("%s", (_, { type, key, wrongKey, model, isSocket, hasNoTools }) => {
  const channel = (more: { key?: string; priority?: number } = {}) =>
    world.addChannel({
      type,
      key,
      baseUrl: isSocket ? emulator.url.replace("http", "ws") : emulator.url,
      mapping: { [MODEL]: model },
      ...more,
    });
  const openai = () => {
    const apiKey = `sk-${world.token.key}`;
    return new OpenAI({ apiKey, baseURL: `${world.url}/v1`, maxRetries: 0 });
  };
  beforeEach(async () => {
    await channel();
  });

  it("answers plain and streamed alike, and is charged by the usage it reports", async () => {
    const plain = await openai().chat.completions.create(ask("a poem"));
    expect(plain.choices[0]?.message.content).toBe(TEXT);
    expect(plain.usage).toMatchObject({
      prompt_tokens: USAGE.prompt,
      completion_tokens: USAGE.completion,
    });
    let text = "";
    const { log, open, entries } = await world.costOf(async () => {
      const stream = await openai().chat.completions.create({ ...ask("a poem"), stream: true });
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
    });
    expect(text).toBe(TEXT);
    expect(log).toMatchObject({
      prompt_tokens: USAGE.prompt,
      completion_tokens: USAGE.completion,
      is_stream: 1,
      estimated: 0,
    });
    expect([open, entries]).toEqual([0, 1]);
  });

  it("answers the Messages of Anthropic's client", async () => {
    const client = new Anthropic({ apiKey: `sk-${world.token.key}`, baseURL: world.url, maxRetries: 0 });
    const order = { ...ask("a poem"), max_tokens: 100 };
    const plain = await client.messages.create(order);
    expect(plain.content).toMatchObject([{ type: "text", text: TEXT }]);
    const final = await client.messages.stream(order).finalMessage();
    expect(final.content).toMatchObject([{ type: "text", text: TEXT }]);
    expect(final.usage).toMatchObject({ input_tokens: USAGE.prompt, output_tokens: USAGE.completion });
  });

  it("calls a tool, and goes on with its result", async () => {
    if (hasNoTools) {
      await expect(openai().chat.completions.create({ ...ask("x"), tools })).rejects.toMatchObject({
        code: "unsupported_parameter",
        param: "tools",
      });
      return;
    }
    const first = await openai().chat.completions.create({ ...ask("weather?"), tools });
    const message = first.choices[0]?.message;
    expect(first.choices[0]?.finish_reason).toBe("tool_calls");
    expect(message?.tool_calls).toMatchObject([
      { function: { name: "get_weather", arguments: '{"city":"Rome"}' } },
    ]);
    if (message === undefined) throw new Error("no answer");
    const result = {
      role: "tool" as const,
      tool_call_id: message.tool_calls?.[0]?.id ?? "",
      content: "21C",
    };
    const messages = [...ask("weather?").messages, message, result];
    const second = await openai().chat.completions.create({ model: MODEL, messages, tools });
    expect(second.choices[0]?.message.content).toBe(TEXT);
    const stream = openai().chat.completions.stream({ ...ask("weather?"), tools });
    const streamed = await stream.finalChatCompletion();
    expect(streamed.choices[0]?.message.tool_calls).toHaveLength(1);
  });

  it("is passed over when it is busy, for a stream too, and its own words are passed on when no other channel is left", async () => {
    await expect(openai().chat.completions.create(ask("fail"))).rejects.toMatchObject({ status: 429 });
    await world.setOption("RetryTimes", "1");
    await world.addChannel({ priority: -1 });
    const answer = await openai().chat.completions.create(ask("fail"));
    expect(answer.choices[0]?.message.content).toBe("hi");
  });

  it("reveals nothing of a key that it refused", async () => {
    await world.clearChannels();
    await channel({ key: wrongKey });
    const refusal = openai().chat.completions.create({ ...ask("a poem"), stream: true });
    await expect(refusal).rejects.toMatchObject({ status: 502, code: "upstream_credential" });
  });
});

describe("Baidu's token", () => {
  it("is requested once for many calls, and renewed silently when it is stale", async () => {
    const key = "api-key-2|secret-2";
    await world.addChannel({ type: 15, key, baseUrl: emulator.url, mapping: { [MODEL]: "ERNIE-Bot" } });
    const before = emulator.tokens;
    const answers = await Promise.all(Array.from({ length: 8 }, () => world.ask(ask("a poem"))));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(emulator.tokens).toBe(before + 1);
    emulator.expireToken();
    expect((await world.ask(ask("a poem"))).status).toBe(200);
    expect(emulator.tokens).toBe(before + 2);
  });
});

describe("Spark's connection", () => {
  it("is closed in good order when the answer is complete", async () => {
    const key = "spark-app|spark-secret|spark-key";
    const baseUrl = emulator.url.replace("http", "ws");
    await world.addChannel({ type: 18, key, baseUrl, mapping: { [MODEL]: "Spark-Max" } });
    emulator.closed.length = 0;
    expect((await world.ask(ask("a poem"))).status).toBe(200);
    await expect.poll(() => emulator.closed).toEqual([1000]);
  });
});

describe("Moonshot", () => {
  it("opens no address, so pictures are fetched from public hosts only, and its own files stay its own", async () => {
    await world.addChannel({ type: 25 });
    const look = (url: string) =>
      world.ask({
        model: MODEL,
        messages: [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }],
      });
    const refusal = await look(`${emulator.url}/a.png`);
    expect(refusal.status).toBe(400);
    expect(await refusal.text()).not.toContain("127.0.0.1");
    expect(world.upstream.journal).toEqual([]);
    for (const url of ["ms://file-1", "data:image/png;base64,iVBORw0KGgo="]) {
      expect((await look(url)).status).toBe(200);
      expect(JSON.stringify(world.upstream.journal.at(-1)?.json)).toContain(url);
    }
  });
});
