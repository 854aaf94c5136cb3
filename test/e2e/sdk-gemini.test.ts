// Google's official SDK through the gateway: on a Gemini channel, where the bytes pass, and on an OpenAI channel, where they are
// translated; and OpenAI's SDK on the Gemini channel. aimock is the upstream.
import type { LLMock } from "@copilotkit/aimock";
import {
  ApiError,
  type Content,
  FunctionCallingConfigMode,
  type GenerateContentResponse,
  GoogleGenAI,
  Type,
} from "@google/genai";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { poem, startAimock, upstreamKey } from "#test/emulators/aimock.ts";
import { manage, rootKey, type ServerProcess, startServer, temporaryDir } from "#test/worlds/process.ts";

const dir = temporaryDir();
let server: ServerProcess;
let mock: LLMock;
let genai: GoogleGenAI;
let openai: OpenAI;

/** A model of each channel. */
const NATIVE = "gemini-2.5-flash";
const TRANSLATED = "gpt-4o-mini";
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

interface LogRow {
  model_name: string;
  quota: number;
  prompt_tokens: number;
  completion_tokens: number;
}

async function lastCharge(): Promise<LogRow | undefined> {
  // The endpoint answers LogEntry rows; only the fields named above are read.
  const rows = (await manage(server.url, "GET", "/api/log/self/?type=2&size=1")) as LogRow[];
  return rows[0];
}

beforeAll(async () => {
  mock = await startAimock();
  mock.prependFixture({
    match: { userMessage: "weather", hasToolResult: true },
    response: { content: "It is sunny in Hangzhou." },
  });
  mock.prependFixture({
    match: { userMessage: "count" },
    response: {
      content: "Counted.",
      usage: {
        prompt_tokens: 11,
        completion_tokens: 5,
        total_tokens: 16,
        promptTokenCount: 11,
        candidatesTokenCount: 5,
        totalTokenCount: 16,
      },
    },
  });
  mock.prependFixture({
    match: { userMessage: "explode" },
    response: { error: { message: "the model is on fire", type: "server_error" }, status: 503 },
  });
  server = await startServer(dir.path);
  const channel = { key: upstreamKey, base_url: mock.url, group: "default" };
  await manage(server.url, "POST", "/api/channel/", { ...channel, type: 24, name: "gemini", models: NATIVE });
  await manage(server.url, "POST", "/api/channel/", {
    ...channel,
    type: 1,
    name: "openai",
    models: `${TRANSLATED},text-embedding-3-small`,
  });
  const apiKey = `sk-${rootKey}`;
  genai = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: server.url, retryOptions: { attempts: 1 } } });
  openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey, maxRetries: 0 });
});

afterAll(async () => {
  await server.kill();
  await mock.stop();
  dir.remove();
});

const weatherTool = {
  functionDeclarations: [
    {
      name: "get_weather",
      description: "The weather of a city",
      parameters: {
        type: Type.OBJECT,
        properties: { city: { type: Type.STRING, nullable: true } },
        required: ["city"],
      },
    },
  ],
};

