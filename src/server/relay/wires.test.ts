// The official SDKs of OpenAI and Anthropic with other wires: Ollama, Cohere, both of Bedrock's, Vertex AI. aimock, which we did not
// write, emulates them.
import { generateKeyPairSync } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import Anthropic from "@anthropic-ai/sdk";
import type { LLMock } from "@copilotkit/aimock";
import OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { poem, startPoet } from "#test/emulators/aimock.ts";
import { createRelayWorld } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const AWS_KEY = "AKIDEXAMPLE|secret-example|us-east-1";
/** The models the clients name: they have prices. */
const model = "gpt-4o-mini";
const vectors = "text-embedding-3-small";

let mock: LLMock;
let google: Server;
let serviceAccount: string;
const exchanges: string[] = [];

beforeAll(async () => {
  mock = await startPoet();
  google = createServer((_, res) => {
    exchanges.push("token");
    res.setHeader("content-type", "application/json");
    res.end('{"access_token":"ya29.emulated","expires_in":3600,"token_type":"Bearer"}');
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => google.once("listening", resolve));
  // A listening TCP server has an address of this form.
  const { port } = google.address() as AddressInfo;
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  serviceAccount = JSON.stringify({
    type: "service_account",
    project_id: "sample",
    private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
    client_email: "a@sample.iam.gserviceaccount.com",
    token_uri: `http://127.0.0.1:${port}/token`,
  });
});

afterAll(async () => {
  await mock.stop();
  google.close();
});

function openai(): OpenAI {
  return new OpenAI({ baseURL: `${world.url}/v1`, apiKey: `sk-${world.token.key}`, maxRetries: 0 });
}

function anthropic(): Anthropic {
  return new Anthropic({ baseURL: world.url, apiKey: `sk-${world.token.key}`, maxRetries: 0 });
}

const parameters = { type: "object" as const, properties: { city: { type: "string" } }, required: ["city"] };

describe.each([
  ["Ollama's wire", 30, "", "llama3.3"],
  ["Cohere's wire", 35, "co-key-1", "command-a-vision-07-2025"],
  ["Bedrock's Converse", 33, AWS_KEY, "us.amazon.nova-pro-v1:0"],
  ["Claude on Bedrock", 33, AWS_KEY, "global.anthropic.claude-sonnet-4-6"],
  ["Gemini on Vertex AI", 42, undefined, "gemini-2.5-flash"],
])("%s", (_, type, key, upstreamModel) => {
  beforeEach(async () => {
    const mapping = { [model]: upstreamModel };
    await world.addChannel({ type, key: key ?? serviceAccount, baseUrl: mock.url, models: model, mapping });
  });

  it("gives OpenAI's SDK the same answer whole and streamed, charged alike", async () => {
    const ask = { model, max_tokens: 200, messages: [{ role: "user" as const, content: "write a poem" }] };
    const whole = await world.costOf(async () => {
      const answer = await openai().chat.completions.create(ask);
      expect(answer.choices[0]).toMatchObject({ message: { content: poem }, finish_reason: "stop" });
    });
    const streamed = await world.costOf(async () => {
      const stream = openai().chat.completions.stream(ask);
      const answer = await stream.finalChatCompletion();
      expect(answer.choices[0]).toMatchObject({ message: { content: poem }, finish_reason: "stop" });
    });
    expect(whole.charged).toBeGreaterThan(0);
    expect(streamed.charged).toBe(whole.charged);
    expect([whole.open, streamed.open]).toEqual([0, 0]);
  });

  it("lets it call a tool, whole and streamed, and takes the result", async () => {
    const ask = {
      model,
      max_tokens: 200,
      messages: [{ role: "user" as const, content: "weather in Hangzhou?" }],
      tools: [{ type: "function" as const, function: { name: "get_weather", parameters } }],
    };
    const plain = await openai().chat.completions.create(ask);
    const streamed = await openai().chat.completions.stream(ask).finalChatCompletion();
    for (const answer of [plain, streamed]) {
      const [choice] = answer.choices;
      expect(choice?.finish_reason).toBe("tool_calls");
      const [call] = choice?.message.tool_calls ?? [];
      if (call?.type !== "function") return expect.fail("no call");
      expect(call.function.name).toBe("get_weather");
      expect(JSON.parse(call.function.arguments)).toEqual({ city: "Hangzhou" });
    }
    const { message } = plain.choices[0] ?? expect.fail("no choice");
    const result = { role: "tool" as const, tool_call_id: message.tool_calls?.[0]?.id ?? "", content: "21C" };
    const thanks = { role: "user" as const, content: "so, a poem" };
    const last = await openai().chat.completions.create({
      ...ask,
      messages: [...ask.messages, message, result, thanks],
    });
    expect(last.choices[0]?.message.content).toBe(poem);
  });

  it("shows it a picture", async () => {
    const answer = await openai().chat.completions.create({
      model,
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "what is this?" },
            { type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}` } },
          ],
        },
      ],
    });
    expect(answer.choices[0]?.message.content).toBe("Hello from the upstream.");
  });

  it("sends it errors", async () => {
    mock.nextRequestError(429, { message: "slow down please", type: "rate_limit_error" });
    const call = openai().chat.completions.create({ model, messages: [{ role: "user", content: "hi" }] });
    await expect(call).rejects.toBeInstanceOf(OpenAI.RateLimitError);
  });

  it("serves Anthropic's SDK, streamed and with tools", async () => {
    const ask = { model, max_tokens: 200, messages: [{ role: "user" as const, content: "write a poem" }] };
    const streamed = await anthropic().messages.stream(ask).finalMessage();
    expect(streamed).toMatchObject({ content: [{ type: "text", text: poem }], stop_reason: "end_turn" });
    const called = await anthropic().messages.create({
      ...ask,
      messages: [{ role: "user", content: "weather in Hangzhou?" }],
      tools: [{ name: "get_weather", input_schema: parameters }],
    });
    expect(called.stop_reason).toBe("tool_use");
    expect(called.content.at(-1)).toMatchObject({ name: "get_weather", input: { city: "Hangzhou" } });
  });
});

// aimock answers Ollama's clients with one vector, whatever the number of texts.
describe.each([
  { name: "Ollama", type: 30, key: "", upstreamModel: "nomic-embed-text", input: ["one"] },
  { name: "Cohere", type: 35, key: "co-key-1", upstreamModel: "embed-v4.0", input: ["one", "two"] },
])("$name", ({ type, key, upstreamModel, input }) => {
  it("makes vectors for OpenAI's SDK", async () => {
    const mapping = { [vectors]: upstreamModel };
    await world.addChannel({ type, key, baseUrl: mock.url, models: vectors, mapping });
    const ask = { model: vectors, input, truncate: "END", made_up: 1 };
    const { data: answer, response } = await openai().embeddings.create(ask).withResponse();
    expect(response.headers.get("x-tollgate-dropped")).toBe("made_up");
    const { data } = answer;
    expect(data.map(({ embedding }) => embedding.length)).toEqual(input.map(() => 4));
    expect(data[0]?.embedding[0]).toBeCloseTo(0.1);
  });
});

it("exchanges a service account's key once for many calls", () => {
  expect(exchanges).toEqual(["token"]);
});
