// OpenAI chat completions as a client format (vendors/openai): parses bodies into the hub, renders replies and streams from it.
import type { FinishReason, HubAnswer, HubChunk, HubReply } from "#server/upstream/hub/reply.ts";
import { mediaUrl } from "#server/upstream/hub/request.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import { parseChat } from "./chat-request.ts";
import type { ClientDialect, RenderContext, StreamRenderer } from "./client.ts";

export const chat: ClientDialect = {
  parse: parseChat,

  render(reply: HubReply, context: RenderContext): JsonRecord {
    return {
      id: chatId(reply.id, context.seed),
      object: "chat.completion",
      created: reply.created ?? context.created,
      model: context.model,
      choices: reply.answers.map((answer) => ({
        index: answer.index,
        message: messageOf(answer),
        logprobs: answer.logprobs.length > 0 ? { content: answer.logprobs, refusal: null } : null,
        finish_reason: answer.finish ?? (answer.toolCalls.length > 0 ? "tool_calls" : "stop"),
      })),
      ...(reply.usage !== undefined && { usage: reply.usage }),
    };
  },

  renderer: (context) => new ChatRenderer(context),
};

/** OpenAI's ids are kept, others replaced: clients check the prefix. */
function chatId(id: string | undefined, seed: string): string {
  return id?.startsWith("chatcmpl") === true ? id : `chatcmpl-${seed}`;
}

function messageOf(answer: HubAnswer): JsonRecord {
  const { text, toolCalls, refusal, thoughts, images, annotations, audio } = answer;
  const thinking = thoughts.map((thought) => thought.text).join("");
  const isSilent = text === "" && (toolCalls.length > 0 || refusal !== "" || audio !== undefined);
  return {
    role: "assistant",
    content: isSilent ? null : text,
    refusal: refusal === "" ? null : refusal,
    ...(thinking !== "" && { reasoning_content: thinking }),
    ...thoughtDetails(answer),
    ...(toolCalls.length > 0 && { tool_calls: toolCalls.map(toolCallOf) }),
    ...(annotations.length > 0 && { annotations }),
    ...(images.length > 0 && { images: images.map(imageOf) }),
    ...(audio !== undefined && { audio }),
  };
}

/** Signatures of thinking, in the format that several gateways and clients share, so that a client can send them back. */
function thoughtDetails({ thoughts }: HubAnswer): JsonRecord {
  const details = thoughts.flatMap(({ text, signature, redacted }, index): JsonRecord[] => {
    if (redacted !== undefined) return [{ type: "reasoning.encrypted", data: redacted, index }];
    return signature === undefined ? [] : [{ type: "reasoning.text", text, signature, index }];
  });
  return details.length > 0 ? { reasoning_details: details } : {};
}

function toolCallOf(call: HubAnswer["toolCalls"][number]): JsonRecord {
  const { id, name, signature } = call;
  const proof =
    signature === undefined ? {} : { extra_content: { google: { thought_signature: signature } } };
  return call.isCustom === true
    ? { id, type: "custom", custom: { name, input: call.arguments }, ...proof }
    : { id, type: "function", function: { name, arguments: call.arguments }, ...proof };
}

/** Generated images, in the format that several gateways and clients share. */
function imageOf({ mime, base64 }: { mime: string; base64: string }): JsonRecord {
  return { type: "image_url", image_url: { url: mediaUrl({ kind: "data", mime, base64 }) } };
}

// Renders the event stream of OpenAI chat completions (vendors/openai-stream). JSON texts are concatenated by hand: this runs once per
// generated token.

/** A tool call that has begun. */
interface Call {
  hasArguments: boolean;
  readonly isCustom: boolean;
}

class ChatRenderer implements StreamRenderer {
  readonly #context: RenderContext;
  #head = "";
  readonly #tail: string;
  /** Answers that have begun, with their calls by position. */
  readonly #answers = new Map<number, Map<number, Call>>();
  /** Finish reasons of the answers. Sent at the very end: some upstreams send "stop" with every chunk. */
  readonly #finished = new Map<number, FinishReason>();
  #usage: JsonRecord | undefined;

  constructor(context: RenderContext) {
    this.#context = context;
    this.#tail = context.wantsUsage ? '}],"usage":null}\n\n' : "}]}\n\n";
  }

  take(chunks: readonly HubChunk[]): string {
    let out = "";
    for (const chunk of chunks) out += this.#take(chunk);
    return out;
  }

