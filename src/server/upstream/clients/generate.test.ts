import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { foldReply, type HubChunk } from "#server/upstream/hub/reply.ts";
import { type HubRequest, Unmappable } from "#server/upstream/hub/request.ts";
import { asList, asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import type { RenderContext } from "./client.ts";
import { generate } from "./generate.ts";
import { jsonSchema } from "./generate-fields.ts";

const hi = { contents: [{ role: "user", parts: [{ text: "hi" }] }] };

function parse(body: JsonRecord): HubRequest {
  return generate.parse(body, { model: "up", isStream: false });
}

function contextOf(more: Partial<RenderContext> & { isShown?: boolean } = {}): RenderContext {
  const { isShown = false, ...rest } = more;
  const request = { ...parse(hi), reasoning: { effort: undefined, budgetTokens: undefined, isShown } };
  return {
    model: "m",
    seed: "abc",
    created: 0,
    wantsUsage: true,
    isArray: false,
    request,
    body: hi,
    ...rest,
  };
}

describe("request", () => {
  it("is read in camelCase and in snake_case alike", () => {
    const camelCase = {
      ...hi,
      systemInstruction: { parts: [{ text: "Be brief." }] },
      toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["f", "g"] } },
      generationConfig: {
        maxOutputTokens: 9,
        topP: 0.5,
        topK: 3,
        stopSequences: ["END"],
        responseMimeType: "application/json",
        responseSchema: { type: "OBJECT", properties: { snake_name: { type: "STRING", nullable: true } } },
        thinkingConfig: { thinkingBudget: 512, includeThoughts: true },
      },
    };
    const snakeCase = {
      ...hi,
      system_instruction: { parts: [{ text: "Be brief." }] },
      tool_config: { function_calling_config: { mode: "ANY", allowed_function_names: ["f", "g"] } },
      generation_config: {
        max_output_tokens: 9,
        top_p: 0.5,
        top_k: 3,
        stop_sequences: ["END"],
        response_mime_type: "application/json",
        response_schema: { type: "OBJECT", properties: { snake_name: { type: "STRING", nullable: true } } },
        thinking_config: { thinking_budget: 512, include_thoughts: true },
      },
    };
    const request = parse(camelCase);
    expect(parse(snakeCase)).toEqual(request);
    expect(request).toMatchObject({
      messages: [{ role: "system", parts: [{ text: "Be brief." }] }, { role: "user" }],
      toolChoice: { kind: "subset", names: ["f", "g"], isRequired: true },
      maxTokens: 9,
      topP: 0.5,
      topK: 3,
      stop: ["END"],
      format: {
        kind: "schema",
        schema: { type: "object", properties: { snake_name: { type: ["string", "null"] } } },
      },
      reasoning: { effort: undefined, budgetTokens: 512, isShown: true },
      dropped: [],
    });
  });

  it("finds the call of each result, by id or by name in order", () => {
    const call = (name: string, id?: string) => ({ functionCall: { name, args: { a: 1 }, id } });
    const result = (name: string, output: unknown, id?: string) => ({
      functionResponse: { name, response: { output }, id },
    });
    const { messages } = parse({
      contents: [
        ...hi.contents,
        { role: "model", parts: [call("f"), call("f"), call("g", "own"), { text: "t", thought: true }] },
        {
          role: "user",
          parts: [result("f", "one"), { text: "and" }, result("g", { x: 1 }, "own"), result("f", "two")],
        },
      ],
    });
    expect(messages).toMatchObject([
      { role: "user" },
      { role: "assistant", parts: [], toolCalls: [{ id: "call_f_0" }, { id: "call_f_1" }, { id: "own" }] },
      { role: "tool", callId: "call_f_0", name: "f", parts: [{ text: "one" }] },
      { role: "tool", callId: "own", name: "g", parts: [{ text: '{"output":{"x":1}}' }] },
      { role: "tool", callId: "call_f_1", name: "f", parts: [{ text: "two" }] },
      { role: "user", parts: [{ text: "and" }] },
    ]);
    const orphan = { contents: [{ role: "user", parts: [result("f", "x")] }] };
    expect(() => parse(orphan)).toThrow(Unmappable);
  });

  it("maps media by their type", () => {
    const parts = [
      { inlineData: { mimeType: "image/png", data: "A" } },
      { inline_data: { mime_type: "audio/mpeg", data: "B" } },
      { inlineData: { mimeType: "application/pdf", data: "C", displayName: "c.pdf" } },
      { fileData: { fileUri: "https://youtu.be/x" } },
      { fileData: { fileUri: "https://example.com/x.jpg", mimeType: "image/jpeg" } },
    ];
    expect(parse({ contents: [{ parts }] }).messages).toEqual([
      {
        role: "user",
        parts: [
          { kind: "image", source: { kind: "data", mime: "image/png", base64: "A" } },
          { kind: "audio", base64: "B", format: "mp3" },
          {
            kind: "file",
            source: { kind: "data", mime: "application/pdf", base64: "C" },
            filename: "c.pdf",
          },
          { kind: "video", source: { kind: "url", url: "https://youtu.be/x" } },
          { kind: "image", source: { kind: "url", url: "https://example.com/x.jpg" } },
        ],
      },
    ]);
  });

  it.each([
    ["cachedContent", { ...hi, cachedContent: "cachedContents/x" }],
    ["tools[].codeExecution", { ...hi, tools: [{ codeExecution: {} }] }],
    ["generationConfig.responseModalities", { ...hi, generationConfig: { responseModalities: ["AUDIO"] } }],
    ["contents[].parts[].toolCall", { contents: [{ parts: [{ toolCall: {} }] }] }],
    ["contents[].parts[].fileData", { contents: [{ parts: [{ fileData: { fileUri: "gs://b/x" } }] }] }],
    ["contents", {}],
  ])("is refused for its %s", (what, body) => {
    expect(() => parse(body)).toThrow(expect.objectContaining({ what }));
  });

  it("reports the dropped hints", () => {
    const body = { ...hi, safetySettings: [], labels: {}, generationConfig: { mediaResolution: "LOW" } };
    expect(parse(body).dropped).toEqual(["safetySettings", "labels", "generationConfig.mediaResolution"]);
  });

  it("fails only with Unmappable, naming the member", () => {
    const names = ["contents", "parts", "text", "functionCall", "functionResponse", "tools", "inlineData"];
    const tree = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 5 },
        fc.jsonValue({ maxDepth: 1 }),
        fc.array(tie("any"), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...names), tie("any"), { maxKeys: 4 }),
      ),
    })).any;
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names, "generationConfig"), tree), (body) => {
        try {
          parse({ ...hi, ...body });
        } catch (error) {
          expect(error).toBeInstanceOf(Unmappable);
        }
      }),
    );
  });
});

