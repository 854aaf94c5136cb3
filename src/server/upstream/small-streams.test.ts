// The stream of a vendor's own wire reaches a client of OpenAI's wire unchanged in meaning, at any chunk boundaries and with comments,
// unknown fields or events without a payload in between (vendors/baidu, vendors/zhipu-v3, vendors/dashscope-chat, vendors/spark-socket,
// vendors/hunyuan, vendors/ollama, vendors/cohere, vendors/dify, requirements T1.4).
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { providerOf } from "#contract/providers.ts";
import { clientBody, play } from "#test/worlds/wire-cases.ts";
import { openai } from "./dialects/openai.ts";
import { foldReply } from "./hub/reply.ts";
import { dataText, SseReader } from "./hub/sse.ts";

interface Said {
  readonly texts: readonly string[];
  readonly thoughts: readonly string[];
  readonly prompt: number;
  readonly completion: number;
}

interface Wire {
  readonly type: number;
  readonly model: string;
  readonly key: string;
  readonly baseUrl?: string;
  readonly contentType?: string;
  readonly thinks?: true;
  /** The events of an answer, the last one of which ends it. */
  write(said: Said): Uint8Array[];
}

const event = (data: object, name?: string) =>
  Buffer.from(
    `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify({ x_new: null, ...data })}\n\n`,
  );
const line = (data: object) => Buffer.from(`${JSON.stringify(data)}\n`);

/** A frame of Amazon's event stream. */
function frame(name: string, data: object): Buffer {
  const field = (key: string, value: string) =>
    Buffer.concat([
      Buffer.of(key.length),
      Buffer.from(key),
      Buffer.of(7, 0, value.length),
      Buffer.from(value),
    ]);
  const headers = Buffer.concat([field(":event-type", name), field(":message-type", "event")]);
  const payload = Buffer.from(JSON.stringify(data));
  const total = 16 + headers.length + payload.length;
  const bytes = Buffer.concat([Buffer.alloc(12), headers, payload, Buffer.alloc(4)]);
  bytes.writeUInt32BE(total, 0);
  bytes.writeUInt32BE(headers.length, 4);
  bytes.writeUInt32BE(crc32(bytes.subarray(0, 8)), 8);
  bytes.writeUInt32BE(crc32(bytes.subarray(0, total - 4)), total - 4);
  return bytes;
}

const counted = ({ prompt, completion }: Said) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
});

const WIRES: Readonly<Record<string, Wire>> = {
  baidu: {
    ...{ type: 15, model: "ERNIE-3.5-8K", key: "fixture-api-key|fixture-secret-key" },
    write: (said) =>
      [...said.texts, ""].map((result, at) =>
        event({ id: "a", result, is_end: at === said.texts.length, usage: counted(said) }),
      ),
  },
  zhipu: {
    ...{ type: 16, model: "chatglm_turbo", key: "testid.testsecret" },
    write: (said) => [
      ...said.texts.map((text) => Buffer.from(`event: add\nid: 7\n${text.replace(/^/gm, "data: ")}\n\n`)),
      // Its last event may have no payload.
      Buffer.from(`event: finish\nid: 7\nmeta: ${JSON.stringify({ usage: counted(said) })}\n\n`),
    ],
  },
  ali: {
    ...{ type: 17, model: "qwen-max", key: "sk-fixture-key", thinks: true },
    write({ texts, thoughts, prompt, completion }) {
      const pieces = [...thoughts.map((reasoning_content) => ({ content: "", reasoning_content }))];
      const messages = [...pieces, ...texts.map((content) => ({ content })), { content: "" }];
      const usage = { input_tokens: prompt, output_tokens: completion };
      return messages.map((message, at) => {
        const finish_reason = at === messages.length - 1 ? "stop" : "null";
        return event({ output: { choices: [{ message, finish_reason }] }, usage }, "result");
      });
    },
  },
  spark: {
    ...{ type: 18, model: "Spark-Max", key: "fixappid|fixture-secret-01|fixture-api-key-01", thinks: true },
    contentType: "application/x-ndjson",
    write(said) {
      const pieces = said.thoughts.map((reasoning_content) => ({ reasoning_content }));
      const all = [...pieces, ...said.texts.map((content) => ({ content })), { content: "" }];
      return all.map((text, at) => {
        const isLast = at === all.length - 1;
        const choices = { status: isLast ? 2 : 1, text: [text] };
        const usage = isLast ? { text: counted(said) } : null;
        return line({ header: { code: 0, sid: "s" }, payload: { choices, usage } });
      });
    },
  },
  tencent: {
    ...{ type: 23, model: "hunyuan-pro", key: "1250000000|AKIDEXAMPLE00|EXAMPLEsecret", thinks: true },
    write({ texts, thoughts, prompt, completion }) {
      const pieces = thoughts.map((ReasoningContent) => ({ Content: "", ReasoningContent }));
      const all = [...pieces, ...texts.map((Content) => ({ Content })), { Content: "" }];
      const Usage = { PromptTokens: prompt, CompletionTokens: completion };
      return all.map((Delta, at) =>
        event({ Id: "x", Usage, Choices: [{ Delta, FinishReason: at === all.length - 1 ? "stop" : "" }] }),
      );
    },
  },
  ollama: {
    ...{ type: 30, model: "llama3.3", key: "", baseUrl: "http://ollama.example:11434", thinks: true },
    contentType: "application/x-ndjson",
    write: ({ texts, thoughts, prompt, completion }) => [
      ...thoughts.map((thinking) => line({ message: { content: "", thinking }, done: false })),
      ...texts.map((content) => line({ message: { content }, done: false })),
      line({ done: true, done_reason: "stop", prompt_eval_count: prompt, eval_count: completion }),
    ],
  },
  converse: {
    ...{
      type: 33,
      model: "us.amazon.nova-pro-v1:0",
      key: "AKIDEXAMPLE|fixture-secret|us-east-1",
      thinks: true,
    },
    contentType: "application/vnd.amazon.eventstream",
    write: ({ texts, thoughts, prompt, completion }) => [
      ...thoughts.map((text) => frame("contentBlockDelta", { delta: { reasoningContent: { text } } })),
      ...texts.map((text) => frame("contentBlockDelta", { contentBlockIndex: 1, delta: { text } })),
      frame("messageStop", { stopReason: "end_turn" }),
      frame("metadata", { usage: { inputTokens: prompt, outputTokens: completion } }),
    ],
  },
  coze: {
    ...{ type: 34, model: "bot-7", key: "pat_fixture_token", baseUrl: "https://api.coze.cn", thinks: true },
    write({ texts, thoughts, prompt, completion }) {
      const delta = (piece: object) => event({ type: "answer", ...piece }, "conversation.message.delta");
      const all = { type: "answer", content: texts.join(""), reasoning_content: thoughts.join("") };
      const usage = { input_count: prompt, output_count: completion };
      return [
        ...thoughts.map((reasoning_content) => delta({ reasoning_content, content: "" })),
        // A bot may send its thoughts, and its answer as a whole.
        ...(texts.length > 1 ? texts.map((content) => delta({ content })) : []),
        event(all, "conversation.message.completed"),
        event({ usage }, "conversation.chat.completed"),
      ];
    },
  },
  cohere: {
    ...{ type: 35, model: "command-a-03-2025", key: "co-fixture-key-1", thinks: true },
    write({ texts, thoughts, prompt, completion }) {
      const delta = (content: object) => event({ type: "content-delta", delta: { message: { content } } });
      const usage = { tokens: { input_tokens: prompt, output_tokens: completion } };
      return [
        ...thoughts.map((thinking) => delta({ thinking })),
        ...texts.map((text) => delta({ text })),
        event({ type: "message-end", delta: { finish_reason: "COMPLETE", usage } }),
      ];
    },
  },
  dify: {
    ...{ type: 101, model: "my-app", key: "app-fixture-key", baseUrl: "https://dify.example/v1" },
    write: (said) => [
      ...said.texts.map((answer) => event({ event: "message", answer })),
      event({ event: "message_end", metadata: { usage: counted(said) } }),
    ],
  },
};

