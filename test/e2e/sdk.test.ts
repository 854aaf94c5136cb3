// The official OpenAI SDK through the gateway, with aimock as the upstream: what works, and that it is charged exactly.

import type { LLMock } from "@copilotkit/aimock";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { poem, startAimock, upstreamKey } from "#test/emulators/aimock.ts";
import { manage, rootKey, type ServerProcess, startServer, temporaryDir } from "#test/worlds/process.ts";

const dir = temporaryDir();
let server: ServerProcess;
let mock: LLMock;
let client: OpenAI;

interface LogRow {
  type: number;
  model_name: string;
  quota: number;
  prompt_tokens: number;
  completion_tokens: number;
  content: string;
  is_stream: boolean;
}

async function consumeLogs(): Promise<LogRow[]> {
  // The endpoint answers LogEntry rows; only the fields named above are read.
  return (await manage(server.url, "GET", "/api/log/self/?type=2&size=100")) as LogRow[];
}

async function self(): Promise<{ quota: number; used_quota: number; request_count: number }> {
  // The endpoint answers a User.
  return (await manage(server.url, "GET", "/api/user/self")) as {
    quota: number;
    used_quota: number;
    request_count: number;
  };
}

beforeAll(async () => {
  mock = await startAimock();
  server = await startServer(dir.path);
  await manage(server.url, "POST", "/api/channel/", {
    type: 1,
    name: "aimock",
    key: upstreamKey,
    base_url: `${mock.url}/`,
    models: "gpt-4o-mini,gpt-4o,text-embedding-3-small",
    group: "default",
    model_mapping: JSON.stringify({ "gpt-4o": "gpt-4o-2024-11-20" }),
  });
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: `sk-${rootKey}`, maxRetries: 0 });
});

afterAll(async () => {
  await server.kill();
  await mock.stop();
  dir.remove();
});

describe("the official OpenAI SDK", () => {
  it("gets a JSON answer", async () => {
    const answer = await client.chat.completions.create({
      model: "gpt-4o-mini",
      messages: [{ role: "user", content: "write a poem" }],
    });
    expect(answer.choices[0]?.message.content).toBe(poem);
    expect(answer.usage?.total_tokens).toBeGreaterThan(0);
  });

  it("gets a stream, without a usage chunk it did not ask for", async () => {
    const stream = await client.chat.completions.create({
      model: "gpt-4o-mini",
      messages: [{ role: "user", content: "write a poem" }],
      stream: true,
    });
    let text = "";
    let usageChunks = 0;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      if (chunk.usage) usageChunks += 1;
    }
    expect(text).toBe(poem);
    expect(usageChunks).toBe(0);
  });

  it("gets the usage chunk when it asks for it", async () => {
    const stream = await client.chat.completions.create({
      model: "gpt-4o-mini",
      messages: [{ role: "user", content: "write a poem" }],
      stream: true,
      stream_options: { include_usage: true },
    });
    let completion = 0;
    for await (const chunk of stream) completion = chunk.usage?.completion_tokens ?? completion;
    expect(completion).toBeGreaterThan(0);
  });

  it("gets a tool call, plain and streamed, through a mapped model", async () => {
    const request = {
      model: "gpt-4o",
      messages: [{ role: "user" as const, content: "weather in Hangzhou?" }],
      tools: [
        {
          type: "function" as const,
          function: { name: "get_weather", parameters: { type: "object", properties: {} } },
        },
      ],
    };
    const plain = await client.chat.completions.create(request);
    const call = plain.choices[0]?.message.tool_calls?.[0];
    expect(call?.type === "function" && call.function.name).toBe("get_weather");
    const stream = await client.chat.completions.create({ ...request, stream: true });
    let args = "";
    for await (const chunk of stream)
      args += chunk.choices[0]?.delta.tool_calls?.[0]?.function?.arguments ?? "";
    expect(JSON.parse(args)).toEqual({ city: "Hangzhou" });
    expect(JSON.stringify(mock.getLastRequest()?.body)).toContain("gpt-4o-2024-11-20");
  });

  it("gets an embedding", async () => {
    const answer = await client.embeddings.create({
      model: "text-embedding-3-small",
      input: "hello",
      encoding_format: "float",
    });
    expect(answer.data[0]?.embedding).toEqual([0.1, 0.2, 0.3, 0.4]);
  });

  it("lists the models and says 404 for one that is not there", async () => {
    const models = await client.models.list();
    expect(models.data.map((model) => model.id)).toEqual(["gpt-4o", "gpt-4o-mini", "text-embedding-3-small"]);
    await expect(client.models.retrieve("nope")).rejects.toMatchObject({
      status: 404,
      code: "model_not_found",
    });
  });
});

describe("the ledger after these calls", () => {
  it("holds one entry per call, whose charges are what the balance fell by", async () => {
    const rows = await consumeLogs();
    expect(rows).toHaveLength(6);
    for (const row of rows) {
      expect(row.quota).toBeGreaterThan(0);
      expect(row.prompt_tokens).toBeGreaterThan(0);
      expect(row.content).toContain("倍率");
    }
    expect(rows.filter((row) => row.is_stream)).toHaveLength(3);
    const spent = rows.reduce((sum, row) => sum + row.quota, 0);
    const user = await self();
    expect(user.used_quota).toBe(spent);
    expect(user.quota).toBe(100_000_000 - spent);
    expect(user.request_count).toBe(6);
  });

  it("never shows the upstream's key", async () => {
    const pages = ["/api/channel/", "/api/log/", "/api/token/", "/api/option/", "/api/user/self"];
    for (const page of pages) {
      expect(JSON.stringify(await manage(server.url, "GET", page))).not.toContain(upstreamKey);
    }
    expect(server.output()).not.toContain(upstreamKey);
  });
});