it("converts Gemini's schema to standard JSON schema", () => {
  const schema = {
    type: "OBJECT",
    propertyOrdering: ["a"],
    properties: {
      type: { type: "ARRAY", minItems: "2", items: { type: "INTEGER", format: "int64" } },
      any_of: {
        anyOf: [{ type: "STRING", format: "enum", enum: ["x"] }, { type: "NUMBER" }],
        nullable: true,
      },
    },
  };
  expect(jsonSchema(schema)).toEqual({
    type: "object",
    properties: {
      type: { type: "array", minItems: 2, items: { type: "integer", format: "int64" } },
      any_of: { anyOf: [{ type: "string", enum: ["x"] }, { type: "number" }, { type: "null" }] },
    },
  });
});

/** What a client reads from a stream: the joined texts, calls and images of all events. */
function gathered(objects: readonly JsonRecord[]) {
  let text = "";
  const others: unknown[] = [];
  let last: JsonRecord = {};
  for (const object of objects) {
    for (const candidate of asList(object["candidates"])) {
      const { content, finishReason } = asObject(candidate) ?? {};
      for (const part of asList(asObject(content)?.["parts"])) {
        const told = asObject(part)?.["text"];
        if (typeof told === "string") text += told;
        else others.push(part);
      }
      last = { finishReason, usage: object["usageMetadata"] };
    }
  }
  return { text, others, ...last };
}