describe.each([
  ["a Gemini channel", NATIVE],
  ["an OpenAI channel", TRANSLATED],
])("Google's SDK on %s", (_, model) => {
  it("gets an answer, charged by the usage it is told", async () => {
    const answer = await genai.models.generateContent({ model, contents: "count this" });
    expect(answer.text).toBe("Counted.");
    expect(answer.candidates?.[0]?.finishReason).toBe("STOP");
    expect(answer.usageMetadata).toMatchObject({
      promptTokenCount: 11,
      candidatesTokenCount: 5,
      totalTokenCount: 16,
    });
    expect(await lastCharge()).toMatchObject({ model_name: model, prompt_tokens: 11, completion_tokens: 5 });
  });

  it("gets a stream that says the same, usage included", async () => {
    const whole = await genai.models.generateContent({ model, contents: "write a poem" });
    const stream = await genai.models.generateContentStream({ model, contents: "write a poem" });
    let text = "";
    let usage: unknown;
    let finish: unknown;
    for await (const chunk of stream) {
      text += chunk.text ?? "";
      usage = chunk.usageMetadata ?? usage;
      finish = chunk.candidates?.[0]?.finishReason ?? finish;
    }
    expect(text).toBe(poem);
    expect(finish).toBe("STOP");
    expect(usage).toEqual(whole.usageMetadata);
  });

  it("gets a stream as one JSON array, without alt=sse", async () => {
    const response = await fetch(
      `${server.url}/v1beta/models/${model}:streamGenerateContent?key=sk-${rootKey}`,
      {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ contents: [{ role: "user", parts: [{ text: "write a poem" }] }] }),
      },
    );
    expect(response.headers.get("content-type")).toBe("application/json");
    // A list of generateContent answers; only their texts are read.
    const events = (await response.json()) as {
      candidates?: { content?: { parts?: { text?: string }[] } }[];
    }[];
    const text = events.map((event) => event.candidates?.[0]?.content?.parts?.[0]?.text ?? "").join("");
    expect(text).toBe(poem);
  });

  it.each(["whole", "streamed"])("calls a tool and is told its result, %s", async (kind) => {
    const config = {
      tools: [weatherTool],
      toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.AUTO } },
    };
    const history: Content[] = [{ role: "user", parts: [{ text: "weather please" }] }];
    const ask = async () => {
      if (kind === "whole") return [await genai.models.generateContent({ model, contents: history, config })];
      const stream = await genai.models.generateContentStream({ model, contents: history, config });
      const answers: GenerateContentResponse[] = [];
      for await (const answer of stream) answers.push(answer);
      return answers;
    };
    const first = await ask();
    const [call] = first.flatMap((answer) => answer.functionCalls ?? []);
    expect(call).toMatchObject({ name: "get_weather", args: { city: "Hangzhou" } });
    const parts = first.flatMap((answer) => answer.candidates?.[0]?.content?.parts ?? []);
    const result = { name: "get_weather", response: { output: "sunny" }, ...(call?.id && { id: call.id }) };
    history.push({ role: "model", parts }, { role: "user", parts: [{ functionResponse: result }] });
    const second = await ask();
    expect(second.map(({ text }) => text ?? "").join("")).toBe("It is sunny in Hangzhou.");
  });

  it("shows a picture", async () => {
    const contents = [{ text: "a poem on this" }, { inlineData: { mimeType: "image/png", data: PIXEL } }];
    const answer = await genai.models.generateContent({ model, contents });
    expect(answer.text).toBe(poem);
    // aimock keeps only the texts of Gemini's contents; that bytes pass is shown by the dialect's fixtures.
    const { body } = mock.getRequests().at(-1) ?? {};
    if (model === TRANSLATED) expect(JSON.stringify(body)).toContain(`data:image/png;base64,${PIXEL}`);
  });

  it("is told of an upstream's failure in its own words", async () => {
    const failed = await genai.models
      .generateContent({ model, contents: "explode" })
      .catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(ApiError);
    expect(failed).toMatchObject({ status: 503, message: expect.stringContaining("the model is on fire") });
    expect(JSON.stringify(failed)).not.toContain(upstreamKey);
  });
});

describe("Google's SDK", () => {
  it("is refused in Gemini's shape", async () => {
    const stranger = new GoogleGenAI({ apiKey: "sk-nobody", httpOptions: { baseUrl: server.url } });
    const refused = await stranger.models
      .generateContent({ model: NATIVE, contents: "hi" })
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({ status: 401 });
    // The SDK's message is the JSON of the body.
    const body = JSON.parse((refused as ApiError).message) as { error: { status: string; code: number } };
    expect(body.error).toMatchObject({ status: "UNAUTHENTICATED", code: 401 });
  });

  it("is told what a translated channel cannot do", async () => {
    const config = { tools: [{ codeExecution: {} }] };
    const refused = await genai.models
      .generateContent({ model: TRANSLATED, contents: "hi", config })
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({ status: 400, message: expect.stringContaining("codeExecution") });
  });
});

describe("OpenAI's SDK on a Gemini channel", () => {
  const model = NATIVE;
  const poemPlease = [{ role: "user" as const, content: "write a poem" }];

  it("gets the same answer whole and streamed, with the same usage", async () => {
    const whole = await openai.chat.completions.create({ model, messages: poemPlease });
    expect(whole.choices[0]?.message.content).toBe(poem);
    const stream = await openai.chat.completions.create({
      model,
      messages: poemPlease,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = "";
    let usage: unknown;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      usage = chunk.usage ?? usage;
    }
    expect(text).toBe(poem);
    expect(usage).toEqual(whole.usage);
  });

  it("calls a tool and is told its result", async () => {
    const tools = [
      {
        type: "function" as const,
        function: {
          name: "get_weather",
          parameters: { type: "object", properties: { city: { type: ["string", "null"] } } },
        },
      },
    ];
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "weather please" }];
    const first = await openai.chat.completions.create({ model, messages, tools });
    const message = first.choices[0]?.message;
    expect(first.choices[0]?.finish_reason).toBe("tool_calls");
    const [call] = message?.tool_calls ?? [];
    expect(call).toMatchObject({ function: { name: "get_weather", arguments: '{"city":"Hangzhou"}' } });
    if (message === undefined || call === undefined) throw new Error("no call");
    messages.push(message, { role: "tool", tool_call_id: call.id, content: "sunny" });
    const second = await openai.chat.completions.create({ model, messages, tools });
    expect(second.choices[0]?.message.content).toBe("It is sunny in Hangzhou.");
  });

  it("is told of an upstream's failure in its own words", async () => {
    const failed = await openai.chat.completions
      .create({ model, messages: [{ role: "user", content: "explode" }] })
      .catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(OpenAI.APIError);
    expect(failed).toMatchObject({ status: 503, message: expect.stringContaining("the model is on fire") });
  });
});
