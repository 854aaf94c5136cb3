// The Vercel `ai` package through the gateway: each of its three client formats on each of three channels, with aimock as the upstream.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import type { LLMock } from "@copilotkit/aimock";
import { APICallError, generateText, type LanguageModel, stepCountIs, streamText, tool } from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { poem, startAimock, upstreamKey } from "#test/emulators/aimock.ts";
import { createFakeUpstream, type FakeUpstream, type Step } from "#test/emulators/fake-upstream.ts";
import { manage, rootKey, type ServerProcess, startServer, temporaryDir } from "#test/worlds/process.ts";

const dir = temporaryDir();
let server: ServerProcess;
let mock: LLMock;
let gemini: FakeUpstream;

Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const apiKey = `sk-${rootKey}`;

/** The package's own clients, by the format they speak. */
const CLIENTS = {
  google: (model: string): LanguageModel =>
    createGoogleGenerativeAI({ baseURL: `${server.url}/v1beta`, apiKey })(model),
  openai: (model: string): LanguageModel => createOpenAI({ baseURL: `${server.url}/v1`, apiKey }).chat(model),
  anthropic: (model: string): LanguageModel =>
    createAnthropic({ baseURL: `${server.url}/v1`, apiKey })(model),
} as const;

/** Channel type → a model that only this channel has. */
const CHANNELS = { 1: "gpt-4o-mini", 14: "claude-sonnet-4-6", 24: "gemini-2.5-flash" } as const;

/** aimock ends Gemini's tool turns with a finish reason that Gemini has not; this model is served by an emulator that does as Gemini. */
const GEMINI_WITH_TOOLS = "gemini-2.5-pro";

/** A tool call, and once its result is there an answer: as Gemini tells it, whole or streamed (vendors/gemini-reply). */
const geminiTools: Step = (res, { path, text }) => {
  const part = text.includes("functionResponse")
    ? { text: "It is sunny in Hangzhou." }
    : { functionCall: { name: "get_weather", args: { city: "Hangzhou" } }, thoughtSignature: "c2ln" };
  const answer = {
    candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }],
    usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 3, totalTokenCount: 8 },
    modelVersion: GEMINI_WITH_TOOLS,
    responseId: "r",
  };
  const isStream = path.includes(":streamGenerateContent?alt=sse");
  res.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
  res.end(isStream ? `data: ${JSON.stringify(answer)}\r\n\r\n` : JSON.stringify(answer));
};

const pairs = Object.entries(CLIENTS).flatMap(([name, client]) =>
  Object.entries(CHANNELS).map(([type, model]) => ({ name, client, type, model })),
);

beforeAll(async () => {
  mock = await startAimock();
  mock.prependFixture({
    match: { userMessage: "weather", hasToolResult: true },
    response: { content: "It is sunny in Hangzhou." },
  });
  mock.prependFixture({
    match: { userMessage: "explode" },
    response: { error: { message: "the model is on fire", type: "server_error" }, status: 503 },
  });
  gemini = await createFakeUpstream();
  gemini.script(geminiTools);
  server = await startServer(dir.path);
  for (const [type, models] of Object.entries(CHANNELS)) {
    const channel = { type: Number(type), name: models, models, key: upstreamKey, base_url: mock.url };
    await manage(server.url, "POST", "/api/channel/", { ...channel, group: "default" });
  }
  await manage(server.url, "POST", "/api/channel/", {
    type: 24,
    name: "tools",
    models: GEMINI_WITH_TOOLS,
    key: upstreamKey,
    base_url: gemini.url,
    group: "default",
  });
});

afterAll(async () => {
  await server.kill();
  await mock.stop();
  await gemini.close();
  dir.remove();
});

function weather(seen: unknown[]) {
  return tool({
    description: "The weather of a city",
    inputSchema: z.object({ city: z.string() }),
    execute(input) {
      seen.push(input);
      return Promise.resolve({ sky: "sunny" });
    },
  });
}

describe.each(pairs)("ai's $name client on a channel of type $type", ({ client, model }) => {
  it("gets the same whole and streamed", async () => {
    const whole = await generateText({ model: client(model), prompt: "write a poem", maxRetries: 0 });
    expect(whole.text).toBe(poem);
    expect(whole.finishReason).toBe("stop");
    const stream = streamText({ model: client(model), prompt: "write a poem", maxRetries: 0 });
    expect(await stream.text).toBe(poem);
    expect(await stream.finishReason).toBe("stop");
    expect((await stream.usage).outputTokens).toBe(whole.usage.outputTokens);
  });

  it.each(["whole", "streamed"])("goes through a tool loop, %s", async (kind) => {
    const seen: unknown[] = [];
    const settings = {
      model: client(model === CHANNELS[24] ? GEMINI_WITH_TOOLS : model),
      prompt: "weather please",
      tools: { get_weather: weather(seen) },
      stopWhen: stepCountIs(3),
      maxRetries: 0,
    };
    const text = kind === "whole" ? (await generateText(settings)).text : await streamText(settings).text;
    expect(seen).toEqual([{ city: "Hangzhou" }]);
    expect(text).toBe("It is sunny in Hangzhou.");
  });

  it("shows a picture", async () => {
    const { text } = await generateText({
      model: client(model),
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "a poem on this" },
            { type: "file", data: PIXEL, mediaType: "image/png" },
          ],
        },
      ],
      maxRetries: 0,
    });
    expect(text).toBe(poem);
  });

  it("is told of an upstream's failure", async () => {
    const failed = await generateText({ model: client(model), prompt: "explode", maxRetries: 0 }).catch(
      (error: unknown) => error,
    );
    expect(APICallError.isInstance(failed)).toBe(true);
    expect(failed).toMatchObject({ message: expect.stringContaining("the model is on fire") });
    expect(JSON.stringify(failed)).not.toContain(upstreamKey);
  });
});