function eventsIn(stream: string): JsonRecord[] {
  return stream
    .split("\r\n\r\n")
    .filter((event) => event !== "")
    .map((event) => JSON.parse(event.replace(/^data: /, "")));
}

const reply: readonly HubChunk[] = [
  { kind: "head", id: "r1" },
  { kind: "thought", index: 0, text: "T" },
  { kind: "text", index: 0, text: "A" },
  { kind: "tool", index: 0, at: 0, id: "c1", name: "f", arguments: "" },
  { kind: "tool", index: 0, at: 1, id: "c2", name: "g", arguments: '{"y"' },
  { kind: "tool", index: 0, at: 0, arguments: '{"x":1}' },
  { kind: "tool", index: 0, at: 1, arguments: ":2}", signature: "s" },
  { kind: "finish", index: 0, reason: "tool_calls" },
  {
    kind: "usage",
    usage: {
      prompt_tokens: 10,
      completion_tokens: 7,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 3 },
    },
  },
];

describe("reply", () => {
  it("is rendered whole", () => {
    expect(generate.render(foldReply(reply), contextOf({ isShown: true }))).toEqual({
      candidates: [
        {
          content: {
            role: "model",
            parts: [
              { text: "T", thought: true },
              { text: "A" },
              { functionCall: { id: "c1", name: "f", args: { x: 1 } } },
              { functionCall: { id: "c2", name: "g", args: { y: 2 } }, thoughtSignature: "s" },
            ],
          },
          finishReason: "STOP",
          index: 0,
        },
      ],
      // Source: requirements T27.6.
      usageMetadata: {
        promptTokenCount: 10,
        cachedContentTokenCount: 4,
        candidatesTokenCount: 4,
        thoughtsTokenCount: 3,
        totalTokenCount: 17,
      },
      modelVersion: "m",
      responseId: "r1",
    });
  });

  it("has the same content in a stream, as events and as one array", () => {
    const whole = gathered([generate.render(foldReply(reply), contextOf())]);
    const written = (isArray: boolean) => {
      const renderer = generate.renderer(contextOf({ isArray }));
      return reply.map((chunk) => renderer.take([chunk])).join("") + renderer.end();
    };
    expect(gathered(eventsIn(written(false)))).toEqual(whole);
    expect(gathered(JSON.parse(written(true)))).toEqual(whole);
  });

  it("is a stream of one event when it is empty", () => {
    const renderer = generate.renderer(contextOf({ isArray: true }));
    expect(gathered(JSON.parse(renderer.end()))).toMatchObject({ text: "", finishReason: "STOP" });
  });

  it("omits a call whose arguments are truncated", () => {
    const cut: HubChunk[] = [{ kind: "tool", index: 0, at: 0, id: "c", name: "f", arguments: '{"x' }];
    const render = (reason: "length" | "tool_calls") =>
      generate.render(foldReply([...cut, { kind: "finish", index: 0, reason }]), contextOf())["candidates"];
    expect(render("length")).toMatchObject([{ content: { parts: [] }, finishReason: "MAX_TOKENS" }]);
    expect(render("tool_calls")).toMatchObject([{ finishReason: "MALFORMED_FUNCTION_CALL" }]);
  });

  it("lists sources and probabilities in Gemini's form", () => {
    const chunks: HubChunk[] = [
      { kind: "text", index: 0, text: "A" },
      {
        kind: "annotation",
        index: 0,
        annotation: { type: "url_citation", url_citation: { url: "https://a", title: "t" } },
      },
      {
        kind: "logprobs",
        index: 0,
        content: [{ token: "A", logprob: -1, top_logprobs: [{ token: "B", logprob: -2 }] }],
      },
    ];
    expect(generate.render(foldReply(chunks), contextOf())["candidates"]).toMatchObject([
      {
        groundingMetadata: { groundingChunks: [{ web: { uri: "https://a", title: "t" } }] },
        logprobsResult: {
          chosenCandidates: [{ token: "A", logProbability: -1 }],
          topCandidates: [{ candidates: [{ token: "B", logProbability: -2 }] }],
        },
      },
    ]);
  });
});