  end(): string {
    let out = this.#answers.size + this.#finished.size === 0 ? this.#delta(0, "{}") : "";
    for (const index of new Set([...this.#answers.keys(), ...this.#finished.keys()]))
      out += this.#finish(index);
    if (this.#context.wantsUsage && this.#usage !== undefined)
      out += `${this.#opening()}"choices":[],"usage":${JSON.stringify(this.#usage)}}\n\n`;
    return `${out}data: [DONE]\n\n`;
  }

  #take(chunk: HubChunk): string {
    switch (chunk.kind) {
      case "head":
        this.#head = this.#headOf(chunk.id, chunk.created);
        return "";
      case "text":
        return this.#delta(chunk.index, `{"content":${JSON.stringify(chunk.text)}}`);
      case "thought":
        return this.#delta(chunk.index, `{"reasoning_content":${JSON.stringify(chunk.text)}}`);
      case "usage":
        this.#usage = chunk.usage;
        return "";
      case "end":
        return "";
      case "tool":
        return this.#tool(chunk);
      case "finish":
        this.#finished.set(chunk.index, chunk.reason);
        return "";
      case "logprobs":
        return this.#logprobs(chunk.index, chunk.content);
      default:
        return this.#delta(chunk.index, JSON.stringify(rareDelta(chunk)));
    }
  }

  #tool(chunk: HubChunk & { kind: "tool" }): string {
    const begin = this.#answers.has(chunk.index) ? "" : this.#begin(chunk.index);
    const calls = this.#callsOf(chunk.index);
    const call = calls.get(chunk.at) ?? { hasArguments: false, isCustom: chunk.isCustom === true };
    const isNew = !calls.has(chunk.at);
    calls.set(chunk.at, call);
    if (chunk.arguments !== "") call.hasArguments = true;
    const body = {
      ...(isNew && { name: chunk.name ?? "" }),
      [call.isCustom ? "input" : "arguments"]: chunk.arguments,
    };
    const type = call.isCustom ? "custom" : "function";
    const { signature } = chunk;
    const item = {
      index: chunk.at,
      ...(isNew && { id: chunk.id ?? "", type }),
      [type]: body,
      ...(signature !== undefined && { extra_content: { google: { thought_signature: signature } } }),
    };
    return begin + this.#delta(chunk.index, JSON.stringify({ tool_calls: [item] }));
  }

  #finish(index: number): string {
    let out = "";
    const calls = this.#callsOf(index);
    // No argument text at all means an empty object (requirements T18.4).
    for (const [at, { hasArguments, isCustom }] of calls) {
      if (!hasArguments && !isCustom)
        out += this.#delta(index, `{"tool_calls":[{"index":${at},"function":{"arguments":"{}"}}]}`);
    }
    const word = this.#finished.get(index) ?? (calls.size > 0 ? "tool_calls" : "stop");
    return `${out}${this.#choice(index)}{},"finish_reason":"${word}"${this.#tail}`;
  }

  #logprobs(index: number, content: readonly unknown[]): string {
    return `${this.#choice(index)}{},"logprobs":${JSON.stringify({ content })},"finish_reason":null${this.#tail}`;
  }

  /** One chunk of an answer; its first one names the role. */
  #delta(index: number, delta: string): string {
    return `${this.#choice(index)}${delta},"finish_reason":null${this.#tail}`;
  }

  #choice(index: number): string {
    const first = this.#answers.has(index) ? "" : this.#begin(index);
    return `${first}${this.#opening()}"choices":[{"index":${index},"delta":`;
  }

  #begin(index: number): string {
    this.#answers.set(index, new Map());
    return `${this.#opening()}"choices":[{"index":${index},"delta":{"role":"assistant","content":""},"finish_reason":null${this.#tail}`;
  }

  #callsOf(index: number): Map<number, Call> {
    return this.#answers.get(index) ?? new Map<number, Call>();
  }

  #opening(): string {
    if (this.#head === "") this.#head = this.#headOf(undefined, undefined);
    return this.#head;
  }

  #headOf(id: string | undefined, created: number | undefined): string {
    const { seed, model, created: now } = this.#context;
    const own = id?.startsWith("chatcmpl") === true ? id : `chatcmpl-${seed}`;
    return `data: {"id":${JSON.stringify(own)},"object":"chat.completion.chunk","created":${created ?? now},"model":${JSON.stringify(model)},`;
  }
}

function rareDelta(
  chunk: HubChunk & { kind: "refusal" | "signature" | "redacted" | "image" | "audio" | "annotation" },
): JsonRecord {
  switch (chunk.kind) {
    case "refusal":
      return { refusal: chunk.text };
    case "signature":
      return { reasoning_details: [{ type: "reasoning.text", text: "", signature: chunk.signature }] };
    case "redacted":
      return { reasoning_details: [{ type: "reasoning.encrypted", data: chunk.data }] };
    case "image": {
      const { mime, base64 } = chunk;
      return {
        images: [{ type: "image_url", image_url: { url: mediaUrl({ kind: "data", mime, base64 }) } }],
      };
    }
    case "audio":
      return { audio: chunk.value };
    case "annotation":
      return { annotations: [chunk.annotation] };
    default:
      throw new Error(`unknown piece ${JSON.stringify(chunk satisfies never)}`);
  }
}