const text = fc.string({
  minLength: 1,
  maxLength: 6,
  unit: fc.constantFrom("a", "你", "😀", "\n", " ", '"', "data:"),
});
const said = fc.record({
  texts: fc.array(text, { minLength: 1, maxLength: 3 }),
  thoughts: fc.array(text, { maxLength: 2 }),
  prompt: fc.integer({ min: 1, max: 9_999 }),
  completion: fc.integer({ min: 1, max: 9_999 }),
});
const between = fc.constantFrom("", ": ping\n\n", "retry: 9\n\n", "event: ping\n\n", "id: 1\n\n");
const request = clientBody(
  Buffer.from(
    '{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}',
  ),
);

/** The answer as a client of OpenAI's wire reads it. */
function read(bytes: Buffer) {
  const provider = providerOf(1) ?? expect.fail("no row for OpenAI");
  const decoder = openai.decoder({ wire: provider, model: "m", seed: "s" });
  const found = new SseReader().push(bytes).flatMap((item) => {
    const chunks = decoder.take({ data: dataText(item), field: () => "" });
    return "kind" in chunks ? expect.fail(chunks.message) : chunks;
  });
  const { answers, usage } = foldReply(found);
  return { answer: answers[0], usage };
}

describe.each(Object.entries(WIRES))("%s", (_, wire) => {
  it("is read with the meaning it was sent with", async () => {
    const { type, model, key, baseUrl = "", contentType = "text/event-stream" } = wire;
    const channel = { provider: providerOf(type) ?? expect.fail("no row"), key, baseUrl, other: "" };
    const isSse = contentType === "text/event-stream";
    await fc.assert(
      fc.asyncProperty(said, between, fc.array(fc.nat(), { maxLength: 9 }), async (one, noise, places) => {
        const spoken = wire.thinks === true ? one : { ...one, thoughts: [] };
        const filler = Buffer.from(isSse ? noise : "");
        const reply = Buffer.concat(wire.write(spoken).flatMap((bytes) => [filler, bytes]));
        const cuts = places.map((place) => place % reply.length).sort((a, b) => a - b);
        const scene = {
          channel,
          body: request,
          model,
          isStream: true,
          status: 200,
          contentType,
          reply,
          cuts,
        };
        const { bytes, text: heard } = await play({ ...scene, endpoint: "chat" });
        const { answer, usage } = read(bytes);
        const thought = spoken.thoughts.join("");
        expect(answer?.text).toBe(spoken.texts.join(""));
        expect(answer?.thoughts.map((item) => item.text).join("")).toBe(thought);
        expect(heard).toBe(thought + spoken.texts.join(""));
        expect(usage).toMatchObject({ prompt_tokens: one.prompt, completion_tokens: one.completion });
      }),
      { numRuns: 30 },
    );
  });
});
